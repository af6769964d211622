"""What callers of callers say holds however many functions are between: nobody stops asking."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, converted

FED = "ids = tf.placeholder(tf.int64, [None])\n"
MODEL = """\
def f0():
    W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
    e = tf.nn.embedding_lookup(W, ids)
    return tf.reduce_sum(e) + tf.losses.get_regularization_loss()
"""
STEP = "tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
SCOPE = 'with tf.variable_scope("s", regularizer=tf.keras.regularizers.l2(0.1)):\n    loss = f{0}()\n' + STEP
TRAINED = """\
W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids))
def f0():
    return tf.train.AdagradOptimizer(0.1).minimize(loss)
"""


def _deep(text: str, last: str, calls: int) -> str:
    chain = "".join(f"def f{one + 1}():\n    return f{one}()\n" for one in range(calls))
    return HEAD + FED + text + chain + last.format(calls)


def test_a_regularizer_of_a_scope_far_above_is_that_of_the_table() -> None:
    assert "tf.get_variable_scope().regularizer)" in converted(_deep(MODEL, SCOPE, 1)).converted
    assert "create_table" not in converted(_deep(MODEL, SCOPE, 14)).converted  # its name is not known either


@pytest.mark.parametrize("calls", [1, 9])
def test_a_step_that_a_loop_far_above_makes_again_keeps_the_table(calls: int) -> None:
    assert "create_table" not in converted(_deep(TRAINED, "for _ in range(2):\n    op = f{0}()\n", calls)).converted
