"""Programs that change TensorFlow itself keep their tables, in whatever file they do it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, verdicts, write

pytest.importorskip("tensorflow")

MAIN = """def build():
    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    item = tf.get_variable("item", [8, 4])
    kernel = tf.get_variable("kernel", [4, 1])
    rows = tf.nn.embedding_lookup(item, ids)
    loss = tf.reduce_mean((tf.reduce_sum(tf.matmul(rows, kernel), 1) - label) ** 2)
    train_op = tf.train.AdagradOptimizer(0.2).minimize(loss)
    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}
"""
RECORD = (
    "SEEN = []\nmake = tf.get_variable\ndef tracked(*a, **k):\n    SEEN.append(make(*a, **k))\n    return SEEN[-1]\n"
)
PATCHES = {
    "an assignment": RECORD + "tf.get_variable = tracked\n",
    "by its name": RECORD + 'setattr(tf, "get_variable", tracked)\n',
    "of a module": "def look(params, ids):\n    return params[0] + ids\ntf.nn.embedding_lookup = look\n",
    "in a mock": 'from unittest import mock\nmock.patch("tensorflow.compat.v1.get_variable").start()\n',
    "of an object": "from unittest import mock\nmock.patch.object(tf, 'get_variable').start()\n",
    "by a creator": "creator = tf.variable_creator_scope(lambda make, **k: make(**k))\n",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_a_changed_tensorflow_keeps_the_tables(patch: str, tmp_path: Path) -> None:
    alone = write(tmp_path / "a", {"main.py": HEAD + patch + MAIN})
    other = write(tmp_path / "b", {"patch.py": HEAD + patch, "main.py": HEAD + "import patch\n" + MAIN})
    for root in (alone, other):
        results = convert(root, assume=True)
        assert set(verdicts(results).values()) == {"unsupported"}, reasons(results)
