"""What TensorFlow does without the trace function, and what of a record is read once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.python.autograph.impl import api
from tensorflow.python.framework import auto_control_deps, meta_graph, op_def_library, ops
from tensorflow.python.training import saver

from migrate.trace.child import quiet
from migrate.trace.child.lines import Lines
from migrate.trace.child.program import Program
from migrate.trace.child.stacks import Stacks

v1 = tf.compat.v1
HERE = Path(__file__).parent


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The functions whose calls the trace function hears."""
    found: list[str] = []
    for owner, name in [
        *((saver.Saver, "build"), (saver.Saver, "save"), (text_format, "MessageToString")),
        *((ops.Graph, "as_graph_def"), (meta_graph, "stripped_op_list_for_graph")),
        *((op_def_library, "_apply_op_helper"), (api, "_convert_actual")),
        (auto_control_deps.AutomaticControlDependencies, "__exit__"),
    ]:
        monkeypatch.setattr(owner, name, vars(owner)[name])

    class Heard(Lines):
        def _called(self, frame: FrameType, _event: str, _given: Any) -> None:
            found.append(frame.f_code.co_name)

    lines = Heard(Program(str(HERE)))
    quiet.install(lines)
    before = sys.gettrace()
    sys.settrace(lines._called)
    yield found
    sys.settrace(before)


def graph() -> tf.Graph:
    with tf.Graph().as_default() as made:
        v1.get_variable("w", [4, 2])
    return made


#: A function of the library that the work calls, which is not heard.
WORK: dict[str, Callable[[tf.Graph], object]] = {
    "PrintMessage": lambda _: text_format.MessageToString(DEFINITION),
    "_as_graph_def": lambda made: made.as_graph_def(),
    "mark_op_as_used": lambda _: meta_graph.stripped_op_list_for_graph(DEFINITION),
}
DEFINITION = graph().as_graph_def()


@pytest.mark.parametrize(("inside", "work"), WORK.items(), ids=WORK)
def test_what_writes_a_graph_is_not_listened_to(
    inside: str, work: Callable[[tf.Graph], object], heard: list[str]
) -> None:
    """An Estimator writes its graph as text: three quarters of the calls that were heard in a short run."""
    made = graph()
    before = len(heard)
    work(made)
    calls = heard[before:]
    assert "around" in calls  # it was heard until then
    assert inside not in calls


def test_the_trace_of_an_op_is_read_once() -> None:
    class Op:
        reads = 0

        @property
        def traceback(self) -> list[Any]:
            self.reads += 1
            return []

    op, stacks = Op(), Stacks(Program(str(HERE)), {})
    assert stacks.of(op) is stacks.of(op)
    assert op.reads == 1
