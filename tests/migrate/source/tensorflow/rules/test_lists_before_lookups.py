"""Tables in a list of parameters before they are looked up: the loop over the list takes the rows of the batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.source.projects import HEAD, convert, reasons, train, verdicts, write

pytest.importorskip("tensorflow")
MODEL = (
    HEAD
    + """class Base:
    def __init__(self):
        self.layer_params = []
        self.embed_params = []
        self.ids = tf.placeholder(tf.int64, [None])
        self.label = tf.placeholder(tf.float32, [None])
        self.rows, out = self.graph()
        self.loss = tf.reduce_mean(tf.square(out - self.label)) + self.l2() + self.l1()
        o = tf.train.AdamOptimizer(0.1)
        g, v = zip(*o.compute_gradients(self.loss))
        g = [None if x is None else tf.clip_by_norm(x, 1e9) for x in g]
        self.train_op = o.apply_gradients(zip(g, v))
    def l2(self):
        l2_loss = tf.zeros([1], dtype=tf.float32)
        for param in self.embed_params:
            l2_loss = tf.add(l2_loss, tf.multiply(0.1, tf.nn.l2_loss(param)))
        for param in self.layer_params:
            l2_loss = tf.add(l2_loss, tf.multiply(0.1, tf.nn.l2_loss(param)))
        return tf.reduce_sum(l2_loss)
    def l1(self):
        l1_loss = tf.zeros([1], dtype=tf.float32)
        for param in self.embed_params:
            l1_loss = tf.add(l1_loss, tf.multiply(0.1, tf.norm(tensor=param, ord=1)))
        return tf.reduce_sum(l1_loss)
class Model(Base):
    def graph(self):
        with tf.variable_scope("seq") as self.scope:
            self.W = tf.get_variable("w", [8, 3], initializer=tf.random_normal_initializer(stddev=0.3))
            self.embed_params.append(self.W)
            rows = self.look()
            D = tf.get_variable("d", [3, 1], initializer=tf.random_normal_initializer(stddev=0.3))
            self.layer_params.append(D)
            return rows, tf.reduce_sum(tf.matmul(rows, D), 1)
    def look(self):
        return tf.nn.embedding_lookup(self.W, self.ids)
def build():
    m = Model()
    return dict(ids=m.ids, label=m.label, loss=m.loss, train_op=m.train_op, rows=m.rows)
"""
)
#: The terms over the rows of the batch, in stock TensorFlow.
GATHERED = "tf.gather(param, tf.unique(self.ids).y)"


def test_the_loop_takes_the_rows_of_the_batch(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": MODEL})
    assert verdicts(convert(root)) == {"w": "suggested"}
    done = convert(root, assume=True)
    assert verdicts(done) == {"seq_w": "applied"}, reasons(done)
    text = done["main.py"].converted
    assert "self.embed_params.append(self.W)" in text and text.count("(looked_up_rows(param))") == 1
    assert "tensor=looked_up_rows(param)" in text
    dense = MODEL.replace("tf.nn.l2_loss(param)", f"tf.nn.l2_loss({GATHERED})", 1)
    dense = dense.replace("tensor=param", f"tensor={GATHERED}")
    losses, rows, start = train(write(tmp_path / "dense", {"main.py": dense}), None)
    found, rows_after, _ = train(write(tmp_path / "done", {"main.py": text}), start)
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    np.testing.assert_allclose(rows_after, rows, rtol=1e-4, atol=1e-6)


LOOKED = "return tf.nn.embedding_lookup(self.W, self.ids)"
HOSTILE = {
    "a lookup in a branch": (LOOKED, LOOKED.replace("return ", "return tf.cond(True, lambda: ") + ", lambda: 0.0)"),
    "a list that is indexed": ("return dict(", "first = m.embed_params[0] + 1\n    return dict("),
}


@pytest.mark.parametrize(("old", "new"), HOSTILE.values(), ids=HOSTILE)
def test_terms_that_would_miss_rows_keep_the_table(old: str, new: str, tmp_path: Path) -> None:
    assert old in MODEL
    done = convert(write(tmp_path / "p", {"main.py": MODEL.replace(old, new)}), assume=True)
    assert set(verdicts(done).values()) == {"unsupported"}, reasons(done)
