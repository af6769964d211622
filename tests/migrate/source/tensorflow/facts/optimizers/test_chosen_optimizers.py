"""Optimizers that are chosen on one line, by a branch or by a method: run and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, judged, reasons, trains_alike, verdicts, write

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
    return trains_alike(root, {"main.py": text})["main.py"].converted


def test_an_optimizer_that_is_made_behind_a_condition_on_its_line(tmp_path: Path) -> None:
    text = compared(tmp_path / "p", MODEL + LINES + STEP + END.format("ada"))
    assert 'if kind == "adam": optimizer = tf.train.AdamOptimizer(0.1); sparse_optimizer = ' in text


def test_a_step_behind_a_condition_has_no_line_of_its_own(tmp_path: Path) -> None:
    step = "        if kind: self.train_op = optimizer.minimize(self.loss)\n"
    results = convert(write(tmp_path, {"main.py": MODEL + LINES + step + END.format("adam")}), assume=True)
    assert verdicts(results) == {"item": "unsupported"}, reasons(results)
    assert "has no line of its own" in reasons(results)


CLASSES = '{"adam": tf.train.AdamOptimizer, "ada": tf.train.AdagradOptimizer}'
METHOD = (
    "self.make(kind)\n" + STEP + "    def make(self, kind, rate=0.1):\n"
    '        if kind == "adam":\n            return tf.train.AdamOptimizer(rate)\n'
    "        return tf.train.AdagradOptimizer(rate)\n"
)
#: What a name is bound to, and what is said of it.
STAYS = {
    "in place": (
        'tf.train.AdamOptimizer(0.1) if kind == "adam" else tf.train.AdagradOptimizer(0.2)',
        "not an optimizer of TensorFlow",
    ),
    "a method": (METHOD, "not an optimizer of TensorFlow"),
    "a class": (f"{CLASSES}[kind](0.1)", "not an optimizer of TensorFlow"),
    "a class with a name": (
        f"{CLASSES}.get(kind)\n        optimizer = optimizer(0.1)",
        "not an optimizer of TensorFlow",
    ),
    "an object": (
        "{0: tf.train.AdamOptimizer(0.1), 1: tf.train.AdagradOptimizer(0.1)}[kind]",
        "not an optimizer of TensorFlow",
    ),
    "by its name": ('getattr(tf.train, kind + "Optimizer")(0.1)', "not an optimizer of TensorFlow"),
}


@pytest.mark.parametrize(("made", "says"), STAYS.values(), ids=STAYS)
def test_an_optimizer_that_is_chosen_keeps_the_table(tmp_path: Path, made: str, says: str) -> None:
    text = MODEL + f"        optimizer = {made}\n" + STEP + END.replace("{0!r}", "asked()").format()
    judged(tmp_path, {"main.py": text}, {"item": "unsupported"}, says, assume=True)


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


def test_an_optimizer_with_two_names_is_one_for_the_tables_too(tmp_path: Path) -> None:
    line = "        optimizer = self.optimizer = tf.train.AdagradOptimizer(0.1)\n"
    text = compared(tmp_path / "p", MODEL + line + TWICE + SECOND + END.format("adagrad"))
    assert "self.sparse_optimizer = sparse_optimizer\n" in text
