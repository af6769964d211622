"""Code that was not analysed, and uses the object of a variable without making an op."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import array_ops, gradients_util, ref_variable, resource_variable_ops, variables
from tensorflow.python.training import saver

from migrate.trace.child.program import Program
from migrate.trace.child.stacks import Stacks
from migrate.trace.child.state import Notes, Touch
from migrate.trace.child.touches import Touches

v1 = tf.compat.v1


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> Notes:
    """TensorFlow tells of touches while the test runs."""
    kinds = (resource_variable_ops.BaseResourceVariable, ref_variable.RefVariable)
    for owner, name in [
        *((kind, "__getattribute__") for kind in kinds),
        *((ops.Graph, name) for name in ("get_collection", "get_collection_ref")),
        *((array_ops, name) for name in ("shape_internal", "size_internal", "rank_internal")),
        *((gradients_util, "_GradientsHelper"), (variables.VariableMetaclass, "__instancecheck__")),
        (saver.Saver, "__init__"),
    ]:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    noted = Notes()
    Touches(noted, Stacks(Program(str(Path(__file__).parent)), {})).install()
    return noted


TOUCHES = {
    "weights.shape": "shape",
    "weights.initializer": "initializer",
    "hasattr(weights, 'assign')": "assign",
    "isinstance(weights, tf.Variable)": "__class__",
    "len(v1.trainable_variables())": "trainable_variables",
    "len(v1.global_variables())": "variables",
    "tf.gradients(loss, weights)": "gradients",
    "tf.shape(weights)": "shape",
    "v1.train.Saver({'mine': weights})": "Saver",
}


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize(("text", "name"), TOUCHES.items())
def test_a_touch(text: str, name: str, resource: bool, notes: Notes) -> None:
    with tf.Graph().as_default() as graph:
        weights = v1.get_variable("table", [20, 4], use_resource=resource)
        loss = tf.reduce_sum(tf.nn.embedding_lookup(weights, [1]))
        eval(text, {"tf": tf, "v1": v1, "weights": weights, "loss": loss})
    found = notes.touches[id(graph), "table"]
    assert [(one.name, bool(one.at)) for one in found if one.through == "<string>"][:1] == [(name, True)]


@pytest.mark.parametrize(
    "text", ["v1.train.Saver()", "v1.global_variables_initializer()", "tf.keras.layers.Dense(3)(inputs)"]
)
def test_functions_of_tensorflow_may_list(text: str, notes: Notes) -> None:
    """A table has what they do with each variable."""
    with tf.Graph().as_default():
        v1.get_variable("table", [20, 4])
        eval(text, {"tf": tf, "v1": v1, "inputs": tf.ones([2, 4])})
    assert not any(one.through for touches in notes.touches.values() for one in touches)


def test_what_tensorflow_reads_is_none(notes: Notes) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        weights = v1.get_variable("table", [20, 4])
        step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.nn.embedding_lookup(weights, [1])))
        v1.train.Saver()
        session.run(v1.global_variables_initializer())
        session.run(step)
    assert all(not one.through for touches in notes.touches.values() for one in touches)
    assert isinstance(next(iter(notes.touches[id(graph), "table"])), Touch)
