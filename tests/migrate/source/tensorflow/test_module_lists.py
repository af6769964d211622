"""Classes of TensorFlow list the variables of their objects: a table of such an object would be missing there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, trains_alike, verdicts, write

pytest.importorskip("tensorflow")

MODEL = """class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.ids, self.label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
        self.item = tf.get_variable("item", [8, 4])
        self.scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
        self.rows = tf.nn.embedding_lookup(self.item, self.ids)
        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * self.scale - self.label) ** 2)
{method}
def build():
    m = Model()
    {loss}
    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)
    return {{"ids": m.ids, "label": m.label, "loss": loss, "train_op": train_op, "rows": m.rows}}
"""
TERM = "loss = m.loss + 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in {0}])"
LISTED = {
    "of an object": ("", TERM.format("m.variables")),
    "what is trained": ("", TERM.format("m.trainable_variables")),
    "of itself": (
        "    def total(self):\n        return tf.add_n([tf.nn.l2_loss(v) for v in self.variables])\n",
        "loss = m.loss + m.total()",
    ),
}


@pytest.mark.parametrize(("method", "loss"), LISTED.values(), ids=LISTED)
def test_an_object_whose_variables_are_listed_keeps_its_table(method: str, loss: str, tmp_path: Path) -> None:
    results = convert(write(tmp_path / "p", {"main.py": HEAD + MODEL.format(method=method, loss=loss)}), assume=True)
    assert verdicts(results) == {"item": "unsupported"}, reasons(results)
    assert "lists the variables of an object" in reasons(results)


@pytest.mark.parametrize("loss", ["loss = m.loss", "loss = m.loss * len(Other().variables)"])
def test_other_objects_are_no_matter(loss: str, tmp_path: Path) -> None:
    other = "class Other:\n    def __init__(self):\n        self.variables = [1, 2]\n\n"
    trains_alike(tmp_path / "p", {"main.py": HEAD + other + MODEL.format(method="", loss=loss)}, assume=True)
