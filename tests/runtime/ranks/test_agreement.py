"""Ranks that train a table by different optimizers are told so at the next lookup; numbers of any width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import adagrad, adam, gradient_descent
from tests.support.ranks import thread_ranks

#: What makes the optimizer of a rank.
_OTHERS: dict[str, Callable[[int], Any]] = {
    "rule": lambda rank: (adagrad if rank else adam).create_hash_optimizer(0.1),
    "rate": lambda rank: gradient_descent.create_hash_optimizer(0.1 * (rank + 1)),
}


def _step(table: Any, optimizer: Any) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1, 2, 3], tf.int64)))
    optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])


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
