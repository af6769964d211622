"""Views of graphs, and the reasons why a variable stays in them."""

from __future__ import annotations

import pytest
import tensorflow as tf

from rewriter.graph.reasons import reason_of
from rewriter.graph.view import GraphView, Tensor, Use


def _square(graph: tf.Graph) -> GraphView:
    x = tf.compat.v1.placeholder(tf.float32, [2, 3], "x")
    with tf.control_dependencies([tf.no_op("before")]):
        tf.multiply(x, x, name="square")
    return GraphView.of(graph)


def test_an_op_that_reads_a_tensor_twice_is_two_uses(graph: tf.Graph) -> None:
    view = _square(graph)
    assert view.uses(Tensor("x")) == [Use("square", 0), Use("square", 1)]
    assert view.inputs("square") == (Tensor("x"), Tensor("x"))
    assert (view.controls("square"), view.waiting("before")) == (("before",), ["square"])
    assert view.shape(Tensor("square")).as_list() == [2, 3]


def test_numbers_are_found_without_spreading_them_out(graph: tf.Graph) -> None:
    large = tf.fill([1 << 30, 1 << 30], 0.1, name="large")
    tf.multiply(tf.ones([3]), 0.1, name="product")
    tf.constant([1.0, 2.0], name="mixed")
    tf.zeros([5000], name="zeros")
    view = GraphView.of(graph)
    assert view.number(Tensor(large.op.name)) == pytest.approx(0.1)
    assert view.number(Tensor("product")) == pytest.approx(0.1)
    assert view.number(Tensor("zeros")) == 0
    assert view.number(Tensor("mixed")) is None


def test_an_input_that_no_node_gives_is_refused(graph: tf.Graph) -> None:
    _square(graph)
    definition = graph.as_graph_def()
    del definition.node[0]
    with pytest.raises(ValueError, match="`square` reads `x`, which is not in the graph"):
        GraphView(definition)


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
