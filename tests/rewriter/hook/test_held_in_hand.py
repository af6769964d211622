"""What an author holds of a variable, its initializer say, works after the rewrite, or says what to do instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.offline.rewriting import rewrite_meta_graph
from runtime import create_table, native
from runtime.table.create import tables

v1 = tf.compat.v1
ROWS, DIM = 6, 2
ONES = np.ones([ROWS, DIM], np.float32)


@dataclass
class Held:
    """The variable, what asks before the rewrite whether it and all others are set, its rows, and a train op."""

    variable: Any
    ids: Any
    rows: Any
    train: Any
    is_set: Any
    unset: Any


def _build(use_resource: bool) -> Held:
    starts = v1.random_uniform_initializer(2.0, 3.0)
    variable = v1.get_variable("user", [ROWS, DIM], initializer=starts, use_resource=use_resource)
    ids = v1.placeholder(tf.int64, [None], "ids")
    rows = tf.identity(v1.nn.embedding_lookup(variable, ids), "rows")
    train = v1.train.AdagradOptimizer(1.0).minimize(tf.reduce_sum(rows**2), name="train")
    return Held(variable, ids, rows, train, v1.is_variable_initialized(variable), v1.report_uninitialized_variables())


def _moved(graph: tf.Graph, use_resource: bool) -> Held:
    held = _build(use_resource)
    assert [table.name for table in rewrite(graph).tables] == ["user"]
    return held


BOTH = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


@BOTH
def test_whether_it_is_initialized_is_asked_of_the_table(graph: tf.Graph, use_resource: bool) -> None:
    held = _moved(graph, use_resource)
    later = v1.is_variable_initialized(held.variable), v1.report_uninitialized_variables([held.variable])
    with v1.Session() as session:
        assert not session.run(held.is_set) and not session.run(later[0])
        assert {b"user", b"user/Adagrad"} <= set(session.run(held.unset))
        assert list(session.run(later[1])) == [b"user"]
        session.run(v1.global_variables_initializer())
        assert session.run(held.is_set) and session.run(later[0])
        assert session.run(held.unset).size == session.run(later[1]).size == 0


@BOTH
def test_a_graph_in_a_file_asks_the_table_too(graph: tf.Graph, use_resource: bool) -> None:
    held = _build(use_resource)
    start = v1.global_variables_initializer()
    v1.add_to_collection("asked", held.is_set)
    moved = rewrite_meta_graph(v1.train.export_meta_graph()).content
    with tf.Graph().as_default(), v1.Session() as session:
        native.ops()
        v1.train.import_meta_graph(moved)
        asked = [held.is_set.name, held.unset.name]
        assert not session.run(asked[0])
        assert b"user" in session.run(asked[1])
        session.run(start.name)
        assert session.run(asked[0])
        assert session.run(asked[1]).size == 0


def test_rows_of_another_shape_are_refused(graph: tf.Graph) -> None:
    _moved(graph, True)
    (anchor,) = v1.trainable_variables()
    with pytest.raises(ValueError, match="needs a session"):
        anchor.load(ONES)
    with v1.Session() as session, pytest.raises(ValueError, match="Cannot feed value of shape"):
        anchor.load(ONES[:3], session)
    with pytest.raises(ValueError, match="shape"):
        anchor.assign(ONES[:3])


def test_a_table_of_a_program_says_how_rows_are_set(graph: tf.Graph) -> None:
    table = create_table(tf.int64, DIM, "own", v1.zeros_initializer())
    with v1.Session() as session, pytest.raises(TypeError, match=r"holds no rows: set them with .*import_rows"):
        table.variable.load(np.zeros([0, DIM], np.float32), session)


def test_an_average_begins_with_what_the_table_has(graph: tf.Graph) -> None:
    """Its initializer asks whether the variable is set, which it is once its rows can be read, not before."""
    held = _build(True)
    average = v1.train.ExponentialMovingAverage(0.9)
    v1.disable_control_flow_v2()
    try:
        average.apply([held.variable])
    finally:
        v1.enable_control_flow_v2()
    assert rewrite(graph).tables
    (table,) = tables(graph)
    with v1.Session() as session:
        # A moment in the middle of the table's own initializer.
        session.run(table.filled.initializer)
        session.run(average.average(held.variable).initializer)
        assert (session.run(average.average(held.variable)) >= 2.0).all()
