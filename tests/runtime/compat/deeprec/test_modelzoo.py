"""What programs like DeepRec's model zoo use: linear models over EmbeddingVariables, groups, TensorFlow 1's names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat.tensorflow_1 import served
from tests.support import forking


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


_SCRIPT = """
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import variable_scope
from tensorflow.python.training import incremental_saver as tf_incr_saver
flags = tf.app.flags
flags.DEFINE_integer("steps", 1, "")


def main(_):
    dataset = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]]).repeat()
    iterator = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
    start, ids = iterator.make_initializer(dataset), tf.to_int64(iterator.get_next())
    with tf.variable_scope("in", partitioner=tf.fixed_size_partitioner(2), reuse=tf.AUTO_REUSE):
        variable = variable_scope.get_embedding_variable("user", 4, initializer=tf.ones_initializer(tf.float32))
    rows = tf.nn.embedding_lookup(variable, ids)
    chosen = tf.where([True, False], rows, tf.zeros_like(rows))  # TensorFlow 2 would ask for a shape that broadcasts
    loss = tf.losses.mean_squared_error([1.0], tf.reduce_sum(chosen, keep_dims=True)[0])
    value, update = tf.metrics.mean(loss)
    train = tf.train.AdamOptimizer().minimize(loss, tf.train.get_or_create_global_step())
    saver = tf_incr_saver._get_incremental_saver(True, tf.train.Saver(tf.global_variables()))
    with tf.Session(config=tf.ConfigProto()) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(start)
        for _ in range(flags.FLAGS.steps):
            session.run([train, update])
        tf.logging.info("done")
        print(session.run(tf.train.get_global_step()), tf.VERSION == tf.__version__, v1.Session is tf.Session)


if __name__ == "__main__":
    tf.app.run()
"""


def test_a_script_for_tensorflow_1_runs(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(_SCRIPT)
    command = [forking.python(), "-m", "runtime.compat.deeprec", str(script), "--steps=3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout.split()) == (0, ["3", "True", "True"]), done.stderr
