"""The line of TensorFlow's messages that says what is wrong."""

from __future__ import annotations

import pytest
import tensorflow as tf

from rewriter.graph.reasons import reason_of

v1 = tf.compat.v1


def test_of_a_graph_it_is_what_the_op_says() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        checked = tf.debugging.check_numerics(tf.constant(float("nan")), "the loss")
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(checked)
    assert reason_of(raised.value) == "the loss : Tensor had NaN values"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("one\ntwo"), "one"),
        (ValueError("\n  one"), "one"),
        (KeyError(), "KeyError"),
        (ValueError("Graph execution error:\n\nthe end of the input"), "the end of the input"),
    ],
)
def test_of_others_it_is_the_first(error: Exception, expected: str) -> None:
    assert reason_of(error) == expected
