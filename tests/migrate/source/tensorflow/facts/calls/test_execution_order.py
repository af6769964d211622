"""Terms over the looked-up rows stand behind every lookup, or the table is kept: the runtime refuses anything else."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, MADE, converted, reasons

#: Gradients that may be clipped, for which a term over all rows cannot be exact.
STEP = (
    "o = tf.train.GradientDescentOptimizer(0.1)\ng, v = zip(*o.compute_gradients(loss))\n"
    "g, _ = tf.clip_by_global_norm(g, 1.0)\nop = o.apply_gradients(zip(g, v))\n"
)
FED = "ids = tf.placeholder(tf.int64, [None])\n"
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\nloss = tf.reduce_sum(e)\n"
HELPER = "def rows():\n    return tf.nn.embedding_lookup(W, ids)\n"
PENALTY = "def penalty():\n    return tf.nn.l2_loss(W)\n"
TOWER = "def tower(x):\n    e = tf.nn.embedding_lookup(W, x)\n    return tf.reduce_sum(e) + tf.nn.l2_loss(W)\n"
CLASS = """\
class Model:
    def __init__(self):
        self.table = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
        {0}
        {1}
    def rows(self):
        return tf.nn.embedding_lookup(self.table, ids)
    {2}
loss = Model().loss
"""
TERM = "def penalty(self):\n        self.l2 = tf.nn.l2_loss(self.table)"
LISTED = (
    "def listed(self):\n        self.params = []\n        self.params.append(self.table)\n"
    "        self.l2 = sum([tf.nn.l2_loss(p) for p in self.params])"
)
LOSS = "self.loss = tf.reduce_sum(self.rows())"
EARLY = {
    "a helper looks up": MADE + HELPER + "l2 = tf.nn.l2_loss(W)\nloss = tf.reduce_sum(rows()) + l2\n",
    "a helper takes the term": MADE + PENALTY + "l2 = penalty()\n" + LOOKUP + "loss += l2\n",
    "both are helpers": MADE + HELPER + PENALTY + "l2 = penalty()\nloss = tf.reduce_sum(rows()) + l2\n",
    "the helper looks up once more": (
        MADE + HELPER + "a = rows()\nl2 = tf.nn.l2_loss(W)\nloss = tf.reduce_sum(a + rows()) + l2\n"
    ),
    "methods": CLASS.format("self.penalty()", LOSS + " + self.l2", TERM),
    "a list": CLASS.format("self.listed()", LOSS + " + self.l2", LISTED),
    "a function that is called twice": MADE + TOWER + "loss = tower(ids) + tower(ids + 1)\n",
    "two objects": (
        MADE + "class Net:\n    def __init__(self, x):\n        self.e = tf.nn.embedding_lookup(W, x)\n"
        "        self.l2 = tf.nn.l2_loss(W)\n"
        "nets = [Net(ids), Net(ids + 1)]\nloss = tf.reduce_sum(nets[0].e - nets[1].e) + nets[0].l2\n"
    ),
    "a comprehension": (
        MADE + "parts = [tf.reduce_sum(tf.nn.embedding_lookup(W, x)) + tf.nn.l2_loss(W) for x in (ids, ids + 1)]\n"
        "loss = tf.add_n(parts)\n"
    ),
    "a dict": (
        MADE + HELPER + 'P = {"w": W}\nl2 = [tf.nn.l2_loss(p) for p in P.values()]\n'
        "loss = tf.reduce_sum(rows()) + sum(l2)\n"
    ),
}  # fmt: skip
LATE = {
    "a list that a constructor fills": CLASS.format(
        "self.params = [self.table]",
        LOSS + "\n        self.loss += sum([tf.nn.l2_loss(p) for p in self.params])",
        "",
    ),
    "a list that a repeated function fills": (
        MADE + "params = []\ndef tower(x):\n    e = tf.nn.embedding_lookup(W, x)\n    params.append(W)\n"
        "    return tf.reduce_sum(e)\n"
        "loss = tower(ids) + tower(ids + 1)\nfor one in params:\n    loss += tf.nn.l2_loss(one)\n"
    ),
    "a helper looks up": MADE + HELPER + "loss = tf.reduce_sum(rows())\nloss += tf.nn.l2_loss(W)\n",
    "both are helpers": MADE + HELPER + PENALTY + "loss = tf.reduce_sum(rows())\nloss += penalty()\n",
    "methods": CLASS.format(LOSS, "self.penalty()", TERM),
    "a function that is called once": MADE + TOWER + "loss = tower(ids)\n",
    "one call or the other": MADE + TOWER + "if flag:\n    loss = tower(ids)\nelse:\n    loss = tower(ids + 1)\n",
    "a graph for each call": (
        "def tower(x):\n    with tf.Graph().as_default():\n        W = tf.get_variable('w', [9, 4])\n"
        "        e = tf.nn.embedding_lookup(W, x)\n        return tf.reduce_sum(e) + tf.nn.l2_loss(W)\n"
        "tower(ids)\nloss = tower(ids)\n"
    ),
    "each call has its own table": (
        "def tower(name):\n    W = tf.get_variable(name, [9, 4])\n    e = tf.nn.embedding_lookup(W, ids)\n"
        "    return tf.reduce_sum(e) + tf.nn.l2_loss(W)\nloss = tower('a') + tower('b')\n"
    ),
    "lookups in a list": (
        MADE + "es = [tf.nn.embedding_lookup(W, x) for x in (ids, ids + 1)]\nloss = tf.add_n(es) + tf.nn.l2_loss(W)\n"
    ),
    "an argument": (
        MADE + HELPER + "def total(e):\n    return tf.reduce_sum(e) + tf.nn.l2_loss(W)\nloss = total(rows())\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", EARLY)
def test_a_term_before_a_lookup_keeps_the_table(program: str) -> None:
    result = converted(HEAD + FED + EARLY[program] + STEP, assume=True)
    assert "looked_up_rows" not in result.converted
    assert "create_table" not in result.converted


@pytest.mark.parametrize("program", LATE)
def test_a_term_behind_the_lookups_is_taken_over_their_rows(program: str) -> None:
    result = converted(HEAD + FED + LATE[program] + STEP, assume=True)
    assert "looked_up_rows(" in result.converted, reasons(result)
    assert "RuntimeError" not in reasons(result)


UNSEEN = {
    "a function that nobody calls": MADE + PENALTY + LOOKUP,
    "a generator": (
        MADE + "def rows():\n    yield tf.nn.embedding_lookup(W, ids)\n"
        "made = rows()\nl2 = tf.nn.l2_loss(W)\nloss = tf.reduce_sum(next(made)) + l2\n"
    ),
    "a lookup in `try`": (
        MADE + "try:\n    e = tf.nn.embedding_lookup(W, find())\nexcept KeyError:\n    pass\nloss = tf.nn.l2_loss(W)\n"
    ),
    "a lookup in `match`": (
        MADE + "match kind:\n    case 1:\n        e = tf.nn.embedding_lookup(W, ids)\nloss = tf.nn.l2_loss(W)\n"
    ),
    "a loop that may have no turn": (
        MADE + "for x in inputs:\n    e = tf.nn.embedding_lookup(W, x)\nloss = tf.nn.l2_loss(W)\n"
    ),
    "the term in the other branch": (
        MADE + "if flag:\n    e = tf.nn.embedding_lookup(W, ids)\nelse:\n    loss = tf.nn.l2_loss(W)\n"
    ),
    "a call in a loop": MADE + TOWER + "loss = 0.\nfor x in (ids, ids + 1):\n    loss += tower(x)\n",
    "a scope that reuses": (
        "def tower(x):\n    with tf.variable_scope('m', reuse=tf.AUTO_REUSE):\n"
        "        W = tf.get_variable('w', [9, 4])\n    e = tf.nn.embedding_lookup(W, x)\n"
        "    return tf.reduce_sum(e) + tf.nn.l2_loss(W)\nloss = tower(ids) + tower(ids + 1)\n"
    ),
    "a lookup under a condition": MADE + "if flag:\n    e = tf.nn.embedding_lookup(W, ids)\nloss = tf.nn.l2_loss(W)\n",
}


@pytest.mark.parametrize("program", UNSEEN)
def test_an_order_that_is_not_seen_is_assumed(program: str) -> None:
    result = converted(HEAD + FED + UNSEEN[program] + STEP, assume=True)
    assert "raises RuntimeError" in reasons(result)
