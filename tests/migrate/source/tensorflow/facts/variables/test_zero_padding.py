"""A row of zeros next to a table: what cannot be followed stays, and says why."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons, stays

ZEROS = "tf.concat([tf.zeros([1, 4]), W[1:]], 0)"
BEFORE = "tf.concat([tf.zeros([1, 4]), W], 0)"
CASES = {
    "in a loop": (f"for i in range(2):\n    W = {BEFORE}\n" + LOOKUP, "bound more than once"),
    "read before and after in a loop": (
        f"for i in range(2):\n    {LOOKUP}    W = {BEFORE}\n",
        "bound more than once",
    ),
    "in a function that may run or not": (
        f"def f():\n    global W\n    W = {BEFORE}\n" + LOOKUP,
        "bound more than once",
    ),
    "two kinds in turn": (
        f"P = {BEFORE}\nQ = tf.concat([tf.zeros([1, 4]), P[1:]], 0)\ne = tf.gather(Q, ids)\n",
        "`P` is bound",
    ),
    "two rows": ("W = tf.concat([tf.zeros([2, 4]), W[2:]], 0)\n" + LOOKUP, "computed from the whole variable `W`"),
    "two names": (f"P = {ZEROS}\nP = tf.nn.relu(P)\ne = tf.gather(P, ids)\n", "computed from the whole variable `W`"),
    "other rows": ("W = tf.concat([tf.zeros([1, 4]), W[2:]], 0)\n" + LOOKUP, "computed from the whole variable `W`"),
    "columns": ("W = tf.concat([tf.zeros([1, 4]), W[1:]], 1)\n" + LOOKUP, "computed from the whole variable `W`"),
    "a tensor with a name": (
        "W = tf.concat([tf.zeros([1, 4]), W[1:]], 0, name='p')\n" + LOOKUP,
        "computed from the whole variable `W`",
    ),
    "pooled": (f"P = {ZEROS}\ne = tf.nn.embedding_lookup_sparse(P, sp, None)\n", "once they are combined"),
    "one of a list of partitions": (
        f"P = {ZEROS}\nV = tf.get_variable('v', [9, 4])\ne = tf.nn.embedding_lookup([P, V], ids)\n",
        "a lookup over a list of partitions",
    ),
    "also whole": (f"P = {ZEROS}\ne = tf.gather(P, ids)\ny = tf.matmul(u, P)\n", "whole [rows, dim] matrix"),
    "scored against all": (f"P = {ZEROS}\ne = tf.gather(P, ids)\ny = tf.matmul(u, tf.transpose(P))\n", "whole [rows"),
    "a row by its place": (f"P = {ZEROS}\ne = tf.gather(P, ids) + P[3]\n", "by position"),
    "fetched in a list": (
        f"P = {ZEROS}\ne = tf.gather(P, ids)\nwanted = [e, P]\nsess.run(wanted)\n",
        "used as a whole",
    ),
    "returned to what is not seen": (
        f"def f():\n    P = {ZEROS}\n    e = tf.gather(P, ids)\n    return P\n",
        "the table is returned",
    ),
    "read of an unknown object": (
        f"class M:\n    def __init__(self):\n        self.p = {ZEROS}\n        self.e = tf.gather(self.p, ids)\n"
        "def f(m):\n    return tf.matmul(u, m.p)\n",
        "whole [rows, dim] matrix",
    ),
    "read by a computed name": (
        f"class M:\n    def __init__(self, k):\n        self.p = {ZEROS}\n        self.e = tf.gather(self.p, ids)\n"
        "        self.x = getattr(self, k)\n",
        "by a computed name",
    ),
    "assigned": (f"P = {ZEROS}\ne = tf.gather(P, ids)\nop = W.assign(P)\n", "the table is passed to `W.assign`"),
    "saved": (
        f"P = {ZEROS}\ne = tf.gather(P, ids)\ns = tf.train.Saver([P])\n",
        "by its name, and a table is not a variable",
    ),
    "measured": (f"P = {ZEROS}\ne = tf.gather(P, ids)\nn = P.shape[0]\n", "reads `.shape`"),
    "L2": (f"W = {ZEROS}\n" + LOOKUP + "l = tf.nn.l2_loss(W)\n", "also used in another way"),
    "looked up behind an update": (
        f"P = {ZEROS}\ne = tf.gather(P, ids)\nwith tf.control_dependencies([e]):\n    f = tf.gather(P, ids)\n",
        "outside of such scopes",
    ),
    "padded behind an update": (
        f"with tf.control_dependencies([x]):\n    P = {ZEROS}\ne = tf.gather(P, ids)\n",
        "outside of such scopes",
    ),
    "called behind an update": (
        f"P = {ZEROS}\ndef f():\n    return tf.gather(P, ids)\nwith tf.control_dependencies([x]):\n    e = f()\n",
        "outside of such scopes",
    ),
    "a scope kept in a name": (
        f"P = {ZEROS}\ne = tf.gather(P, ids)\nscope = tf.control_dependencies([e])\n",
        "outside of such scopes",
    ),
}


@pytest.mark.parametrize(("body", "says"), CASES.values(), ids=CASES)
def test_it_stays_and_the_reason_is_named(body: str, says: str) -> None:
    text = HEAD + MADE + body + STEP
    result = converted(text)
    assert result.converted == text
    assert any(words in reasons(result) for words in says.split("|")), reasons(result)


def test_it_stays_for_an_sdk_without_padded_tables() -> None:
    text = HEAD + MADE + f"W = {ZEROS}\n" + LOOKUP + STEP
    stays(text, "computed from the whole variable `W`", target="deeprec")
