"""Where gradient tapes record, and whether loops lie between; tests/runtime/test_private_names.py guards the names."""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import imperative_grad
from tensorflow.python.eager import record as tape_record
from tensorflow.python.ops.control_flow_v2_func_graphs import ControlFlowFuncGraph, WhileBodyFuncGraph


class _Recording(threading.local):
    """The tapes of a thread that record, the last begun behind, each with the graph in which it began."""

    def __init__(self) -> None:
        self.tapes: list[tuple[Any, tf.Graph | None]] = []


_recording = _Recording()


def records() -> bool:
    """Whether a tape of this thread records."""
    return bool(_recording.tapes)


def gradients(tape: Any, targets: list[Any], sources: list[Any], factors: list[Any]) -> list[Any]:
    """Return what `tape.gradient` returns for lists of tensors, and of handles in the place of variables.

    It takes as long to look through what it is given as eager code to compute gradients of two layers.
    """
    computed: list[Any] = imperative_grad.imperative_grad(tape._tape, targets, sources, factors)
    return computed


def record(name: str, outputs: list[Any], inputs: list[Any], backward: Any) -> None:
    """Record that outputs were computed from inputs, whose gradients `backward` returns for those of all outputs."""
    tape_record.record_operation(name, outputs, inputs, backward)


#: A block in which no tape records.
unrecorded = tape_record.stop_recording


def for_own_gradient() -> bool:
    """Whether TensorFlow makes a tensor of a variable that a function with a gradient of its own has used.

    That function, such as `tf.recompute_grad`, has returned by then, so that no code of the program reads the tensor.
    """
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tensorflow."):
        if frame.f_code.co_name in ("_eager_mode_decorator", "_graph_mode_decorator"):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def around_loops() -> tf.Graph | None:
    """Return the graph of the tape that records, if loops of a `tf.function` lie between it and the ops made now.

    TensorFlow makes the gradient of a variable dense where it leaves such a loop.
    """
    if tf.executing_eagerly() or not _recording.tapes:
        return None
    began, graph, loops = _recording.tapes[-1][1], tf.compat.v1.get_default_graph(), False
    while graph is not began and isinstance(graph, ControlFlowFuncGraph):
        loops = loops or isinstance(graph, WhileBodyFuncGraph)
        graph = graph.outer_graph
    return graph if loops and graph is began else None


def _noted() -> None:
    """Note each tape that begins or ends to record."""
    kind: Any = tf.GradientTape
    begin, end = kind._push_tape, kind._pop_tape

    @functools.wraps(begin)
    def push_tape(self: Any) -> None:
        begin(self)
        _recording.tapes.append((self, None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()))

    @functools.wraps(end)
    def pop_tape(self: Any) -> None:
        end(self)
        _recording.tapes = [pair for pair in _recording.tapes if pair[0] is not self]

    kind._push_tape, kind._pop_tape = push_tape, pop_tape


_noted()
