"""Programs as DeepRec's users write them, and the parts of programs of its model zoo."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat.tensorflow_1 import served
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


@pytest.mark.parametrize(("combiner", "numeric"), [("sum", True), ("mean", False)])
def test_a_linear_model_over_variables_is_that_over_identity_columns(rec: Any, combiner: str, numeric: bool) -> None:
    def trained(made: Any) -> Any:
        with tf.Graph().as_default():
            ids = rec.SparseTensor([[0, 0], [0, 1], [2, 0]], rec.constant([3, 5, 3], rec.int64), [3, 2])
            columns = [made("a"), *([rec.feature_column.numeric_column("x")] if numeric else [])]
            logits = rec.compat.v1.feature_column.linear_model(
                {"a": ids, "x": [[1.0], [2.0], [3.0]]}, columns, sparse_combiner=combiner
            )
            train = rec.train.FtrlOptimizer(0.2).minimize(rec.reduce_sum(rec.square(logits - 1.0)))
            with rec.Session() as session:
                session.run(rec.global_variables_initializer())
                return [session.run([logits, train])[0] for _ in range(3)]

    column = rec.feature_column
    ours = trained(lambda key: column.categorical_column_with_embedding(key, dtype=rec.int64))
    stock = trained(lambda key: column.categorical_column_with_identity(key, num_buckets=8))
    np.testing.assert_allclose(ours, stock, rtol=1e-6)
    assert np.ptp(ours[2]) > 0


def test_each_look_up_of_a_group_has_its_own_combiner(rec: Any) -> None:
    ids = rec.SparseTensor([[0, 0], [0, 1], [2, 0]], rec.constant([3, 5, 3], rec.int64), [4, 2])
    weights = rec.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 3.0, 2.0], [4, 2])
    ones = {"initializer": rec.ones_initializer()}
    variables = [rec.get_embedding_variable("a", 2, **ones), rec.get_variable("b", [8, 2], **ones)]
    group = rec.nn.group_embedding_lookup_sparse
    plain = group([*variables, variables[0]], [ids] * 3, ["sum", "mean", "mean"])
    older = group(variables, [ids, ids], ["sum", "sum"], "mod", [weights, weights])
    newer = group(variables, [ids, ids], ["sum", "sum"], [weights, weights])
    dense = rec.nn.group_embedding_lookup([variables[0]] * 2, [rec.constant([[1, 2]]), rec.constant([3])])
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        assert [one[:, 0].tolist() for one in session.run(plain)] == [[2, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0]]
        for one in session.run([*older, *newer]):
            assert one[:, 1].tolist() == [4, 0, 2, 0]
        assert [one.shape for one in session.run(dense)] == [(1, 2, 2), (1, 2)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["v"], [], None), ValueError, "as many of each"),
        ((["v"], ["ids"], ["max"]), ValueError, "are unknown: use some of"),
        ((["v"], ["ids"], ["sum"], None, "mod", True), ValueError, "is_sequence"),
        ((["v"], ["ids"], ["sum"]), TypeError, "SparseTensors"),
        ((None, ["ids"], ["sum"]), ValueError, "params of a group are None"),
    ],
)
def test_arguments_of_a_group(rec: Any, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rec.nn.group_embedding_lookup_sparse(*arguments)


def test_a_strategy_is_collective_or_localized(rec: Any) -> None:
    experimental = rec.config.experimental
    experimental.enable_distributed_strategy(strategy="localized")
    experimental.enable_group_embedding(fusion_type="localized")
    with pytest.raises(ValueError, match="'parameter_server' is not supported"):
        experimental.enable_distributed_strategy(strategy="parameter_server")


def test_every_name_of_tensorflow_1_is_served_as_it_means_it() -> None:
    with served("deeprec") as module:
        assert sys.modules["tensorflow"] is module
        names = [
            name
            for name in dir(tf.compat.v1)
            if not name.startswith("_") and name not in ("compat", "estimator", "keras")
        ]
        assert len(names) > 500
        assert [name for name in names if getattr(module, name) is not getattr(tf.compat.v1, name)] == []
        assert module.optimizers is tf.optimizers
        assert module.compat.v1 is tf.compat.v1, "its own `compat` would be another copy of each name"
        with pytest.raises(AttributeError, match="neither in version 1 nor in version 2"):
            _ = module.no_such_name
    assert sys.modules["tensorflow"] is tf
