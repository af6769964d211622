"""Which of several calls on a line made a lookup."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.framework import ops

from migrate.trace.child.calls import Calls
from migrate.trace.child.program import Program
from migrate.trace.child.stacks import Stacks
from migrate.trace.child.state import Notes

v1 = tf.compat.v1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python does not know columns")
@pytest.mark.parametrize("resource", [True, False])
def test_a_call_is_known_by_its_end(resource: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops.Graph, "_create_op_internal", vars(ops.Graph)["_create_op_internal"])
    notes = Notes()
    Calls(notes, Stacks(Program(str(Path(__file__).parent)), {})).install()
    with tf.Graph().as_default() as graph:
        weights = v1.get_variable("table", [20, 4], use_resource=resource)
        tf.nn.embedding_lookup(weights, [1], name="one") + tf.gather(weights, [1], name="two")
    lines, first = inspect.getsourcelines(test_a_call_is_known_by_its_end)
    at, text = next((at, text) for at, text in enumerate(lines, first) if "+" in text)
    ends = {(at, text.index(") +") + 1), (at, len(text.rstrip()))}
    assert {end for (key, _), end in notes.ends.items() if key == id(graph)} == ends
