"""Optimizers whose class is chosen, and those that the heirs of a class give: run and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.converting import converted
from tests.support.source.projects import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")

START = (
    "        self.ids, self.label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '        self.item = tf.get_variable("item", [8, 4])\n'
    '        self.scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, self.ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * self.scale - self.label) ** 2)\n"
)
END = (
    "def build():\n"
    "    m = Model({0!r})\n"
    '    return {{"ids": m.ids, "label": m.label, "loss": m.loss, "train_op": m.train_op, "rows": m.rows}}\n'
)
MODEL = "class Model(object):\n    def __init__(self, kind):\n" + START
STEP = "        self.train_op = optimizer.minimize(self.loss)\n"
DICT = '{"adam": tf.train.AdamOptimizer, "ada": tf.train.AdagradOptimizer}'
CLASSES = f"CLASSES = {DICT}\n"
OF_CLASS = {
    "an entry": "        optimizer = CLASSES[kind](0.1)\n",
    "an entry, by a name": "        made = CLASSES.get(kind)\n        optimizer = made(learning_rate=0.1)\n",
    "in place": f"        optimizer = {DICT}[kind](0.1)\n",
    "a condition": '        optimizer = (tf.train.AdamOptimizer if kind == "adam" else '
    "tf.train.AdagradOptimizer)(0.1)\n",
    "branches": '        if kind == "adam":\n            made = tf.train.AdamOptimizer\n'
    "        else:\n            made = tf.train.AdagradOptimizer\n        optimizer = made(0.1)\n",
    "at once": "",
}


def compared(root: Path, text: str) -> str:
    """Convert one file, train it before and after, and return what became of it."""
    results = convert(write(root, {"main.py": text}))
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)
    return results["main.py"].converted


@pytest.mark.parametrize("kind", ["adam", "ada"])
@pytest.mark.parametrize("lines", OF_CLASS.values(), ids=OF_CLASS)
def test_an_optimizer_whose_class_is_chosen(tmp_path: Path, lines: str, kind: str) -> None:
    step = lines + STEP if lines else STEP.replace("optimizer", "CLASSES[kind](0.1)")
    text = compared(tmp_path / "p", HEAD + CLASSES + MODEL + step + END.format(kind))
    assert " is tf.train.AdamOptimizer else " in text


def test_a_model_of_nothing_but_tables(tmp_path: Path) -> None:
    model = MODEL.replace("self.scale = tf.get_variable", "self.scale = 1.0  # ")
    step = STEP.replace("optimizer", "CLASSES[kind](0.1)")
    text = compared(tmp_path / "p", HEAD + CLASSES + model + step + END.format("ada"))
    assert "compute_gradients" not in text


NOT_OF_CLASS = {
    "another one in the dict": (CLASSES.replace("Adagrad", "AdagradDA"), "CLASSES[kind](0.1)"),
    "a dict that changes": (CLASSES + "CLASSES['adam'] = other\n", "CLASSES[kind](0.1)"),
    "a dict that is handed on": (CLASSES + "extend(CLASSES)\n", "CLASSES[kind](0.1)"),
    "a dict with more in it": (CLASSES.replace("{", "{**MORE, "), "CLASSES[kind](0.1)"),
    "a key that counts": (CLASSES, "CLASSES[KINDS.pop()](0.1)"),
    "a rate that counts": (CLASSES, "CLASSES[kind](next(RATES))"),
    "objects": ('O = {"adam": tf.train.AdamOptimizer(0.1), "ada": tf.train.AdagradOptimizer(0.1)}\n', "O[kind]"),
    "by its name": ("", 'getattr(tf.train, kind + "Optimizer")(0.1)'),
}  # fmt: skip


@pytest.mark.parametrize(("head", "made"), NOT_OF_CLASS.values(), ids=NOT_OF_CLASS)
def test_a_class_that_is_not_known_keeps_the_table(head: str, made: str) -> None:
    end = END.replace("{0!r}", "asked()").format()
    result = converted(HEAD + head + MODEL + STEP.replace("optimizer.", f"{made}.") + end, assume=True)
    assert not result.changed
    assert [table.verdict.value for table in result.tables] == ["unsupported"]


def test_a_class_of_a_key_that_is_known(tmp_path: Path) -> None:
    step = STEP.replace("optimizer", "CLASSES[kind](0.1)")
    classes = CLASSES.replace("Adagrad", "AdagradDA")
    text = compared(tmp_path / "p", HEAD + classes + MODEL + step + END.format("adam"))
    assert "sparse_optimizer = adam.create_hash_optimizer(learning_rate=0.1)" in text


BASE = MODEL.replace("Model", "Base") + "        self.train_op = self.optimizer(0.1).minimize(self.loss)\n"
ABSTRACT = '    def optimizer(self, rate):\n        """What trains it."""\n        raise NotImplementedError\n'
HEIR = "class {0}(Base):\n    def optimizer(self, rate):\n        return tf.train.{1}Optimizer(rate)\n"
ADAM = ABSTRACT + HEIR.format("Model", "Adam")
MADE = "        return tf.train.Adam"
HEIRS = {
    "of one": ADAM,
    "without a method of its own": HEIR.format("Model", "Adagrad"),
    "of two": ABSTRACT + HEIR.format("Other", "Adam") + HEIR.format("Model", "Adagrad"),
    "with a default": ABSTRACT.replace("raise NotImplementedError", "return tf.train.AdamOptimizer(rate)")
    + HEIR.format("Model", "Adagrad"),
    "that says so": ADAM.replace(MADE, '        print("rate", rate)\n' + MADE),
    "that says so in a branch": ADAM.replace(MADE, '        if rate > 1:\n            print("rate", rate)\n' + MADE),
    "that doubles a number": ADAM.replace(MADE, "        rate *= 2\n" + MADE),
    "that computes": ADAM.replace(MADE, "        slow = rate * 0.5\n        slow += 0.01\n" + MADE).replace(
        "Optimizer(rate)", "Optimizer(slow)"
    ),
}


@pytest.mark.parametrize("heirs", HEIRS.values(), ids=HEIRS)
def test_an_optimizer_that_heirs_give(tmp_path: Path, heirs: str) -> None:
    text = compared(tmp_path / "p", HEAD + BASE + heirs + END.format("adam"))
    assert text.count("def sparse_optimizer(self, rate):") == heirs.count("return tf")
    assert text.count("print(") == heirs.count("print(")


NO_HEIRS = {
    "another one": ADAM + HEIR.format("Other", "AdagradDA"),
    "one that does more": ADAM.replace(MADE, "        self.rate = rate\n" + MADE),
    "an array that changes": ADAM.replace(MADE, "        rate = RATE\n        rate *= 2\n" + MADE)
    + "import numpy\nRATE = numpy.array(0.1)\n",
    "a setting that changes": ADAM.replace(MADE, "        rate = self.rates.get(0)\n        rate *= 2\n" + MADE),
    "set from outside": ADAM + "Model.optimizer = mine\n",
    "set in a class": ADAM + "class Other(Base):\n    optimizer = mine\n",
    "a property": ADAM.replace("    def", "    @property\n    def"),
}


@pytest.mark.parametrize("heirs", NO_HEIRS.values(), ids=NO_HEIRS)
def test_heirs_that_are_not_understood_keep_the_table(heirs: str) -> None:
    result = converted(HEAD + BASE + heirs + END.format("adam"), assume=True)
    assert not result.changed
    assert [table.verdict.value for table in result.tables] == ["unsupported"]
