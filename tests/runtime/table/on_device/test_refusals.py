"""What a table with rows on a device refuses, and a step that fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, adam, gradient_descent
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


def _table(rows: int = 4, **settings: Any) -> runtime.Table:
    return make_table("user", device_vocabulary_size=rows, **{"device": "/cpu:0", **settings})


def test_a_batch_with_more_ids_than_rows_fails(graph: tf.Graph) -> None:
    ids = v1.placeholder(tf.int64, [None])
    rows = runtime.sparse_lookup(_table(), ids)
    with session() as opened:
        opened.run(rows, {ids: [1, 2, 3, 4, 4]})
        before = opened.run(rows, {ids: [3, 4]})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="room for 4 rows on its device, but the batches of a "
        ):
            opened.run(rows, {ids: [1, 2, 3, 4, 5]})
        np.testing.assert_array_equal(opened.run(rows, {ids: [3, 4]}), before)


def test_a_step_that_fails_leaves_all_rows_as_they_were(graph: tf.Graph) -> None:
    ids, factor = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [])
    tables = [_table(), make_table("other")]
    rows = [runtime.sparse_lookup(table, ids) for table in tables]
    steps = [
        gradient_descent.create_hash_optimizer(0.1).minimize(factor * tf.reduce_sum(one), var_list=[table.variable])
        for one, table in zip(rows, tables, strict=True)
    ]
    snapshots = [table.snapshot() for table in tables]
    with session() as opened:
        start = np.arange(40, dtype=np.float32).reshape(10, 4)
        opened.run([table.import_rows(np.arange(10), start) for table in tables])
        for batch in ([1, 2, 3], [3, 4, 5], [6, 7], [1, 2]):
            opened.run(steps, {ids: batch, factor: 1})
            for step in steps:
                with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
                    opened.run(step, {ids: [batch[0], 8], factor: np.nan})
        (keys, values, *_), (others, expected, *_) = opened.run(snapshots)
        np.testing.assert_array_equal(values[np.argsort(keys)], expected[np.argsort(others)])


def test_what_is_refused(graph: tf.Graph) -> None:
    with pytest.raises(ValueError, match="`device` and `max_bytes` exclude each other"):
        _table(max_bytes=1000)
    with pytest.raises(ValueError, match="the device 'gpu' is none of TensorFlow: name one as"):
        _table(device="gpu")
    with pytest.raises(ValueError, match="policy"):
        _table(device=runtime.Device("/cpu:0", "fifo"))
    table = _table()
    ids = v1.placeholder(tf.int64, [None])
    with pytest.raises(ValueError, match="give a bool, and build a lookup for each mode"):
        runtime.sparse_lookup(table, ids, is_train=v1.placeholder(tf.bool, []))
    with pytest.raises(ValueError, match="outside of functions, branches and loops"):
        tf.cond(v1.placeholder(tf.bool, []), lambda: runtime.sparse_lookup(table, ids), lambda: tf.zeros([1, 4]))
    loss = tf.reduce_sum(runtime.sparse_lookup(table, ids))
    with pytest.raises(ValueError, match="the rule 'adam' has no form"):
        adam.create_hash_optimizer(0.1).minimize(loss)
    adagrad.create_hash_optimizer(0.1).minimize(loss)
    with pytest.raises(ValueError, match="two optimizers: train it by one"):
        gradient_descent.create_hash_optimizer(0.1).minimize(loss)


def test_eager_tables_have_no_device() -> None:
    with pytest.raises(ValueError, match="cannot have rows on a device in eager mode"):
        _table()
