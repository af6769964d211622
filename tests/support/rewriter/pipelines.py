"""Runs graphs that look up ids of a dataset with and without `move_ids`, and compares all that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from rewriter import move_ids
from rewriter.pipeline import PipelinePlan
from runtime.optimizers import adagrad

v1 = tf.compat.v1
ROWS, SIZE, BATCHES, DIM = 30, 6, 8, 4


def ids_of(batches: int = BATCHES) -> Any:
    return np.random.default_rng(0).integers(0, ROWS, (SIZE * batches, 2))


def examples(batches: int = BATCHES) -> Any:
    return tf.data.Dataset.from_tensor_slices({"ids": ids_of(batches)})


def rows_of(ids: Any, trains: bool = True) -> Any:
    known = {table.table_name: table for table in runtime.tables()}
    table = known.get("user") or runtime.create_table(
        tf.int64, DIM, "user", v1.random_normal_initializer(stddev=0.3, seed=5)
    )
    return runtime.sparse_lookup(table, ids, is_train=trains, modify_graph=True)


def loss_of(ids: Any, trains: bool = True) -> Any:
    return tf.reduce_mean(tf.square(tf.reduce_sum(rows_of(ids, trains), -1) - 1))


def step_of(loss: Any) -> Any:
    return adagrad.create_hash_optimizer(0.1).minimize(loss)


def element_of(dataset: Any) -> Any:
    iterator = v1.data.make_initializable_iterator(dataset)
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


def session() -> Any:
    opened = v1.Session()
    opened.run(v1.global_variables_initializer())
    opened.run(v1.tables_initializer())
    return opened


def outcome(opened: Any, fetches: Any) -> Any:
    """Return what a run gives, or the type of its error."""
    try:
        return opened.run(fetches)
    except tf.errors.OpError as error:
        return type(error)


#: Builds a graph and returns what runs it: all outcomes, arrays or types of errors.
Case = Callable[[], Callable[[], list[Any]]]


def same(case: Case) -> PipelinePlan:
    """Check that a case has the same outcomes with and without ids moved."""
    found = []
    for moved in (False, True):
        with tf.Graph().as_default():
            v1.set_random_seed(3)
            run = case()
            plan = move_ids() if moved else PipelinePlan()
            found.append(run())
    stock, other = found
    assert len(stock) == len(other) > 0
    for one, two in zip(tf.nest.flatten(stock), tf.nest.flatten(other), strict=True):
        if isinstance(one, type):
            assert one is two
        elif np.asarray(one).dtype.kind == "f":
            np.testing.assert_allclose(two, one, rtol=1e-5)
        else:
            np.testing.assert_array_equal(two, one)
    return plan
