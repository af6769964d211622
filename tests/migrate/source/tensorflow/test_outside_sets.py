"""Attributes that are set from outside of their class, or by a related one, have more than one value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, same_training, trains_alike, verdicts, write

pytest.importorskip("tensorflow")

MODEL = """class Model:
    def __init__(self):
        self.{0}

    def run(self):
        self.ids, self.label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
        self.item = tf.get_variable("item", {1}, initializer=tf.random_normal_initializer(stddev=0.3))
        self.rows = tf.nn.embedding_lookup(self.item, self.ids, max_norm={2})
        scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * scale - self.label) ** 2)
        self.train_op = tf.train.AdagradOptimizer(0.1).minimize(self.loss)
"""
BUILD = """
def build():
    m = {0}()
    {1}
    m.run()
    return {{"ids": m.ids, "label": m.label, "loss": m.loss, "train_op": m.train_op, "rows": m.rows}}
"""
OTHER = "class Other:\n    def __init__(self):\n        self.shape = [2, 2]\n        self.norm = None\n"
HEIR = "class Heir(Model):\n    def run(self):\n        {0}\n        super().run()\n"
SHAPE = MODEL.format("shape = [8, 4]", "self.shape", "None")
NORM = MODEL.format("norm = 0.5", "[8, 4]", "self.norm")
SETS = {
    "a shape, from outside": SHAPE + BUILD.format("Model", "m.shape = [8, 6]"),
    "a norm, from outside": NORM + BUILD.format("Model", "m.norm = None"),
    "a shape, by an heir": SHAPE + HEIR.format("self.shape = [8, 6]") + BUILD.format("Heir", ""),
    "a norm, by an heir": NORM + HEIR.format("self.norm = None") + BUILD.format("Heir", ""),
    "by what is handed on": SHAPE + "def widen(m):\n    m.shape = [8, 6]\n" + BUILD.format("Model", "widen(m)"),
}
ONCE = {
    "alone": SHAPE + BUILD.format("Model", ""),
    "of another class": NORM + OTHER + BUILD.format("Model", "Other()"),
    "of an object of another class": SHAPE + OTHER + BUILD.format("Model", "o = Other()\n    o.name = 1"),
    "of options": NORM + BUILD.format("Model", "import types\n    args = types.SimpleNamespace()\n    args.norm = 3.0"),
}


@pytest.mark.parametrize("text", SETS.values(), ids=SETS)
def test_an_attribute_that_is_set_elsewhere_has_no_value_of_its_own(text: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": HEAD + text})
    for assume in (False, True):
        results = convert(root, assume=assume)
        if set(verdicts(results).values()) == {"applied"}:
            same_training(root, results)
        else:
            assert not results["main.py"].changed
    assert "max_norm=None" in text or set(verdicts(results).values()) == {"unsupported"}


@pytest.mark.parametrize("text", ONCE.values(), ids=ONCE)
def test_an_attribute_that_is_set_once_has_its_value(text: str, tmp_path: Path) -> None:
    trains_alike(tmp_path / "p", {"main.py": HEAD + text})
