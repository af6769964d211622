"""Terms over the looked-up rows stand behind every lookup, which is assumed: the runtime refuses anything else."""

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
LOSS = "self.loss = tf.reduce_sum(self.rows())"
TERMS = {
    "before a lookup": MADE + HELPER + "l2 = tf.nn.l2_loss(W)\nloss = tf.reduce_sum(rows()) + l2\n",
    "behind the lookups": MADE + LOOKUP + "loss += tf.nn.l2_loss(W)\n",
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
}


@pytest.mark.parametrize("program", TERMS)
def test_the_order_is_assumed(program: str) -> None:
    result = converted(HEAD + FED + TERMS[program] + STEP, assume=True)
    assert "looked_up_rows(" in result.converted, reasons(result)
    assert "all lookups of the table are built before it, or it raises RuntimeError" in reasons(result)
