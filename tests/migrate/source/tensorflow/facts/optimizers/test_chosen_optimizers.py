"""Optimizers that are chosen on one line, by a branch or by a method: run and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

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
LINES = (
    '        if kind == "adam": optimizer = tf.train.AdamOptimizer(0.1)  # the usual one\n'
    '        elif kind == "ada": optimizer = tf.train.AdagradOptimizer(0.1 * len(kind))\n'
    "        else:\n            optimizer = tf.train.GradientDescentOptimizer(0.1)\n"
)
MODEL = HEAD + "class Model(object):\n    def __init__(self, kind):\n" + START
STEP = "        self.train_op = optimizer.minimize(self.loss)\n"


def compared(root: Path, text: str) -> str:
    """Convert one file, train it before and after, and return what became of it."""
    results = convert(write(root, {"main.py": text}))
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)
    return results["main.py"].converted


@pytest.mark.parametrize("kind", ["adam", "ada", "sgd"])
def test_an_optimizer_that_is_made_behind_a_condition_on_its_line(tmp_path: Path, kind: str) -> None:
    text = compared(tmp_path / "p", MODEL + LINES + STEP + END.format(kind))
    assert 'if kind == "adam": optimizer = tf.train.AdamOptimizer(0.1); sparse_optimizer = ' in text


def test_a_step_behind_a_condition_has_no_line_of_its_own(tmp_path: Path) -> None:
    step = "        if kind: self.train_op = optimizer.minimize(self.loss)\n"
    results = convert(write(tmp_path, {"main.py": MODEL + LINES + step + END.format("adam")}), assume=True)
    assert verdicts(results) == {"item": "unsupported"}
    assert "has no line of its own" in reasons(results)


CHOICE = '        optimizer = {0}(tf.train.AdamOptimizer(0.1) if kind == "adam" else tf.train.AdagradOptimizer(0.2))\n'
PROPERTY = "    @property\n    def adam(self):\n        {0}return self.kind == 'adam'\n"
METHOD = (
    "        optimizer = self.make(kind)\n" + STEP + "    def make(self, kind, rate=0.1):\n{0}"
    '        if kind == "adam":\n            return tf.train.AdamOptimizer(rate)\n'
    "        return tf.train.AdagradOptimizer(rate)\n"
)


def test_an_optimizer_that_a_plain_property_chooses(tmp_path: Path) -> None:
    choice = "        self.kind = kind\n" + CHOICE.format("").replace('kind == "adam"', "self.adam") + STEP
    compared(tmp_path / "p", MODEL + choice + PROPERTY.format("'what it is'; ") + END.format("adam"))


@pytest.mark.parametrize("kind", ["adam", "other"])
@pytest.mark.parametrize("choice", [CHOICE.format("") + STEP, METHOD.format("")], ids=["in place", "a method"])
def test_an_optimizer_that_is_chosen(tmp_path: Path, choice: str, kind: str) -> None:
    compared(tmp_path / "p", MODEL + choice + END.format(kind))


@pytest.mark.parametrize("choice", [CHOICE.format("") + STEP, METHOD.format("")], ids=["in place", "a method"])
def test_a_model_of_nothing_but_tables(tmp_path: Path, choice: str) -> None:
    model = MODEL.replace("self.scale = tf.get_variable", "self.scale = 1.0  # ")
    text = compared(tmp_path / "p", model + choice + END.format("adam"))
    assert "compute_gradients" not in text


CANNOT = {
    "a property that counts": (
        CHOICE.format("").replace('kind == "adam"', "self.adam") + STEP + PROPERTY.format("self.kind += 'x'; "),
        "would be evaluated twice",
    ),
    "a property that counts, in a method": (
        METHOD.format("").replace('kind == "adam"', "self.adam") + PROPERTY.format("self.kind += 'x'; "),
        "does more",
    ),
    "a condition that is called": (
        CHOICE.format("").replace('kind == "adam"', "pick()") + STEP,
        "would be evaluated twice",
    ),
    "another optimizer": (CHOICE.format("").replace("Adagrad", "AdagradDA") + STEP, "inside an expression"),
    "a method that sets what it reads": (METHOD.format("        self.rate = rate = self.rate * 0.5\n"), "does more"),
    "a method that sets one of two": (METHOD.format("        rate, self.rate = self.rate, 0.5\n"), "does more"),
    "a method that sets an item of a list": (METHOD.format("        [rate, LAST[0]] = [LAST[0], 0.5]\n"), "does more"),
    "a method that sets with a type": (METHOD.format("        self.rate: float = self.rate * 0.5\n"), "does more"),
    "a default that is taken from a queue": (METHOD.format("").replace("rate=0.1", "rate=next(RATES)"), "does more"),
    "a keyword's default": (METHOD.format("").replace("rate=0.1", "*, rate=RATES.pop()"), "does more"),
    "a method that is overridden": (
        METHOD.format("") + "class B(Model):\n    def make(self, kind):\n        pass\n",
        "",
    ),
}


@pytest.mark.parametrize(("choice", "says"), CANNOT.values(), ids=CANNOT)
def test_a_choice_that_cannot_be_made_twice(tmp_path: Path, choice: str, says: str) -> None:
    results = convert(write(tmp_path, {"main.py": MODEL + choice + END.format("adam")}), assume=True)
    assert verdicts(results) == {"item": "unsupported"}
    assert says in reasons(results)


COMPUTED = {
    "equal texts": "next(self.r), next(self.r), epsilon=half(next(self.r))",
    "a text within another": "rho(), decay=self.rho(), epsilon=half(rho())",
    "the last first": "epsilon=half(next(self.r)), learning_rate=next(self.r)",
}


@pytest.mark.parametrize("given", COMPUTED.values(), ids=COMPUTED)
def test_each_computed_argument_of_an_optimizer_is_computed_once(tmp_path: Path, given: str) -> None:
    helpers = "RATES = [0.01, 0.9, 0.1]\n\ndef half(x):\n    return x * 0.5\n\ndef rho():\n    return RATES.pop()\n\n"
    start = "        self.r = iter(RATES)\n" + START
    model = MODEL.replace("class Model", helpers + "class Model").replace(START, start)
    line = f"        optimizer = tf.train.RMSPropOptimizer({given})\n"
    rho = "    def rho(self):\n        return 0.8\n"
    text = compared(tmp_path / "p", model + line + STEP + rho + END.format("adam"))
    assert "RMSPropOptimizer(" in text and text.count("half(") == 2


TWICE = "        self.first = optimizer.minimize(self.loss)\n        self.second()\n"
SECOND = (
    "    def second(self):\n        with tf.control_dependencies([self.first]):\n"
    "            self.train_op = self.optimizer.minimize(self.loss * 2)\n"
)
MADE = {
    "a maker": "tf.train.AdagradOptimizer(0.1)",
    "a choice": "tf.train.AdagradOptimizer(0.1) if kind else tf.train.AdamOptimizer(0.2)",
    "a function": "make(0.1)",
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_an_optimizer_with_two_names_is_one_for_the_tables_too(tmp_path: Path, made: str) -> None:
    helper = "def make(rate):\n    return tf.train.AdagradOptimizer(rate)\n\n"
    model = MODEL.replace("class Model", (helper if made.startswith("make") else "") + "class Model")
    line = f"        optimizer = self.optimizer = {made}\n"
    text = compared(tmp_path / "p", model + line + TWICE + SECOND + END.format("adagrad"))
    assert "self.sparse_optimizer = sparse_optimizer\n" in text
