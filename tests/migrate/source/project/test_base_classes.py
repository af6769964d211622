"""Base classes in files without a word of TensorFlow are read with the models that inherit from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, verdicts, write

pytest.importorskip("tensorflow")

MODEL = (
    HEAD
    + """from {0}
class Model({1}):
    def build(self):
        self.ids, self.label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
        self.item = tf.get_variable("item", [self.size, 4])
        self.rows = tf.nn.embedding_lookup(self.item, self.ids)
        self.loss = tf.reduce_mean((tf.reduce_sum(tf.layers.dense(self.rows, 4), 1) - self.label) ** 2)
        self.step = tf.train.AdagradOptimizer(0.2).minimize(self.loss)
        return self.result()

def build():
    return Model(8).build()
"""
)
BASE = """class Base(object):
    def __init__(self, size):
        self.size = size

    def result(self):
        return {"ids": self.ids, "label": self.label, "loss": self.loss, "train_op": self.step, "rows": self.rows}
"""
#: How the model inherits: an import, the base class, and the files in between.
WAYS = {
    "a name": ("base import Base", "Base", {}),
    "a package": ("parts.base import Base as B", "B", {}),
    "a re-export": ("parts import Base", "Base", {}),
    "another base in between": ("middle import Middle", "Middle",
        {"middle.py": "import base\nclass Middle(base.Base, object):\n    pass\n"}),
}  # fmt: skip
HIDDEN = {
    "by its name": "    def matrix(self):\n        return self.item[1:]\n",
    "by a computed name": "    def matrix(self, name):\n        return getattr(self, name)\n",
}


def files(way: str, base: str = BASE) -> dict[str, str]:
    text, name, between = WAYS[way]
    parts = {"parts/__init__.py": "from .base import Base\n", "parts/base.py": base, "base.py": base}
    return parts | between | {"main.py": MODEL.format(text, name)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", HIDDEN.values(), ids=HIDDEN)
def test_a_base_class_that_may_read_the_table_keeps_it(method: str, way: str, tmp_path: Path) -> None:
    results = convert(write(tmp_path / "p", files(way, BASE + method)))
    assert verdicts(results)["item"] != "applied"
    assert "base.py" in reasons(results)
