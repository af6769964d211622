"""Ids that ranks exchange a step ahead: the bits of lookups that exchange them at once, over threads as ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import adagrad
from tests.support.ranks import thread_ranks

STEPS = 4
PLACEMENTS = ("distributed", "localized:1", "replicated", "buckets")


def _batches(rank: int) -> list[list[np.ndarray]]:
    """Ids of each step and table; a rank has none in one of them."""
    random = np.random.default_rng(rank)
    return [[random.integers(-20, 20, ((step + rank) % 3 * 3, 2)) for _ in PLACEMENTS] for step in range(STEPS)]


def _trained(ahead: bool) -> tuple[list[np.ndarray], list[str]]:
    """What a rank sees in each step, and its messages."""
    tables = [
        runtime.create_table(tf.int64, 3, f"t{i}", tf.random_normal_initializer(seed=i), placement=placement)
        for i, placement in enumerate(PLACEMENTS[: 4 if ranks.size() > 1 else 1])
    ]
    optimizer = adagrad.create_hash_optimizer(0.1, 0.1)
    given = [[(table, ids) for table, ids in zip(tables, batch, strict=False)] for batch in _batches(ranks.rank())]
    exchanged = runtime.exchange_ids(given[0]) if ahead else None
    seen = []
    for step, pairs in enumerate(given):
        with tf.GradientTape() as tape:
            rows = runtime.grouped_lookup(pairs, exchanged=exchanged)
            if ahead:
                exchanged = runtime.exchange_ids(given[(step + 1) % STEPS])
            loss = tf.add_n([tf.reduce_sum(tf.sin(one)) for one in rows])
        variables = [table.variable for table in tables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        seen += [one.numpy() for one in rows]
    return seen, getattr(ranks.current(), "messages", [])


@pytest.mark.parametrize("size", [1, 3])
def test_ids_that_are_exchanged_ahead_give_the_same_bits(size: int) -> None:
    if size == 1:
        at_once, ahead = [_trained(False)], [_trained(True)]
    else:
        at_once, _ = thread_ranks.run(size, lambda: _trained(False))
        ahead, _ = thread_ranks.run(size, lambda: _trained(True))
    for (want, messages), (got, more) in zip(at_once, ahead, strict=True):
        for one, other in zip(want, got, strict=True):
            np.testing.assert_array_equal(one, other)
        assert len(more) == (0 if size == 1 else len(messages) + 3)  # the ids behind the last step


def _in_function() -> list[int]:
    table = runtime.create_table(tf.int64, 2, "any", tf.ones_initializer())
    first = runtime.exchange_ids([(table, [[1, 2]])])
    ids = tf.TensorSpec([None, 2], tf.int64)

    @tf.function(input_signature=[ids, first.spec(), ids])
    def step(ids: tf.Tensor, exchanged: Any, more: tf.Tensor) -> Any:
        (rows,) = runtime.grouped_lookup([(table, ids)], exchanged=exchanged)
        return rows, runtime.exchange_ids([(table, more)])

    two = tf.constant([[1, 2], [3, 4]], tf.int64)
    one, following = step(tf.constant([[1, 2]], tf.int64), first, two)
    with pytest.raises(tf.errors.InvalidArgumentError, match="exchanged for other ids or tables"):
        step(two + 1, following, two)
    return [*one.shape, *step(two, following, two)[0].shape]


def test_a_function_takes_any_number_of_ids_and_no_others() -> None:
    assert _in_function() == [1, 2, 2, 2, 2, 2]


def _mixed_up() -> None:
    first, second = (runtime.create_table(tf.int64, 2, name, tf.ones_initializer()) for name in ("a", "b"))
    exchanged = runtime.exchange_ids([(first, [1]), (second, [2])])
    for pairs in ([(second, [1]), (first, [2])], [(first, [1]), (second, [3])], [(first, [1])]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="exchanged for other ids or tables"):
            runtime.grouped_lookup(pairs, exchanged=exchanged)


def test_other_ids_or_tables_than_were_exchanged_are_an_error() -> None:
    _mixed_up()
    thread_ranks.run(2, _mixed_up)


def test_what_cannot_be_exchanged() -> None:
    with pytest.raises(ValueError, match="there is nothing to exchange"):
        runtime.exchange_ids([])
    table = runtime.create_table(tf.int64, 2, "floats", tf.ones_initializer())
    with pytest.raises(ValueError, match="floats"):
        runtime.exchange_ids([(table, tf.constant([1.5]))])
