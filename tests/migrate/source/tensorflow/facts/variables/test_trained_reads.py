"""Reads of a whole matrix in a loss: with `--assume` they look all ids up, and train what the variable trained."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")
from migrate.source.settings.options import Options
from migrate.source.tensorflow.convert import convert
from tests.support.source.scripts import HEAD, compare

MODEL = """
ids = tf.placeholder(tf.int64, [None])
labels = tf.placeholder(tf.int64, [None])
W = tf.get_variable("item", [12, 4], initializer=tf.constant_initializer(0.3))
B = tf.get_variable("bias", [12], initializer=tf.zeros_initializer())
kernel = tf.get_variable("kernel", [4, 4], initializer=tf.random_normal_initializer(seed=5))
row = tf.tanh(tf.matmul(tf.nn.embedding_lookup(W, ids), kernel))
"""
LOSSES = {
    "softmax": """
        logits = tf.matmul(row, W[1:], transpose_b=True) + B[1:] + tf.expand_dims(tf.gather(B, ids), 1)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        """,
    "propagation": """
        mix = tf.get_variable("mix", [5, 4], initializer=tf.random_normal_initializer(seed=7))
        both = tf.tile(W, [1, 2])[:, :5] * tf.expand_dims(B + 1.0, 1)
        spread = tf.matmul(tf.constant(np.eye(12, k=1, dtype=np.float32)), tf.matmul(both, mix))
        loss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(spread + W, labels) - row)) + tf.gather(B, ids)[0]
        """,
    "a term over the table beside it": """
        logits = tf.matmul(row, W, transpose_b=True) + B + tf.expand_dims(tf.gather(B, ids), 1)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        loss += 0.1 * tf.nn.l2_loss(W)
        """,
}
TAIL = """
train = tf.train.{}.minimize(loss)
draw = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(5):
        batch = {{ids: draw.randint(0, 12, 6), labels: draw.randint(0, 11, 6)}}
        show(session.run([train, loss], batch)[1])
    show(session.run(W))
"""
OPTIMIZERS = (
    "GradientDescentOptimizer(0.5)",
    "MomentumOptimizer(0.1, 0.9, use_nesterov=True)",
    "AdagradOptimizer(0.1)",
    "AdamOptimizer(0.02)",
    "RMSPropOptimizer(0.02, momentum=0.5)",
    "FtrlOptimizer(0.1, l1_regularization_strength=0.01)",
    "AdadeltaOptimizer(0.5)",
)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_row_is_trained_as_that_of_the_variable(loss: str, optimizer: str, tmp_path: Path) -> None:
    text = HEAD + MODEL + textwrap.dedent(LOSSES[loss]) + TAIL.format(optimizer)
    compare(text, tmp_path, tables=2, assume=True)


TABLES = """import tensorflow.compat.v1 as tf
W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
V = tf.get_variable("v", [7, 4], initializer=tf.zeros_initializer())
B = tf.get_variable("b", [9], initializer=tf.zeros_initializer())
ids = tf.placeholder(tf.int64, [None])
e = tf.nn.embedding_lookup(W, ids) + tf.nn.embedding_lookup(V, ids) + tf.nn.embedding_lookup(B, ids)[:, None]
loss = tf.reduce_mean(tf.square(e))
"""
STEP = "train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
CLIPPED = """o = tf.train.AdagradOptimizer(0.1)
grads, names = zip(*o.compute_gradients(loss))
train_op = o.apply_gradients(zip(tf.clip_by_global_norm(grads, 1.0)[0], names))
"""


def converted(body: str, step: str = STEP, *, assume: bool = False) -> tuple[str, dict[str, bool]]:
    """The text that comes out, and whether the tables w, v and b are converted."""
    result = convert("model.py", TABLES + textwrap.dedent(body).lstrip() + step, Options(assume=assume))
    return result.converted, {table.name: f'name="{table.name}"' in result.converted for table in result.tables}


def test_it_needs_a_decision() -> None:
    body = "loss += tf.reduce_mean(tf.matmul(e, W, transpose_b=True))\n"
    assert converted(body)[1] == {"w": False, "v": True, "b": True}
    text, moved = converted(body, assume=True)
    assert moved == {"w": True, "v": True, "b": True}
    assert "all_rows(W, trainable=True)" in text


KEPT = {
    "a branch of the graph": "loss += tf.cond(ids[0] > 0, lambda: tf.reduce_sum(W * e[0]), lambda: 0.0)\n",
    "a loop of the graph": "loss += tf.reduce_sum(tf.map_fn(lambda x: tf.reduce_sum(x * W), e))\n",
    "an operator that assigns": "x = W\nx += 1.0\nloss += tf.reduce_sum(x)\n",
    "a gradient with respect to it": "loss += tf.reduce_sum(W * 2) + tf.reduce_sum(tf.gradients(loss, W)[0])\n",
    "a text": "loss += tf.reduce_sum(W * 2)\ntext = '%s' % W\n",
    "a term over the batch beside it": """
        loss += tf.reduce_mean(tf.matmul(e, W, transpose_b=True))
        loss += tf.cond(ids[0] > 0, lambda: tf.nn.l2_loss(W), lambda: 0.0)
        """,
    "a table or a number": "x = W if flag else 0.0\nloss += tf.reduce_mean(x)\n",
    "a table or a number of a list": "loss += sum(tf.reduce_mean(v) for v in [W, 1.0])\n",
    "a table or a tensor": "x = W if flag else tf.ones([9, 4])\nloss += tf.reduce_mean(x)\n",
    "a number or a table in a summary": "x = W if flag else 0.0\ntf.summary.histogram('a', x)\n",
    "a copy with a name": "x = tf.identity(W, name='copy')\nloss += tf.reduce_mean(x)\n",
    "a function that is not known": "loss += tf.reduce_sum(weigh(W))\n",
    "an average": """
        ema = tf.train.ExponentialMovingAverage(0.9)
        train_ema = ema.apply([W])
        loss += tf.reduce_sum(ema.average(W) * W)
        """,
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_the_table_stays_whatever_is_assumed(body: str) -> None:
    assert not converted(body, assume=True)[1]["w"]


PASSED = {
    "concatenated": "both = tf.concat([W, tf.ones([2, 4])], 0)\nloss += tf.reduce_sum(tf.gather(both, ids))\n",
    "cast": "loss += tf.reduce_sum(tf.gather(tf.cast(W, tf.float64), ids))\n",
    "negative": "loss += tf.reduce_sum(tf.gather(-W, ids))\n",
}
MOMENTUM = "train_op = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)\n"


@pytest.mark.parametrize("body", PASSED.values(), ids=PASSED)
def test_a_gradient_of_some_rows_keeps_the_table_where_rows_move_without_one(body: str) -> None:
    assert not converted(body, MOMENTUM, assume=True)[1]["w"]
    assert converted(body, assume=True)[1]["w"]


def test_a_clip_of_the_gradients_is_a_doubt_of_its_own() -> None:
    result = convert("model.py", TABLES + "loss += tf.reduce_sum(tf.tanh(W))\n" + CLIPPED, Options(assume=True))
    assert any("clipping may treat each use of an id separately" in str(one) for one in result.findings)


def test_a_matrix_and_a_vector_that_one_line_reads_stay() -> None:
    body = "def show(table):\n    tf.summary.histogram('a', table)\nshow(W)\nshow(B)\n"
    assert converted(body, assume=True)[1] == {"w": False, "v": True, "b": False}


ASSIGNED = """
emb = tf.get_variable("item", [12, 4], initializer=tf.constant_initializer(0.9))
ids = tf.placeholder(tf.int64, [None])
scale = tf.get_variable("scale", [4], initializer=tf.ones_initializer())
loss = -tf.reduce_sum(scale * tf.nn.embedding_lookup(emb, ids))
train = tf.train.{}.minimize(loss)
with tf.control_dependencies([train]):
    clip = emb.assign(tf.clip_by_norm(emb, 1.0, axes=[1]))
draw = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
        batch = {{ids: draw.randint(0, 12, 5)}}
        session.run(clip, batch)
        show(session.run(loss, batch))
    show(session.run(emb))
"""


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_rows_that_are_clipped_after_a_step_are_read_for_no_loss(optimizer: str, tmp_path: Path) -> None:
    compare(HEAD + ASSIGNED.format(optimizer), tmp_path, tables=1)
