"""A name in a list of sizes is a single size: `tf.zeros(n)` behind `tf.zeros([n, 4])` makes a vector."""

from __future__ import annotations

import textwrap

import pytest

from migrate.report.model import State
from migrate.source.settings.options import Options
from migrate.source.tensorflow.convert import convert

MODEL = """import tensorflow.compat.v1 as tf


class Model:
    def __init__(self, n, flag, ids):
        self.n = n
{}
        e = tf.nn.embedding_lookup(b, ids)
        self.op = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(e))
"""


def verdict(lines: str) -> tuple[State, tuple[str, ...]]:
    """The verdict on the variable `b` that the lines make, and the reasons."""
    text = MODEL.format(textwrap.indent(textwrap.dedent(lines).strip(), " " * 8))
    (table,) = convert("model.py", text, Options()).tables
    return table.verdict, table.reasons


SHOWN = {
    "plain": "a = tf.truncated_normal([self.n, 4])\nb = tf.Variable(tf.zeros(self.n))\n",
    "with": """
        with tf.variable_scope("a"):
            a = tf.truncated_normal(shape=[self.n, 4], mean=0.0)
            b = tf.Variable(tf.zeros(self.n), name="bias")
        """,
    "name": "a = tf.zeros((n, 4))\nb = tf.Variable(tf.zeros(n))\n",
    "initializer": """
        init = tf.zeros_initializer() if flag else tf.contrib.layers.xavier_initializer(uniform=False)
        a = tf.Variable(init([self.n, 4]), name="a")
        c = tf.concat([a, tf.constant(0.0, tf.float32, [1, 4])], 0)
        b = tf.Variable(tf.zeros(self.n), name="b")
        """,
}
OPEN = {
    "unshown": "b = tf.Variable(tf.zeros(self.n))\n",
    "after": "b = tf.Variable(tf.zeros(self.n))\na = tf.truncated_normal([self.n, 4])\n",
    "branch": "if flag:\n    a = tf.truncated_normal([self.n, 4])\nb = tf.Variable(tf.zeros(self.n))\n",
    "lambda": "a = lambda: tf.truncated_normal([self.n, 4])\nb = tf.Variable(tf.zeros(self.n))\n",
    "self": "a = tf.zeros((self.n, 4))\nself.n = [n, 4]\nb = tf.Variable(tf.zeros(self.n))\n",
    "call": "a = tf.zeros((self.n, 4))\nself.change()\nb = tf.Variable(tf.zeros(self.n))\n",
    "loop": "a = tf.zeros((n, 4))\nfor _ in range(2):\n    b = tf.Variable(tf.zeros(n))\n    n = [n, 4]\n",
    "or": "a = flag or tf.zeros((n, 4))\nb = tf.Variable(tf.zeros(n))\n",
    "one": "a = tf.zeros([n])\nb = tf.Variable(tf.zeros(n))\n",
    "function": "init = lambda sizes: sizes[1]\na = init([self.n, 4])\nb = tf.Variable(tf.zeros(self.n))\n",
    "either": """
        init = tf.zeros_initializer() if flag else ids.make
        a = init([self.n, 4])
        b = tf.Variable(tf.zeros(self.n))
        """,
    "second": "init = tf.zeros_initializer()\na = init([4], [self.n, 4])\nb = tf.Variable(tf.zeros(self.n))\n",
    "start": "start = tf.global_variables_initializer\na = start([self.n, 4])\nb = tf.Variable(tf.zeros(self.n))\n",
    "other call": """
        init = tf.zeros_initializer()
        a = init([self.n, 4])
        self.change()
        b = tf.Variable(tf.zeros(self.n))
        """,
    "concat": "a = tf.concat([n, n], 0)\nb = tf.Variable(tf.zeros(n))\n",
}


@pytest.mark.parametrize("lines", SHOWN.values(), ids=SHOWN)
def test_a_list_of_sizes_shows_a_single_size(lines: str) -> None:
    assert verdict(lines) == (State.APPLIED, ())


@pytest.mark.parametrize("lines", OPEN.values(), ids=OPEN)
def test_the_shape_stays_unread_where_the_list_does_not_show_it(lines: str) -> None:
    state, reasons = verdict(lines)
    assert state is State.UNSUPPORTED
    assert "its shape cannot be read" in reasons[0]
