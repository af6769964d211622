"""Whether a table has its first rows: what answers who asks whether a variable that became one is initialized."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from rewriter._tf_private import parts_of
from rewriter.facts import Table
from rewriter.graph.view import GraphView, Use
from rewriter.patterns.branches import ASKS
from rewriter.plan.plan import ControlEdit, InputEdit
from runtime.table.table import Table as RuntimeTable

__all__ = ["asked", "asked_in_place", "started_parts"]


def asked_in_place(view: GraphView, table: Table) -> Iterator[Use]:
    """Yield who asks a variable of the table, or a slot, itself: not one that was carried into a branch or loop."""
    for variable in table.variables:
        yield from (use for use in view.users(variable) if use.input == 0 and view.type(use.op) in ASKS)


def asked(view: GraphView, table: Table) -> tuple[list[InputEdit], list[ControlEdit]]:
    """Return the edits by which these ask whether the table was filled instead."""
    inputs, controls = [], []
    for use in asked_in_place(view, table):
        part = f"{table.name}/started/{view.type(use.op)}"
        inputs.append(InputEdit(use, str(view.inputs(use.op)[0]), part, same_shape=False))
        if view.type(use.op) == ASKS[1]:
            controls.append(ControlEdit(use.op, (), f"{part}/known"))
    return inputs, controls


def started_parts(table: str, made: RuntimeTable, reference: bool) -> dict[str, tf.Tensor | tf.Operation]:
    """Return what is initialized when the table is, by the names that the plan has for it.

    A reference is so once the op `known` has run, for which who asks waits.
    """
    resource, on_reference = (f"{table}/started/{kind}" for kind in ASKS)
    handle = parts_of(made.filled)[0].handle  # a strategy's variable has one only inside of a replica
    found = {resource: handle}
    if reference:
        flag = tf.raw_ops.VariableV2(shape=None, dtype=tf.float32)  # stands for variables of any shape
        filled = tf.raw_ops.VarIsInitializedOp(resource=handle)
        no, yes = tf.raw_ops.Switch(data=tf.constant(0.0), pred=filled)
        known = tf.raw_ops.Merge(inputs=[no, tf.raw_ops.Assign(ref=flag, value=yes, validate_shape=False)])
        found |= {on_reference: flag, f"{on_reference}/known": known.output.op}
    return found
