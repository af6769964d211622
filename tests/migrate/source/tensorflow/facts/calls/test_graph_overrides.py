"""Scopes of a graph that give ops other gradients: a lookup under one keeps its table, and only such a lookup."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
from tests.support.source.converting import converted, reasons
from tests.support.source.scripts import shown

HEAD = """import contextlib
import tensorflow.compat.v1 as tf
graph = tf.get_default_graph()
try:
    @tf.RegisterGradient("RecTestNegated")
    def negated(op, grad):
        return -2.0 * grad
except KeyError:
    pass
MAP = {"Identity": "RecTestNegated"}
ids = tf.constant([1, 2], tf.int64)
W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5), use_resource=True)
def build():
    return inner()
def inner():
    return tf.nn.embedding_lookup(W, ids)
class Model:
    def __init__(self):
        self.rows = tf.nn.embedding_lookup(W, ids)
@contextlib.contextmanager
def own():
    with graph.gradient_override_map(MAP):
        yield
"""
TAIL = """
op = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(e)))
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    s.run(op)
    show(s.run(e))
"""
PLAIN = "e = tf.nn.embedding_lookup(W, ids)"
#: Where the scope is around the lookup, and where it is beside it.
AROUND = {
    "with": f"with graph.gradient_override_map(MAP):\n    {PLAIN}",
    "a function": "with graph.gradient_override_map(MAP):\n    e = build()",
    "an object": "with graph.gradient_override_map(MAP):\n    e = Model().rows",
    "own manager": f"with own():\n    {PLAIN}",
    "a stack": "with contextlib.ExitStack() as stack:\n    stack.enter_context(graph.gradient_override_map(MAP))\n"
    f"    {PLAIN}",
    "by hand": f"scope = graph.gradient_override_map(MAP)\nscope.__enter__()\n{PLAIN}\n"
    "scope.__exit__(None, None, None)",
    "by its name": f"opened = graph.gradient_override_map\nwith opened(MAP):\n    {PLAIN}",
}
BESIDE = {
    "before": f"{PLAIN}\nwith graph.gradient_override_map(MAP):\n    loss = tf.identity(tf.constant(1.0))",
    "other scopes": f'with tf.name_scope("n"), tf.device("/cpu:0"), graph.as_default():\n    {PLAIN}',
}


@pytest.mark.parametrize("lookup", [*AROUND.values(), *BESIDE.values()], ids=[*AROUND, *BESIDE])
@pytest.mark.each_case
def test_a_lookup_under_another_gradient_stays(lookup: str) -> None:
    head = HEAD if "own()" in lookup else HEAD[: HEAD.index("@contextlib")]
    step = float(shown(head + lookup + TAIL)[0][0, 0]) - 0.5
    overridden = step > 0.0  # the gradient is negated: stock TensorFlow decides
    assert overridden == (lookup in AROUND.values())
    result = converted(head + lookup + TAIL)
    assert ("create_table(" in result.converted) != overridden, reasons(result)
    assert ("a table has ops of its own" in reasons(result)) == overridden
