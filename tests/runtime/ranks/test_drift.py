"""Ranks that would train apart are told so; lookups in loops and branches are traced as one of two ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import adagrad, adam, gradient_descent
from runtime.ranks import drift, process_group
from runtime.ranks.engine import Alone, RanksError
from tests.support.ranks import thread_ranks
from tests.support.ranks.thread_ranks import Shelf, Threads
from tests.support.runtime.tables import step

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
        with pytest.raises(
            RanksError, match=r"gradients of `w` .*over 2 ranks, so .*Adam.*DistributedOptimizer.*op=Sum"
        ):
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
    with pytest.raises(RanksError, match="gradients of `w` are not reduced over 2 ranks, so SGD"):
        step.get_concrete_function(tf.TensorSpec([None], tf.int64), False)
    drift.refuse_drift("SGD", [(tf.constant(1.0), w)])  # eager gradients show nothing


#: What makes the optimizer of a rank.
_OTHERS: dict[str, Callable[[int], Any]] = {
    "rule": lambda rank: (adagrad if rank else adam).create_hash_optimizer(0.1),
    "rate": lambda rank: gradient_descent.create_hash_optimizer(0.1 * (rank + 1)),
}


def _step(table: Any, optimizer: Any) -> None:
    step(table, optimizer, tf.constant([1, 2, 3], tf.int64), tf.reduce_sum)


def _table(placement: str) -> Any:
    return runtime.create_table(tf.int64, 2, "user", tf.ones_initializer(), placement=placement)


def _error(made: Callable[[int], Any], placement: str, traced: bool) -> str:
    """Train until there is an error, of which there may be none; return its message."""
    table, optimizer = _table(placement), made(ranks.rank())
    step = tf.function(lambda: _step(table, optimizer)) if traced else lambda: _step(table, optimizer)
    step()
    try:
        step()
        step()
    except tf.errors.InvalidArgumentError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("placement", ["distributed", "replicated", "localized:0"])
@pytest.mark.parametrize("other", _OTHERS)
def test_another_optimizer_is_an_error_that_names_the_table(other: str, placement: str, traced: bool) -> None:
    made = _OTHERS[other]
    for rank, error in enumerate(thread_ranks.run(2, lambda: _error(made, placement, traced))[0]):
        assert f"the optimizer of `user` ({placement}, 2 wide) differs between ranks" in error
        assert f"rank {rank} trained with" in error
    assert thread_ranks.run(2, lambda: _error(lambda rank: made(1), placement, traced))[0] == ["", ""]


@pytest.mark.parametrize("weighted", [False, True])
def test_ids_and_row_splits_of_int32(weighted: bool) -> None:
    rows = [[1, 2], [], [3, 1, 1]]

    def pooled() -> list[np.ndarray]:
        table = _table("distributed")
        ids = tf.ragged.constant(rows, dtype=tf.int32, row_splits_dtype=tf.int32)
        weights = tf.ragged.constant([[1.0, 2.0], [], [1.0, 1.0, 4.0]], row_splits_dtype=tf.int32) if weighted else None
        sparse = ids.to_sparse()
        scale = None if weights is None else weights.to_sparse()
        return [
            one.numpy()
            for one in (
                runtime.embedding_lookup_sparse(table, ids, weights, combiner="sum"),
                runtime.safe_embedding_lookup_sparse(table, sparse, scale, combiner="sum"),
                *runtime.grouped_embedding_lookup_sparse([(table, ids, weights), (table, sparse, scale)], "sum"),
            )
        ]

    want = [[3.0] * 2, [0.0] * 2, [6.0] * 2] if weighted else [[2.0] * 2, [0.0] * 2, [3.0] * 2]
    for found in thread_ranks.run(2, pooled)[0]:
        for one in found:
            np.testing.assert_array_equal(one, want)


_plain: Any = tf.autograph.experimental.do_not_convert


@pytest.fixture(autouse=True)
def _one_of_two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(process_group, "_current", [Threads(0, 2, Shelf(2))])
    monkeypatch.setattr(process_group, "_in_branches", {})
    yield


def test_gradients_are_taken_where_the_rows_are_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    table = runtime.create_table(tf.int64, 2, "user", v1.ones_initializer())

    def loss(ids: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(runtime.sparse_lookup(table, ids))

    def gradient(of: Callable[[tf.Tensor], tf.Tensor], ids: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = of(ids)
        return tf.convert_to_tensor(tape.gradient(value, table.variable).values)

    def looped(body: Callable[[tf.Tensor], tf.Tensor], ids: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(body(ids))), (0, 0.0))[1]

    def branch(body: Callable[[tf.Tensor], tf.Tensor], ids: tf.Tensor) -> tf.Tensor:
        return tf.cond(tf.size(ids) > 2, lambda: tf.reduce_sum(body(ids)), lambda: 0.0)

    def traced(function: Callable[[tf.Tensor], tf.Tensor]) -> Any:
        return tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec([None], tf.int64))

    with pytest.raises(ranks.RanksError, match=r"a function of tf\.data looks up `user`, at times"):
        tf.data.Dataset.from_tensors([1, 2]).map(_plain(loss))
    traced(lambda ids: gradient(loss, ids))
    assert not process_group._in_branches
    for around in (looped, branch):
        traced(lambda ids, around=around: around(lambda own: gradient(loss, own), ids))
        with pytest.raises(ranks.RanksError, match=r"a tf\.while_loop or tf\.cond looks up `user`, and its gradient"):
            traced(lambda ids, around=around: gradient(lambda own: around(loss, own), ids))
    process_group._with_missing_ranks(ranks.RanksError, ranks.RanksError("late"), None)  # type: ignore[arg-type]
    assert "looks up `user`: all ranks must take the same branch" in capsys.readouterr().err


@pytest.mark.parametrize("new", [True, False])
def test_a_loop_of_a_v1_graph_is_refused_and_a_branch_is_not(new: bool) -> None:
    before = v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if new else v1.disable_control_flow_v2)()
    try:
        with tf.Graph().as_default():
            table = runtime.create_table(tf.int64, 2, "user", v1.ones_initializer())
            ids, turns = tf.constant([1, 2], tf.int64), v1.placeholder(tf.int32, [])
            rows = tf.cond(turns > 1, lambda: runtime.sparse_lookup(table, ids), lambda: tf.zeros([2, 2]))
            assert tf.gradients(rows, table.variable) != [None]
            with pytest.raises(ranks.RanksError, match="a loop of a v1 graph looks up `user`, and its iterations"):
                tf.map_fn(_plain(lambda one: runtime.sparse_lookup(table, one)), ids, tf.float32)
    finally:
        (v1.enable_control_flow_v2 if before else v1.disable_control_flow_v2)()
