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


#: Arguments of a pooled lookup of three tables, each with ids and weights.
POOLED: dict[str, dict[str, Any]] = {
    "sums": {"combiner": ["sum", "mean", "sqrtn"], "negative_keys": True},
    "every row": {"combiner": "mean", "negative_keys": True, "every_row": True},
    "rows to clip": {"combiner": "sum", "max_norm": [None, 0.5, 0.7], "negative_keys": True},
    "safe": {"combiner": "mean", "default_id": 3},
    "safe, empty bags are zeros": {"combiner": ["sqrtn", "sum", "mean"]},
}


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
@pytest.mark.one_case
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


def _bags(rank: int, weighted: bool) -> list[list[tuple[Any, ...]]]:
    """Ids, and perhaps weights, of each step and table: ragged and sparse ones, empty bags, none at all in one step."""
    random, steps = np.random.default_rng(rank), []
    for step in range(STEPS):
        lookups: list[tuple[Any, ...]] = []
        for i in range(3):
            lengths = random.integers(0, 5, 4) * int((step + rank) % 3 > 0)
            ids = tf.RaggedTensor.from_row_lengths(random.integers(-3, 12, lengths.sum()), lengths)
            weights = ids.with_values(tf.constant(random.random(lengths.sum()), tf.float32))
            both = (ids, weights) if weighted and i else (ids,)
            lookups.append(both if i == 1 else tuple(one.to_sparse() for one in both))
        steps.append(lookups)
    return steps


def _pooled(settings: dict[str, Any], weighted: bool, ahead: bool) -> tuple[list[np.ndarray], int]:
    """What a rank sees in each step, and the number of its messages."""
    safe = "negative_keys" not in settings
    look_up = runtime.grouped_safe_embedding_lookup_sparse if safe else runtime.grouped_embedding_lookup_sparse
    exchange = runtime.exchange_safe_sparse_ids if safe else runtime.exchange_sparse_ids
    places = ("distributed", "replicated", "buckets") if ranks.size() > 1 else ["distributed"] * 3
    tables = [
        runtime.create_table(tf.int64, 3, f"p{i}", tf.random_normal_initializer(seed=i), placement=placement)
        for i, placement in enumerate(places)
    ]
    optimizer = adagrad.create_hash_optimizer(0.1, 0.1)
    given = [[(table, *one) for table, one in zip(tables, step, strict=True)] for step in _bags(ranks.rank(), weighted)]
    exchanged = exchange(given[0], **settings) if ahead else None
    seen = []
    for step, lookups in enumerate(given):
        with tf.GradientTape() as tape:
            found = look_up(lookups, **settings, exchanged=exchanged)
            if ahead:
                exchanged = exchange(given[(step + 1) % STEPS], **settings)
            loss = tf.add_n([tf.reduce_sum(tf.sin(one)) for one in found])
        variables = [table.variable for table in tables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        seen += [one.numpy() for one in found]
    return seen, len(getattr(ranks.current(), "messages", []))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [3, 1])
@pytest.mark.parametrize("name", POOLED)
@pytest.mark.one_case
def test_pooled_lookups_of_ids_that_are_exchanged_ahead_give_the_same_bits(
    name: str, size: int, weighted: bool
) -> None:
    def trained(ahead: bool) -> list[tuple[list[np.ndarray], int]]:
        def own() -> tuple[list[np.ndarray], int]:
            return _pooled(POOLED[name], weighted, ahead)

        return [own()] if size == 1 else thread_ranks.run(size, own)[0]

    for (want, messages), (got, more) in zip(trained(False), trained(True), strict=True):
        for one, other in zip(want, got, strict=True):
            np.testing.assert_array_equal(one, other)
        assert any(one.any() for one in got)
        assert more - messages == (0 if size == 1 else 3)


def _pooled_mixed_up() -> None:
    table = runtime.create_table(tf.int64, 2, "bags", tf.ones_initializer())
    ids = tf.ragged.constant([[1, 2], [], [3, 4]], dtype=tf.int64)
    exchanged = runtime.exchange_sparse_ids([(table, ids)])
    for other in (ids + 1, ids[::-1], *(tf.RaggedTensor.from_row_splits(ids.values, [0, 1, n, 4]) for n in (2, 3))):
        with pytest.raises(tf.errors.InvalidArgumentError, match="is for other ids or tables"):
            runtime.grouped_embedding_lookup_sparse([(table, other)], exchanged=exchanged)
    runtime.grouped_embedding_lookup_sparse([(table, ids)], exchanged=exchanged)


def test_other_bags_than_were_exchanged_are_an_error() -> None:
    _pooled_mixed_up()
    thread_ranks.run(2, _pooled_mixed_up)


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
    with pytest.raises(tf.errors.InvalidArgumentError, match="is for other ids or tables"):
        step(two + 1, following, two)
    return [*one.shape, *step(two, following, two)[0].shape]


def test_a_function_takes_any_number_of_ids_and_no_others() -> None:
    assert _in_function() == [1, 2, 2, 2, 2, 2]


def test_what_cannot_be_exchanged() -> None:
    with pytest.raises(ValueError, match="there is nothing to exchange"):
        runtime.exchange_ids([])
    table = runtime.create_table(tf.int64, 2, "floats", tf.ones_initializer())
    with pytest.raises(ValueError, match="floats"):
        runtime.exchange_ids([(table, tf.constant([1.5]))])
    with pytest.raises(ValueError, match="nothing to look up"):
        runtime.exchange_sparse_ids([])
    with pytest.raises(TypeError, match="`exchanged` is list: give what exchange_ids"):
        runtime.grouped_lookup([(table, [1])], exchanged=[1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="floats"):
        runtime.exchange_safe_sparse_ids([(table, [1])])
