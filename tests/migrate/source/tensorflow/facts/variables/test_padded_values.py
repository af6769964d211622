"""Padded tables as values of their own: handed on, stored, padded under a condition; they compute what they did."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from tests.support.source.idiom_runner import compare, model

PADDED = "tf.concat([tf.zeros([1, 4]), W[1:]], 0)"
OTHER = "V = tf.get_variable('v', [20, 4], initializer=tf.random_normal_initializer(seed=8))\n"
PAD = "def pad(t, on):\n    return tf.concat([tf.zeros([1, 4]), t[1:]], 0) if on else t\n"
LOOK = "def look(t, ids):\n    return tf.nn.embedding_lookup(params=t, ids=ids, name='look')\n"
BODIES = {
    "a function pads if it is asked to": PAD
    + "out = tf.nn.embedding_lookup(pad(W, True), pairs) + 2.0 * tf.nn.embedding_lookup(pad(W, False), pairs)\n",
    "one function looks up both": LOOK + f"out = look({PADDED}, pairs) + 2.0 * look(W, pairs)\n",
    "in a loop": f"out = 0.0\nfor i in range(3):\n    out += (i + 1) * tf.gather(W, pairs)\n    W = {PADDED}\n",
    "padded twice": f"P = {PADDED}\nQ = tf.concat([tf.zeros([1, 4]), P[1:]], 0)\n"
    "out = tf.gather(Q, pairs) + tf.gather(W, pairs)\n",
    "another name of the table": f"W0 = W\nW = {PADDED}\nout = tf.gather(W, pairs) + 2.0 * tf.gather(W0, pairs)\n",
    "read late, by a generator": "class C: pass\nc = C()\nc.W = W\ng = (tf.gather(c.W, pairs) for _ in [1])\n"
    f"c.W = {PADDED.replace('W[', 'c.W[')}\nout = tf.gather(c.W, pairs) + 2.0 * next(g)\n",
    "clipped rows": PAD + "out = tf.nn.embedding_lookup(pad(W, True), pairs, max_norm=0.5)\n",
    "ids that are computed": PAD
    + "out = tf.nn.embedding_lookup(pad(W, True), tf.maximum(pairs - 8, 0)) + tf.gather(W, pairs)\n",
    "an attribute that is bound again": "class M:\n    def __init__(self, W):\n        self.W = W\n"
    "        self.raw = tf.gather(self.W, pairs)\n"
    "        self.W = tf.concat([tf.zeros([1, 4]), self.W[1:]], 0)\n"
    "    def look(self):\n        return tf.gather(self.W, pairs)\n"
    "m = M(W)\nout = m.raw + 2.0 * m.look()\n",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_computes_the_same(body: str) -> None:
    compare(model(body, "adam"))


def test_one_call_reads_a_padded_table_and_another() -> None:
    body = OTHER + PAD + LOOK + "out = look(pad(W, True), pairs) + 2.0 * look(pad(V, False), pairs)\n"
    compare(model(body, "adam"), moved=("w", "v"))
