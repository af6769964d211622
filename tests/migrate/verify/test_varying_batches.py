"""Batches padded to their own longest row, and of any size; the program lies in a notebook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.verify import pair
from migrate.verify.settings import Settings
from tests.support.command import migrate

CELLS = (
    """%matplotlib inline
!pip install nothing
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()""",
    """ids = tf.placeholder(tf.int64, [None, None])
labels = tf.reshape(tf.placeholder(tf.float32, [None]), [-1])  # which is fed, not the placeholder
item = tf.get_variable("item", [20, 4])
bias = tf.get_variable("bias", [20])
scores = tf.reduce_sum(tf.nn.embedding_lookup(item, ids), [1, 2]) + tf.reduce_sum(tf.gather(bias, ids), 1)
loss = tf.square(scores - labels)
train = tf.train.AdagradOptimizer(0.1).minimize(loss)
display(loss)""",
    """random = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(8):
        size = 6 - step % 2
        session.run(train, {ids: random.randint(20, size=(size, 3 + step % 3)), labels: random.rand(size)})""",
)


def notebook(path: Path, cells: tuple[str, ...]) -> Path:
    empty = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    written = [{**empty, "source": cell.splitlines(keepends=True)} for cell in cells]
    path.write_text(json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    return path


def test_a_notebook_is_proven_with_batches_of_any_width_and_size(tmp_path: Path) -> None:
    notebook(tmp_path / "train.ipynb", CELLS)
    done = migrate(["convert", "train.ipynb", "-o", "out"], tmp_path)
    assert "next: migrate verify train.ipynb out/train.ipynb" in done.err + done.out
    paths = (str(tmp_path / "train.ipynb"), str(tmp_path / "out/train.ipynb"))
    found = pair.verify(*paths, None, Settings(steps=4, batches=4))
    assert found.passed, found.notes
    counts = {one.name: one.count for one in found.comparisons if one.stage == "forward"}
    assert counts == {
        "item lookup 0": 4 * (6 * 3 + 5 * 4 + 6 * 5 + 5 * 3),
        "bias lookup 0": 6 * 3 + 5 * 4 + 6 * 5 + 5 * 3,
    }


def test_a_notebook_with_a_cell_that_is_no_python_is_named(tmp_path: Path) -> None:
    path = str(notebook(tmp_path / "train.ipynb", ("import tensorflow as tf", "def f(:")))
    with pytest.raises(MigrateError, match=r"train\.ipynb: .*is not valid Python"):
        pair.verify(path, path, None, Settings())
