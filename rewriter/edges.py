"""Moves single edges of a live tf.Graph, and remembers how to take that back."""

from __future__ import annotations

import contextlib

import tensorflow as tf

from rewriter import _tensorflow
from rewriter.checks import RewriteError
from rewriter.plan import ControlEdit, InputEdit

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
    undo.callback(_tensorflow.update_input, op, edit.use.input, old)
    _tensorflow.update_input(op, edit.use.input, new)


def edit_controls(graph: tf.Graph, edit: ControlEdit, new: tf.Operation, undo: contextlib.ExitStack) -> None:
    """Let an op wait for `new` instead of the old ones."""
    op = graph.get_operation_by_name(edit.op)
    before = list(op.control_inputs)
    undo.callback(_tensorflow.replace_controls, op, before)
    _tensorflow.replace_controls(op, [*(one for one in before if one.name not in edit.old), new])
