"""What a program builds on a table after the rewrite, and which programs say that they cannot have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import rewriter

v1 = tf.compat.v1


def test_a_dataset_that_reads_a_table_is_built_before_it() -> None:
    installed = rewriter.install()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.get_variable("table", initializer=np.ones([3, 2], np.float32), use_resource=True)
            step = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.gather(table, [1])))
            session.run(v1.global_variables_initializer())
            session.run(step)
            rows = tf.data.Dataset.range(3)
            # It would read the rows as they were when the iterator was initialized.
            with pytest.raises(ValueError, match=r"`MapDataset`.* uses the variable `table`.*: build it before"):
                rows.map(lambda number: tf.gather(table, number))
    finally:
        installed.remove()
    assert list(installed.tables) == ["table"]


def test_an_assignment_that_may_add_rows_keeps_the_variable() -> None:
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("table", [3, 2], use_resource=False)
        tf.gather(table, v1.placeholder(tf.int32, [None]))
        v1.assign(table, v1.placeholder(tf.float32, [3, 2]), validate_shape=False)
        assert [one.name for one in rewriter.rewrite(graph, dry_run=True).tables] == ["table"]
        v1.assign(table, tf.concat([table, tf.ones([1, 2])], 0), validate_shape=False, name="grows")
        (refusal,) = rewriter.rewrite(graph).refusals
    assert "`grows` may give it another number of rows: leave validate_shape=False out" in refusal.reason


def test_what_later_uses_add_is_no_table_of_a_meta_graph() -> None:
    """It has a variable with rows that are looked up, whose name no program knows."""
    installed = rewriter.install()
    try:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            table = v1.get_variable("table", [3, 2], use_resource=True)
            step = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.gather(table, [1])))
            session.run(v1.global_variables_initializer())
            session.run([step, tf.gather(table, [2])])
            definition = graph.as_graph_def()
        with tf.Graph().as_default(), v1.Session() as session:
            tf.import_graph_def(definition, name="")
            session.run("init")
    finally:
        installed.remove()
    assert list(installed.tables) == ["table"]


def test_a_meta_graph_written_after_later_gradients_is_read(tmp_path: Path) -> None:
    """Constants of these gradients were placed with lookups of the table, which the file does not have."""
    installed = rewriter.install()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.get_variable("table", [3, 2], use_resource=True)
            rows = tf.gather(table, [[1, 2]], name="rows")
            loss = tf.reduce_sum(rows**2)
            v1.train.GradientDescentOptimizer(0.5).minimize(loss)
            session.run(v1.global_variables_initializer())
            session.run(tf.gradients(loss, [table]))
            path, expected = v1.train.Saver().save(session, str(tmp_path / "model")), session.run(table)
        with tf.Graph().as_default(), v1.Session() as session:
            v1.train.import_meta_graph(f"{path}.meta").restore(session, path)
            np.testing.assert_allclose(session.run("rows:0")[0], expected[1:])
    finally:
        installed.remove()
    assert list(installed.tables) == ["table"]
