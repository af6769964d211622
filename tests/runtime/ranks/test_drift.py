"""Optimizers alone would let the copies of variables drift apart that several ranks have: they say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

import runtime
from runtime.ranks import drift, process_group
from runtime.ranks.engine import Alone, RanksError

v1: Any = tf.compat.v1


class _Two(Alone):
    """The first of two ranks, whose exchanges give each what it sent."""

    name = "fake"
    seed: Any = 5
    rank, size = 0, 2


@pytest.fixture(autouse=True)
def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_group, "_current", [_Two()])


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _summed(value: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """A sum over ranks."""
    total = tf.numpy_function(lambda own: own, [value], value.dtype)
    total.set_shape(value.shape)
    return total, _summed


def _summed_in_a_branch(value: tf.Tensor) -> tf.Tensor:
    """A sum over ranks as Horovod's optimizer makes it: in the other branch there is one rank alone."""
    found: tf.Tensor = v1.cond(tf.constant(True), lambda: _summed(value), lambda: value)
    found.set_shape(value.shape)
    return found


def _model() -> tuple[tf.Tensor, tf.Tensor]:
    """Return the losses of a table and a variable `w`, and of `w` alone."""
    table = runtime.create_counted_table("user", 2, initializer=v1.ones_initializer())
    w = v1.get_variable("w", [2, 1], initializer=v1.ones_initializer())
    rows = runtime.sparse_lookup(table, v1.placeholder(tf.int64, [None]))
    return tf.reduce_sum(rows @ w), tf.nn.l2_loss(w)


@pytest.mark.parametrize("summed", [False, True])
def test_an_optimizer_alone_is_refused_also_where_the_loss_is_a_sum(summed: bool) -> None:
    with tf.Graph().as_default():
        loss, _ = _model()
        with pytest.raises(RanksError, match=r"Adam.* copies of `w` on 2 ranks .*DistributedOptimizer \(op=Sum"):
            v1.train.AdamOptimizer(0.1).minimize(_summed(loss) if summed else loss)


@pytest.fixture(params=[False, True])
def _branches(request: pytest.FixtureRequest) -> Iterator[None]:
    """Branches of TensorFlow 1 and of TensorFlow 2."""
    before = tf.compat.v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if request.param else v1.disable_control_flow_v2)()
    yield
    (v1.enable_control_flow_v2 if before else v1.disable_control_flow_v2)()


@pytest.mark.usefixtures("_branches")
@pytest.mark.parametrize("alone", [False, True])
def test_what_is_the_same_on_all_ranks_is_applied(alone: bool) -> None:
    _sum = _summed if alone else _summed_in_a_branch
    with tf.Graph().as_default():
        loss, regularized = _model()
        scale = v1.placeholder(tf.float32, [])
        optimizer = v1.train.AdagradOptimizer(0.1)
        pairs = optimizer.compute_gradients(loss)
        by_name = {variable.op.name: (gradient, variable) for gradient, variable in pairs}
        gradient, w = by_name["w"]
        total = tf.clip_by_norm(_sum(gradient) / scale, 1.0) + 0.1 * w
        optimizer.apply_gradients([by_name["user"], (total, w)])
        optimizer.minimize(regularized)
        optimizer.apply_gradients([by_name["user"]])


def test_an_optimizer_of_keras_in_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_group, "_current", [Alone()])
    monkeypatch.setattr(process_group, "_made", lambda *_: _Two())
    monkeypatch.setattr("sys.excepthook", process_group._with_missing_ranks)
    process_group.start("collectives")  # which lets `drift` watch Keras, too
    optimizer = tf.keras.optimizers.SGD(0.1)
    table = runtime.create_table(tf.int64, 2, "item", v1.ones_initializer())
    w = tf.Variable([[1.0], [1.0]], name="w")

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def step(ids: tf.Tensor, reduced: bool) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(runtime.sparse_lookup(table, ids) @ w)
        gradient = tape.gradient(loss, w)
        optimizer.apply_gradients([(_summed(gradient) if reduced else gradient, w)])

    step.get_concrete_function(tf.TensorSpec([None], tf.int64), True)
    with pytest.raises(RanksError, match="SGD would let the copies of `w`"):
        step.get_concrete_function(tf.TensorSpec([None], tf.int64), False)
    drift.refuse_drift("SGD", [(tf.constant(1.0), w)])  # eager gradients show nothing
