"""Variables of an arm that no run reaches: `tf.Variable(param[0])` where `param` is None at all calls, as in IRGAN."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from tests.support.source.converting import converted, reasons
from tests.support.source.idiom_runner import HEAD, compare

ARMS = """import numpy as np
import tensorflow.compat.v1 as tf
{before}
class Side:
    def __init__(self, pairs, param={default}):
        self.param = param
        if self.param == None:
            self.rows = tf.Variable(tf.random_uniform([20, 4], -0.5, 0.5, seed=3), name="rows")
            self.bias = tf.Variable(tf.zeros(20), name="bias")
        else:
            self.rows = tf.Variable({first})
            self.bias = tf.Variable(self.param[1])
        self.out = tf.nn.embedding_lookup(self.rows, pairs) + tf.expand_dims(tf.gather(self.bias, pairs), -1)
        self.loss = tf.reduce_mean(tf.square(self.out - 1.0))
        self.params = [self.rows, self.bias]
        self.step = tf.train.GradientDescentOptimizer(0.5).minimize(self.loss, var_list=self.params)
"""
BUILD = HEAD.partition("\n\n")[2].partition("    W = ")[0]
END = "\n    return side.out, side.loss, side.step\n"
GIVEN = {"before": "", "default": "None", "first": "self.param[0]", "call": "    side = Side(pairs)"}


def program(words: dict[str, str]) -> str:
    given = {**GIVEN, **words}
    return ARMS.format(**given) + BUILD + given["call"] + END


NONE = {
    "the default": {},
    "an argument": {"call": "    side = Side(pairs, param=None)"},
    "a constant of the module": {"before": "PARAM = None", "call": "    side = Side(pairs, PARAM)"},
    "in a call": {"first": "tf.constant(self.param[0])"},
}
MATRIX = "[np.ones([20, 4], np.float32), np.zeros(20, np.float32)]"
OTHERS = {
    "one call gives a matrix": {"call": f"    side, other = Side(pairs), Side(pairs, {MATRIX})"},
    "set by a function": {
        "before": f"def fill(side):\n    side.param = {MATRIX}",
        "call": "    side = Side(pairs)\n    fill(side)",
    },
    "an argument of the command line": {"before": "import sys", "call": "    side = Side(pairs, sys.argv or None)"},
    "nothing that is read gives it": {"call": "    side = make(pairs)", "before": "from shop import make"},
}


@pytest.mark.parametrize("words", NONE.values(), ids=NONE)
def test_the_other_arm_converts_and_computes_the_same(words: dict[str, str]) -> None:
    text = program(words)
    result = converted(text)
    assert "is left as it is: no run of the program makes it" in reasons(result)
    assert f"tf.Variable({words.get('first', GIVEN['first'])})" in result.converted
    compare(text, moved=("rows", "bias"))


@pytest.mark.parametrize("words", OTHERS.values(), ids=OTHERS)
def test_an_arm_that_may_be_reached_keeps_the_table(words: dict[str, str]) -> None:
    text = program(words)
    assert converted(text).converted == text


def test_a_condition_in_the_argument_may_leave_the_item_out() -> None:
    result = converted(program({"first": "self.param[0] if self.param else tf.ones([20, 4])"}))
    assert "self.bias = create_table(" in result.converted
    assert "self.rows = create_table(" not in result.converted
