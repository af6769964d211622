"""Tables that begin with given rows, and reading the rows of this rank without the others, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import gradient_descent
from tests.support.ranks import thread_ranks

_ROWS = np.arange(15, dtype=np.float32).reshape(5, 3)


@pytest.mark.parametrize("placement", ["distributed", "localized:1", "replicated"])
def test_each_rank_reads_its_rows_and_trains_them(placement: str) -> None:
    def read() -> list[Any]:
        table = runtime.table_of_rows(_ROWS, "item", placement)
        mine = runtime.local_rows(table).numpy()
        keys = tf.constant([[ranks.rank() + 2, ranks.rank()]], tf.int32)
        if placement == "localized:1" and ranks.rank() == 0:
            return [mine, [], mine]  # and reads nothing, while the other rank does
        with tf.GradientTape() as tape:
            rows = runtime.local_lookup(table, keys)
            loss = tf.reduce_sum(rows)
        if placement != "replicated":
            optimizer = gradient_descent.create_hash_optimizer(1.0)
            optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        return [mine, rows.numpy(), runtime.local_rows(table).numpy()]

    found = thread_ranks.run(2, read)[0]
    every = np.arange(5)
    for rank, (mine, rows, after) in enumerate(found):
        held = {"distributed": every % 2 == rank, "localized:1": every < 5 * rank, "replicated": every >= 0}[placement]
        np.testing.assert_array_equal(mine, _ROWS[held])
        if len(rows):
            np.testing.assert_array_equal(rows, _ROWS[[[rank + 2, rank]]])
            less = np.isin(every, [rank, rank + 2]) & (placement != "replicated")
            np.testing.assert_array_equal(after, (_ROWS - less[:, None])[held])


def test_new_ids_get_rows_in_training_alone() -> None:
    table = runtime.create_table(tf.int64, 2, "grown", tf.constant_initializer(7.0), device_vocabulary_size=3)
    assert runtime.local_rows(table).numpy().tolist() == [[7.0, 7.0]] * 3
    assert int(table.size()) == 0
    assert runtime.local_lookup(table, [5, 5]).numpy().tolist() == [[7.0, 7.0]] * 2
    assert int(table.size()) == 1


def test_ids_of_other_ranks_have_rows_of_this_rank_alone_where_they_are_foreign() -> None:
    """As in SOK, whose reads of one rank send nothing: what rank 0 trains there, no lookup over the ranks sees."""

    def read() -> list[Any]:
        table = runtime.create_table(tf.int64, 2, "item", tf.constant_initializer(7.0))
        with tf.GradientTape() as tape:
            rows = runtime.local_lookup(table, [0, 1, 1], foreign=True)
            loss = (ranks.rank() + 1.0) * tf.reduce_sum(rows)
        gradient_descent.create_hash_optimizer(1.0).apply_gradients(
            [(tape.gradient(loss, table.variable), table.variable)]
        )
        after = runtime.local_lookup(table, [0, 1], foreign=True)
        return [rows.numpy(), after.numpy(), runtime.sparse_lookup(table, [0, 1]).numpy()]

    for rank, (rows, after, shared) in enumerate(thread_ranks.run(2, read)[0]):
        np.testing.assert_array_equal(rows, np.full((3, 2), 7.0))
        np.testing.assert_array_equal(after[:, 0], [7.0 - (rank + 1), 7.0 - 2 * (rank + 1)])
        np.testing.assert_array_equal(shared[:, 0], [6.0, 3.0])


def test_what_cannot_be_read_is_named() -> None:
    def read() -> str:
        table = runtime.table_of_rows(_ROWS, "item")
        try:
            runtime.local_lookup(table, [0, 1])
        except tf.errors.InvalidArgumentError as error:
            return str(error)
        return ""

    for error in thread_ranks.run(2, read)[0]:
        assert "local_lookup in the table `item` reads rows that another rank holds: use sparse_lookup" in error
    table = runtime.create_table(tf.int64, 2, "counted", tf.ones_initializer())
    runtime.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2})
    with pytest.raises(ValueError, match="have different thresholds"):
        runtime.local_lookup(table, [1])
    with pytest.raises(ValueError, match="cannot read the table `counted`, which counts how often it sees each id"):
        runtime.local_lookup(table, [1], is_train=False)
    for rows in ([1.0], 3.0):
        with pytest.raises(ValueError, match=r"`rows` of the table `bad` have shape \(.*\): they must be \[n, dim\]"):
            runtime.table_of_rows(rows, "bad")
