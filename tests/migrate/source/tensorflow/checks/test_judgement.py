"""Tables that move together or not at all: what stays spreads from table to table, whichever rule says so."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from tests.support.source.converting import HEAD, STEP, converted, reasons

#: `a` and `b` are one variable by their name; one function looks up `b` and `c`, which a loss may read as a whole.
CHAIN = (
    HEAD
    + """def look(table):
    return tf.nn.embedding_lookup(table, ids)

with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
    a = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
    b = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
    c = tf.get_variable("v", [9, 4], initializer=tf.zeros_initializer())
loss = tf.reduce_sum(tf.nn.embedding_lookup(a, ids) * look(b) + look(c)){}
with tf.Session() as sess:
    sess.run(op)
"""
)


def test_the_whole_chain_moves() -> None:
    result = converted(CHAIN.format("\n" + STEP.rstrip()))
    assert [table.verdict for table in result.tables] == [State.APPLIED] * 3, reasons(result)


@pytest.mark.parametrize("assume", [False, True])
def test_a_variable_that_stays_keeps_its_namesake_through_a_shared_lookup(assume: bool) -> None:
    """Else `a` would be a table and `b` a variable: two copies of what is one."""
    result = converted(CHAIN.format(" + tf.map_fn(tf.reduce_max, c)\n" + STEP.rstrip()), assume=assume)
    assert not [table for table in result.tables if table.verdict is State.APPLIED], reasons(result)
    assert "variable `s/w` is created twice" in reasons(result)
