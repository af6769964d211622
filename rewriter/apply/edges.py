"""Moves single edges of a live tf.Graph, and remembers how to take that back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import tensorflow as tf

from rewriter import _tf_private
from rewriter.checks.invariants import RewriteError
from rewriter.plan.plan import ControlEdit, InputEdit

__all__ = ["edit_controls", "edit_input"]


def edit_input(graph: tf.Graph, edit: InputEdit, new: tf.Tensor, undo: contextlib.ExitStack) -> None:
    """Let a data input read `new`.

    Raises:
        RewriteError: it is of another type than what was read before.
    """
    op = graph.get_operation_by_name(edit.use.op)
    old = op.inputs[edit.use.input]
    if new.dtype != old.dtype:
        raise RewriteError(f"`{op.name}` reads {old.dtype.name} and would read {new.dtype.name} at {edit.use.input}")
    undo.callback(_tf_private.update_input, op, edit.use.input, old)
    _tf_private.update_input(op, edit.use.input, new)


def edit_controls(
    graph: tf.Graph, edits: Iterable[tuple[ControlEdit, tf.Operation]], undo: contextlib.ExitStack
) -> None:
    """Let ops wait for the new ones instead of the old ones.

    All edits of an op are made at once: the initializer of a graph waits for all variables, and each may edit it.
    """
    by_op: dict[str, list[tuple[ControlEdit, tf.Operation]]] = {}
    for edit, new in edits:
        by_op.setdefault(edit.op, []).append((edit, new))
    for name, own in by_op.items():
        op = graph.get_operation_by_name(name)
        before = list(op.control_inputs)
        gone = {old for edit, _ in own for old in edit.old}
        kept = [one for one in before if one.name not in gone]
        undo.callback(_tf_private.replace_controls, op, before)
        _tf_private.replace_controls(op, list(dict.fromkeys([*kept, *(new for _, new in own)])))
