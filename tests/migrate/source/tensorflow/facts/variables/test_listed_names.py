"""Names of the variables of a scope's list: read from a checkpoint, they are those of no table elsewhere."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, STEP, converted, reasons

MADE = """ids = tf.placeholder(tf.int64, [None])
with tf.variable_scope("rows"):
    W = tf.Variable(tf.random_normal([9, 4]), name="w")
    e = tf.nn.embedding_lookup(W, ids)
with tf.variable_scope("dense"):
    loss = tf.reduce_sum(tf.layers.dense(e, 1))
"""
LISTED = "found = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope={})\n"
READ = LISTED + "old = tf.train.load_variable(path, found[0].name)\n"
LOADED = "may read this variable by its name"
#: Code that reads from a checkpoint -> whether the name may be the table's.
READS = {
    "a list of another scope": (READ.format('"dense"'), False),
    "through a name": (
        READ.format('"dense"').replace("found[0].name", "v.name").replace("old", "v = found[0]\nold"),
        False,
    ),
    "its own scope": (READ.format('"rows"'), True),
    "the beginning of its scope": (READ.format('"r"'), True),
    "a scope in its own": (READ.format('"rows/w"'), True),
    "a regular expression": (READ.format('".*dense"'), True),
    "a computed scope": (READ.format("kind"), True),
    "every variable": (READ.format("None"), True),
    "a list of another kind": ("old = tf.train.load_variable(path, names[0].name)\n", True),
    "one of two lists": ("if flag:\n    found = tf.global_variables()\nelse:\n    " + READ.format('"dense"'), True),
    "in a name scope": ('with tf.name_scope("dense"):\n    pass\n' + READ.format('"dense"'), True),
    "beside layers": ("class Net(tf.keras.layers.Layer):\n    pass\n" + READ.format('"dense"'), True),
}


@pytest.mark.parametrize(("code", "may"), READS.values(), ids=READS)
def test_names_of_a_list(code: str, may: bool) -> None:
    assert (LOADED in reasons(converted(HEAD + MADE + STEP + code))) is may


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
