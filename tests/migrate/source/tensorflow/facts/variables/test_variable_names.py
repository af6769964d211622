"""Names that a program gives variables by constants of TensorFlow."""

from __future__ import annotations

from tests.support.source.converting import HEAD, STEP, converted

CELLS = "from tensorflow.python.ops.rnn_cell_impl import _WEIGHTS_VARIABLE_NAME\n"
REUSED = (
    "ids = tf.placeholder(tf.int64, [None])\n"
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
    'with tf.variable_scope("", reuse=tf.AUTO_REUSE):\n    k = tf.get_variable(_WEIGHTS_VARIABLE_NAME, [9, 4])\n'
    "loss = tf.reduce_sum(e)\n"
)


def test_names_that_cells_of_tensorflow_give_are_known() -> None:
    assert converted(HEAD + CELLS + REUSED + STEP).changed
    for other in (CELLS.replace("tensorflow.python.ops.rnn_cell_impl", "cells"), CELLS.replace("_WEIGHTS", "_OTHER")):
        code = REUSED.replace("_WEIGHTS", "_OTHER") if "_OTHER" in other else REUSED
        assert not converted(HEAD + other + code + STEP).changed
    assert not converted(HEAD + CELLS + REUSED.replace('"w"', '"kernel"') + STEP).changed
