"""Changes single edges of a live tf.Graph and records how to undo that."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import tensorflow as tf

from rewriter import _tf_private
from rewriter.checks.invariants import RewriteError
from rewriter.plan.plan import ControlEdit, InputEdit


def edit_input(graph: tf.Graph, edit: InputEdit, new: tf.Tensor, undo: contextlib.ExitStack) -> None:
    """Let a data input read `new`.

    Raises:
        RewriteError: `new` has another type than the tensor that was read before.
    """
    op = graph.get_operation_by_name(edit.use.op)
    old = op.inputs[edit.use.input]
    if new.dtype != old.dtype:
        raise RewriteError(f"`{op.name}` reads {old.dtype.name} at {edit.use.input} and would read {new.dtype.name}")
    undo.callback(_tf_private.update_input, op, edit.use.input, old)
    _tf_private.update_input(op, edit.use.input, new)


def edit_controls(
    graph: tf.Graph, edits: Iterable[tuple[ControlEdit, tf.Operation]], undo: contextlib.ExitStack
) -> None:
    """Replace control inputs of ops by new ones.

    All edits of one op are applied at once: the initializer of a graph waits for all variables, each with an edit.
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
