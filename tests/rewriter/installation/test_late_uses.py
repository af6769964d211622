"""What a program builds on a table after the rewrite, and which programs say that they cannot have it."""

from __future__ import annotations

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
