"""Reads of a whole matrix: those apart from the loss become `all_rows`, the others keep the table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest

from migrate.source.settings.options import Options
from migrate.source.tensorflow.convert import convert
from tests.support.source.ways import FIRST, GENERAL, Way

HEAD = """import tensorflow.compat.v1 as tf
W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
ids = tf.placeholder(tf.int64, [None])
labels = tf.placeholder(tf.int64, [None])
e = tf.nn.embedding_lookup(W, ids)
loss = tf.reduce_mean(tf.square(e))
"""
STEP = "train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"


def converted(body: str) -> str:
    """The program with `body` before its training step, converted."""
    result = convert("model.py", HEAD + textwrap.dedent(body).lstrip() + STEP, Options())
    return result.converted


APART = {
    "scores in a name, an attribute and a list": """
        class Model:
            pass
        model = Model()
        model.scores = tf.matmul(e, W, transpose_b=True)
        fetches = [loss, tf.nn.top_k(model.scores, 5)]
        tf.Session().run(fetches)
        """,
    "scores of a function": """
        def scores_of(user, table):
            return tf.nn.softmax(tf.matmul(user, table, transpose_b=True))
        print(tf.Session().run(scores_of(e, W)))
        """,
    "the loss of an evaluation": """
        logits = tf.matmul(e, W[1:], transpose_b=True)
        test_loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        print(test_loss.eval())
        """,
    "a layer of the evaluation": """
        y = tf.layers.dense(tf.concat([W, tf.zeros([9, 1])], 1), 3, name="top")
        tf.summary.histogram("y", y)
        """,
    "a metric": """
        rank, update = tf.metrics.mean(tf.reduce_max(tf.matmul(e, W, transpose_b=True), 1))
        tf.summary.scalar("rank", rank)
        """,
    "predictions of a dict": """
        predictions = {"scores": tf.matmul(e, W, transpose_b=True), "rows": e}
        spec = tf.estimator.EstimatorSpec(mode, predictions=predictions, loss=loss)
        """,
    "a branch": """
        scores = tf.cond(flag, lambda: tf.matmul(e, W, transpose_b=True), lambda: tf.zeros([1, 9]))
        best = tf.argmax(scores, 1)
        """,
    "both parts of what a function gives": """
        mean, variance = tf.nn.moments(W, [0])
        tf.summary.scalar("mean", tf.reduce_mean(mean))
        """,
    "a copy": "copy = W.read_value()[1:]\ntf.summary.histogram('copy', copy)\n",
}

TRAINED = {
    "directly": "loss += tf.reduce_mean(tf.matmul(e, W, transpose_b=True))\n",
    "by a part of a tuple": """
        best, _ = tf.nn.top_k(tf.matmul(e, W, transpose_b=True), 3)
        loss = loss - tf.reduce_mean(best)
        """,
    "by an iteration": """
        for row in tf.unstack(tf.matmul(e, W, transpose_b=True), num=9, axis=1):
            loss = loss + tf.reduce_mean(row)
        """,
    "by a collection": """
        tf.add_to_collection("losses", tf.nn.l2_loss(W[1:]))
        loss = loss + tf.add_n(tf.get_collection("losses"))
        """,
    "by a loss of TensorFlow's collection": """
        tf.losses.sparse_softmax_cross_entropy(labels, tf.matmul(e, W, transpose_b=True))
        loss = tf.losses.get_total_loss()
        """,
    "by a branch": "loss = tf.cond(flag, lambda: tf.reduce_mean(tf.matmul(e, W)), lambda: loss)\n",
    "by a branch with a name": """
        def more():
            return tf.reduce_mean(tf.matmul(e, W, transpose_b=True))
        loss = tf.cond(flag, more, lambda: loss)
        """,
    "by a function that keeps what it is given": """
        class Model:
            kept = None
            def half(self, x):
                before, self.kept = self.kept, x
                return before * 2 if before is not None else x * 2
        model = Model()
        print(tf.Session().run(model.half(W * 2)))
        loss = loss + tf.reduce_mean(model.half(e))
        """,
    "by a function that keeps what it is given in a global name": """
        kept = []
        def half(x):
            kept.append(x * 2)
            return kept[0]
        print(tf.Session().run(half(W * 2)))
        loss = loss + tf.reduce_mean(half(e)[:3])
        """,
    "a function that the loss uses, too": """
        def half(x):
            mean, variance = tf.nn.moments(x, [0])
            return tf.concat([x - mean, tf.zeros_like(x)], 1) / 2
        loss = loss + tf.reduce_mean(half(e))
        print(tf.Session().run(half(W[1:])))
        """,
    "by one of two calls of a function": """
        def half(x):
            return x / 2
        print(tf.Session().run(half(W * 2)))
        loss = loss + tf.reduce_mean(half(tf.matmul(e, half(W * 3), transpose_b=True)))
        """,
    "by a function that collects what it is given": """
        def half(x):
            tf.add_to_collection("parts", x)
            return x / 2
        print(tf.Session().run(half(W * 2)))
        loss = loss + tf.reduce_mean(half(e)) + tf.reduce_mean(tf.get_collection("parts")[0])
        """,
    "by a function that remembers": """
        import functools
        @functools.lru_cache(None)
        def half(n=0):
            return given[0] / 2
        given = [W * 2]
        print(tf.Session().run(half()))
        given[0] = e
        loss = loss + tf.reduce_mean(half())
        """,
    "by what a caller of the caller trains": """
        def half(x):
            return x / 2
        def both(x):
            return half(x), half(e)
        scores, other = both(W * 2)
        loss = loss + tf.reduce_mean(scores[:3]) + tf.reduce_mean(other)
        print(tf.Session().run(half(e)))
        """,
    "by a library": "from losses import full\nloss = loss + full(labels, tf.matmul(e, W, transpose_b=True))\n",
    "by an object that goes to a library": """
        from losses import full
        class Model:
            pass
        model = Model()
        model.scores = tf.matmul(e, W, transpose_b=True)
        loss = loss + full(model)
        """,
    "by a loop": """
        _, loss = tf.while_loop(lambda i, l: i < 3, lambda i, l: (i + 1, l + tf.reduce_mean(W * W)), [0, loss])
        """,
    "by a map": """
        sums = tf.map_fn(lambda row: tf.reduce_sum(tf.matmul(row[None], W, transpose_b=True)), e)
        loss = loss + tf.reduce_mean(sums)
        """,
    "by a gradient": """
        g = tf.gradients(tf.reduce_sum(tf.matmul(e, W, transpose_b=True)), [e])[0]
        loss = loss + tf.reduce_mean(g)
        """,
    "by a sampled loss": "loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(W, b, labels, e, 2, 9))\n",
    "by a decorated function": """
        from wrappers import wrapped
        @wrapped
        def scores_of(table):
            return tf.matmul(e, table, transpose_b=True)
        loss = loss + tf.reduce_mean(scores_of(W))
        """,
    "by what a layer collects": """
        y = tf.layers.dense(tf.matmul(e, W, transpose_b=True), 1, activity_regularizer=tf.nn.l2_loss)
        tf.summary.scalar("y", tf.reduce_mean(y))
        loss = loss + tf.losses.get_regularization_loss()
        """,
    "by a string that is evaluated": "s = tf.matmul(e, W)\nloss = loss + eval('tf.reduce_mean(s)')\n",
    "by a name of the graph": """
        s = tf.matmul(e, W, transpose_b=True, name="scores")
        loss = loss + tf.reduce_mean(tf.get_default_graph().get_tensor_by_name("scores:0"))
        """,
}


@pytest.mark.parametrize("body", APART.values(), ids=APART)
@pytest.mark.one_case
def test_reads_apart_from_the_loss_become_all_rows(body: str) -> None:
    assert "all_rows(W" in converted(body) or "all_rows(table" in converted(body)


@pytest.mark.parametrize("last", [True, False], ids=["last", "first"])
def test_a_value_among_too_many_to_be_followed_may_get_into_the_loss(last: bool) -> None:
    others = "".join(f"print(half(tf.ones([9, 4]) * {number}))\n" for number in range(80))
    read = "twice = W * 2\ntf.summary.histogram('twice', twice)\nscores = half(twice)\n"
    calls = others + read if last else read + others
    body = f"def half(x):\n    return x / 2\n{calls}loss = loss + tf.reduce_mean(half(e))\n"
    assert "all_rows" not in converted(body)


FED = {"by itself": "sess.run(loss, {W: rows})\n", "beside others": "sess.run([loss], feed_dict={x: 1, W: rows})\n"}


@pytest.mark.parametrize("body", FED.values(), ids=FED)
def test_rows_that_are_fed_in_the_place_of_the_variable_keep_it(body: str) -> None:
    assert "all_rows" not in converted(body)


def test_what_nothing_uses_is_for_code_that_is_not_seen() -> None:
    assert "all_rows" not in converted("scores = tf.matmul(e, W, transpose_b=True)\n")


@pytest.mark.parametrize("body", TRAINED.values(), ids=TRAINED)
@pytest.mark.one_case
def test_what_may_get_into_the_loss_keeps_the_table(body: str) -> None:
    assert "all_rows" not in converted(body)


@pytest.mark.parametrize("ways", [FIRST[::5], pytest.param(GENERAL, marks=pytest.mark.soak)], ids=["some", "all"])
def test_a_value_gets_into_the_loss_by_every_way(ways: Sequence[Way]) -> None:
    given = [(way.name, way.given("tf.matmul(e, W, transpose_b=True)")) for way in ways]
    bodies = {name: f"{one.definitions}{one.binding}loss += tf.reduce_mean({one.read})\n" for name, one in given}
    assert [name for name, body in bodies.items() if "all_rows" in converted(body)] == []
