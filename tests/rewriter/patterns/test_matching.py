"""Patterns: names that come twice, order of inputs, and the reason why one does not match."""

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
    assert match(view, "xy", pattern) == Mismatch("y", "it is not `x:0`, which is the a elsewhere", 1)
    assert match(view, "xy", node("Mul", ANY, ANY))


def test_inputs_are_tried_in_any_order_only_where_they_commute(graph: tf.Graph) -> None:
    view = _view(graph)
    swapped = node("AddV2", "other", node("Sqrt", "inner", label="root"))
    assert match(view, "sum", swapped) == Mismatch("y", "it is Placeholder, not Sqrt", 1)
    commuting = node("AddV2", "other", node("Sqrt", "inner", label="root"), commutes=True)
    assert match(view, "sum", commuting) == Match({"other": Tensor("y"), "inner": Tensor("x")}, {"root": "root"})


def test_the_reason_is_that_of_the_order_that_got_furthest(graph: tf.Graph) -> None:
    pattern = node("Add|AddV2", "other", node("Sqrt", node("Square")), commutes=True)
    assert match(_view(graph), "sum", pattern) == Mismatch("x", "it is Placeholder, not Square", 2)
