"""Strategies of TensorFlow copy variables, and tables have no copies: one sentence says so, and names ranks."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import runtime
from runtime import optimizers

v1 = tf.compat.v1
_MESSAGE = r"does not train tables in {}: leave the strategy out; to train on several devices, start one process"


def _train() -> Any:
    table = runtime.create_table(tf.int64, 2, "user", v1.zeros_initializer())
    loss = tf.reduce_sum(runtime.sparse_lookup(table, [1]))
    return table, optimizers.adagrad.create_hash_optimizer(0.1).minimize(loss)


def test_a_graph_of_one_replica_trains() -> None:
    with tf.Graph().as_default(), tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        table, step = _train()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(step)
            assert session.run(table.size()) == 1


def test_several_replicas_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # A process whose devices are known cannot have a second one made of its processor any more.
    monkeypatch.setattr(tf.distribute.MirroredStrategy, "num_replicas_in_sync", 2)
    message = _MESSAGE.format("MirroredStrategy")
    scope = tf.distribute.MirroredStrategy(["/cpu:0"]).scope()
    with tf.Graph().as_default(), scope, pytest.raises(RuntimeError, match=message):
        _train()


def test_eager_strategies_are_refused() -> None:
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
        table = runtime.create_table(tf.int64, 2, "user", v1.zeros_initializer())
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(runtime.sparse_lookup(table, [1]))
        pairs = [(tape.gradient(loss, table.variable), table.variable)]
        with pytest.raises(RuntimeError, match=_MESSAGE.format("MirroredStrategy")):
            optimizers.adagrad.create_hash_optimizer(0.1).apply_gradients(pairs)
