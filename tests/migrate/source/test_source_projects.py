"""Projects of several files: what one file cannot say another says, and the converted project trains as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from project_helpers import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")

BASE = HEAD + (
    "class Base(object):\n"
    "    def __init__(self, ids, label):\n"
    "        self.build(ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * self.scale() - label) ** 2)\n"
    "        optimizer = tf.train.AdagradOptimizer(0.3)\n"
    "        self.train_op = optimizer.minimize(self.loss)\n"
    "    def scale(self):\n"
    '        return tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
)
MODEL = HEAD + (
    "from base import Base\n"
    "class Model(Base):\n"
    "    def build(self, ids):\n"
    '        self.item = tf.get_variable("item", [8, 4])\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n"
)
MAIN = HEAD + (
    "from model import Model\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    model = Model(ids, label)\n"
    '    return {"ids": ids, "label": label, "loss": model.loss, "train_op": model.train_op, "rows": model.rows}\n'
)
INHERITED = {"base.py": BASE, "model.py": MODEL, "main.py": MAIN}


def test_a_base_class_of_another_file_trains(tmp_path: Path) -> None:
    root = write(tmp_path / "p", INHERITED)
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}
    assert "create_hash_optimizer" in results["base.py"].converted
    assert "create_table" in results["model.py"].converted
    same_training(root, results)
