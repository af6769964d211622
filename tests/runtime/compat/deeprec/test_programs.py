"""Programs as DeepRec's users write them run unchanged, in a process of their own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.paths import ROOT

LOOKUP = """
import tensorflow as tf
from tensorflow.core.framework.embedding import config_pb2

def annotated(ids: int): ...

assert annotated.__annotations__["ids"] is int  # not a text, as with the imports of what runs the program
with tf.device("/cpu:0"):
    option = tf.EmbeddingVariableOption(storage_option=tf.StorageOption(
        storage_type=config_pb2.StorageType.{storage}, storage_path="{path}", storage_size=[128]))
    table = tf.get_embedding_variable("user", embedding_dim=3, initializer=tf.ones_initializer(tf.float32),
                                      ev_option=option{more})
    rows = tf.nn.embedding_lookup(table, tf.cast([0, 1, 2, 5, 6, 7], tf.int64))
    loss = tf.reduce_sum(tf.multiply(rows, 2.0))
    optimizer = tf.train.AdagradOptimizer(0.1)
    train_op = optimizer.apply_gradients(optimizer.compute_gradients(loss))
    init = tf.global_variables_initializer()

config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
with tf.Session(config=config) as session:
    session.run([init])
    for _ in range(3):
        emb, nothing, total = session.run([rows, train_op, loss])
        assert nothing is None and emb.shape == (6, 3) and emb.min() == emb.max()
        print("step", emb[0, 0], total)
"""
COLUMN = """
import tensorflow as tf
from tensorflow.core.framework.embedding import config_pb2
from tensorflow.contrib.layers.python.layers import feature_column

option = tf.EmbeddingVariableOption(storage_option=tf.StorageOption(
    storage_type=config_pb2.StorageType.DRAM_SSDHASH, storage_path="{path}", storage_size=[128]))
column = {column}
weights = tf.feature_column.embedding_column(
    categorical_column=column, dimension=3, initializer=tf.ones_initializer(tf.dtypes.float32))
ids = tf.SparseTensor(indices=[[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]],
                      values=tf.cast([1, 2, 3, 4, 5], tf.dtypes.int64), dense_shape=[5, 4])
rows = tf.feature_column.input_layer({{"item": ids}}, [weights])
loss = tf.reduce_sum(tf.multiply(rows, 2.0))
optimizer = tf.train.AdagradOptimizer(0.1)
train_op = optimizer.apply_gradients(optimizer.compute_gradients(loss))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        emb, _, total = session.run([rows, train_op, loss])
        assert emb.shape == (5, 3) and emb.min() == emb.max()
        print("step", emb[0, 0], total)
"""
CATEGORICAL = 'tf.feature_column.categorical_column_with_embedding("item", dtype=tf.dtypes.int64, ev_option=option)'


def _run(path: Path, program: str, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run the program as a script, or with `before` as what these arguments make of its path."""
    path.write_text(program)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [forking.python(), "-m", "runtime.compat.deeprec", *(before or [str(path)]), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=path.parent)


def _steps(done: subprocess.CompletedProcess[str]) -> list[tuple[str, float]]:
    assert done.returncode == 0, done.stderr
    return [(row, float(loss)) for row, loss in re.findall(r"^step (\S+) (\S+)$", done.stdout, re.M)]


@pytest.mark.parametrize(("storage", "imported"), [("DRAM_SSDHASH", "tensorflow"), ("DRAM", "tensorflow.compat.v1")])
@pytest.mark.one_case
def test_the_program_with_a_variable_prints_the_known_numbers(tmp_path: Path, storage: str, imported: str) -> None:
    program = LOOKUP.format(storage=storage, path=tmp_path / "rows", more="")
    program = program.replace("import tensorflow as tf", f"import {imported} as tf")
    steps = _steps(_run(tmp_path / "model.py", program))
    assert [row for row, _ in steps] == ["1.0", "0.90122706", "0.8309542"]
    assert [loss for _, loss in steps] == pytest.approx([36.0, 32.444176, 29.91435], rel=1e-6)


@pytest.mark.parametrize(
    "column",
    [CATEGORICAL]
    + [
        f'feature_column.{name}("item", dtype=tf.int64, ev_option=option)'
        for name in ("sparse_column_with_embedding", "sparse_column_wth_embedding")
    ],
)
@pytest.mark.one_case
def test_the_program_with_a_column_prints_the_known_numbers(tmp_path: Path, column: str) -> None:
    steps = _steps(_run(tmp_path / "model.py", COLUMN.format(path=tmp_path / "rows", column=column)))
    assert [row for row, _ in steps] == ["1.0", "0.90122706", "0.8309542"]
    assert [loss for _, loss in steps] == pytest.approx([30.0, 27.036812, 24.928625], rel=1e-6)


def test_arguments_exit_codes_and_tracebacks_are_the_scripts(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    done = _run(script, "import sys\nprint(sys.argv[1:], __name__)\nsys.exit(7)\n", "--steps", "3")
    assert (done.returncode, done.stdout) == (7, "['--steps', '3'] __main__\n")
    done = _run(script, "def fail():\n    raise KeyError('no such thing')\n\nfail()\n")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-6:] == [
        "Traceback (most recent call last):",
        f'  File "{script}", line 4, in <module>',
        "    fail()",
        f'  File "{script}", line 2, in fail',
        "    raise KeyError('no such thing')",
        "KeyError: 'no such thing'",
    ]
    missing = subprocess.run(
        [forking.python(), "-m", "runtime.compat.deeprec", "none.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert missing.returncode == 2
    assert "none.py" in missing.stderr
