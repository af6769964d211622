"""A table belongs to a session; the init op empties it; MonitoredTrainingSession saves and resumes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


def test_sessions_of_one_graph_have_tables_of_their_own(graph: tf.Graph) -> None:
    table = make_table()
    look = runtime.sparse_lookup(table, [1, 2, 3])
    with session() as one, session() as other:
        one.run(look)
        assert (one.run(table.size()), other.run(table.size())) == (3, 0)


def test_a_table_is_used_after_the_init_op_as_any_variable_is(graph: tf.Graph) -> None:
    table = make_table()
    look = runtime.sparse_lookup(table, [1])
    with v1.Session() as opened:
        for fetch in (look, table.size(), table.import_rows([1], np.ones((1, 4)))):
            with pytest.raises(tf.errors.FailedPreconditionError, match=r"user.*uninitialized"):
                opened.run(fetch)


def test_imported_rows(graph: tf.Graph) -> None:
    table = make_table(dim=2)
    with session() as opened:
        opened.run(table.import_rows(tf.constant([3, 4], tf.int32), [[1.0, 2.0], [3.0, 4.0]]))
        opened.run(table.import_rows([4], [[5.0, 6.0]]))
        keys, values, slots, meta = opened.run(table.snapshot())
    assert (keys.tolist(), values.tolist()) == ([3, 4], [[1.0, 2.0], [5.0, 6.0]])
    assert slots.shape == (2, 0)
    assert meta[1] == table.seed


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        ([1.5], [[1.0, 2.0]], "`keys` of rows for the table `user` are float32: they must be int32 or int64"),
        (["a"], [[1.0, 2.0]], "`keys` of rows for the table `user` are string"),
        ([[1]], [[1.0, 2.0]], r"`keys` of rows for the table `user` have shape \(1, 1\): they must be \[n\]"),
        ([1], [[1.0, 2.0, 3.0]], r"`values` of rows for the table `user` have shape \(1, 3\): they must be \[1, 2\]"),
        ([1, 2], [[1.0, 2.0]], r"`values` .* have shape \(1, 2\): they must be \[2, 2\]"),
    ],
)
@pytest.mark.usefixtures("graph")
def test_rows_that_do_not_fit_are_refused_by_name(keys: Any, values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_table(dim=2).import_rows(keys, values)
