"""Lookups of several ranks in loops, branches and tf.data: traced as one of two ranks, never run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.ranks import process_group
from tests.support.ranks.thread_ranks import Shelf, Threads

v1: Any = tf.compat.v1
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
