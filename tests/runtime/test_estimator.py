"""tf.estimator: tables made inside model_fn; evaluation and prediction never insert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad

v1 = tf.compat.v1
pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator since 2.16")

_TRAIN_KEYS, _UNSEEN = 40, 1000


class _SizeHook(v1.train.SessionRunHook):  # type: ignore[misc]
    """Notes the size of the table at the start and the end of a session."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def begin(self) -> None:
        (table,) = runtime.tables()
        self._size = table.size()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.sizes.append(int(session.run(self._size)))

    def end(self, session: Any) -> None:
        self.sizes.append(int(session.run(self._size)))


def _input(first_key: int) -> Any:
    """Return an input_fn: 64 examples of 2 keys, the label is the parity of the first key."""

    def read() -> Any:
        keys = first_key + np.random.default_rng(1).integers(0, _TRAIN_KEYS, (64, 2))
        return (
            tf.data.Dataset.from_tensor_slices(({"user": keys}, (keys[:, 0] % 2).astype(np.float32))).repeat().batch(32)
        )

    return read


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.one_case
def test_only_training_inserts_rows_where_a_lookup_is_not_told_the_mode(tmp_path: Path, pooled: bool) -> None:
    """A server would keep a row for each id that it is asked for, and an evaluation for each that it reads."""

    def tower(ids: Any) -> Any:
        table = runtime.create_table(tf.int64, 8, "user", v1.truncated_normal_initializer(stddev=0.1))
        if pooled:
            return runtime.embedding_lookup_sparse(table, tf.RaggedTensor.from_tensor(ids))
        return tf.reduce_mean(runtime.sparse_lookup(table, ids), 1)

    def model(features: Any, labels: Any, mode: str) -> Any:
        loss = tf.reduce_mean((tf.reduce_sum(rows := tower(features["user"]), 1) - 1) ** 2)
        step = (
            adagrad.create_hash_optimizer(0.5).minimize(loss, v1.train.get_global_step())
            if labels is not None
            else None
        )
        return tf.estimator.EstimatorSpec(mode, {"rows": rows}, loss, step)

    def served() -> Any:
        return tf.estimator.export.build_raw_serving_input_receiver_fn({"user": v1.placeholder(tf.int64, [None, 2])})()

    estimator, trained = tf.estimator.Estimator(model, str(tmp_path / "run")), _SizeHook()
    estimator.train(_input(0), steps=4, hooks=[trained])
    assert trained.sizes == [0, _TRAIN_KEYS]
    estimator.evaluate(_input(_UNSEEN), steps=2, hooks=[evaluated := _SizeHook()])
    assert evaluated.sizes == [_TRAIN_KEYS] * 2
    folder = estimator.export_saved_model(str(tmp_path / "export"), served).decode()
    with tf.Graph().as_default() as graph, v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        rows = session.run(signature.outputs["rows"].name, {signature.inputs["user"].name: [[_UNSEEN, 1], [2, 3]]})
        kept = next(op for op in graph.get_operations() if op.type == "RecTableSnapshot")
        assert len(session.run(kept.outputs[0])) == _TRAIN_KEYS
    assert rows.shape == (2, 8) and np.all(np.any(rows != 0, axis=1))
