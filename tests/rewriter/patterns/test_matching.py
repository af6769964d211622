"""Patterns: names that come twice, and the reason why one does not match."""

from __future__ import annotations

import tensorflow as tf

from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.matching import ANY, Match, Mismatch, match, node


def _view(graph: tf.Graph) -> GraphView:
    x, y = (tf.compat.v1.placeholder(tf.float32, [], name) for name in "xy")
    tf.multiply(x, x, name="xx")
    tf.multiply(x, y, name="xy")
    tf.add(tf.sqrt(x, name="root"), y, name="sum")
    return GraphView.of(graph)


def test_a_name_stands_for_one_tensor(graph: tf.Graph) -> None:
    view, pattern = _view(graph), node("Mul", "a", "a")
    assert match(view, "xx", pattern) == Match({"a": Tensor("x")}, {})
    assert match(view, "xy", pattern) == Mismatch("y", "it is not `x:0`, which is the a elsewhere")
    assert match(view, "xy", node("Mul", ANY, ANY))


def test_the_reason_is_where_it_fails(graph: tf.Graph) -> None:
    swapped = node("AddV2", "other", node("Sqrt", "inner", label="root"))
    assert match(_view(graph), "sum", swapped) == Mismatch("y", "it is Placeholder, not Sqrt")
