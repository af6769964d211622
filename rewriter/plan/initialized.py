"""Redirects queries whether a variable is initialized to the table that replaced it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rewriter._tf_private import parts_of
from rewriter.analysis.savers import server_of
from rewriter.facts import Table
from rewriter.graph.view import GraphView, Use
from rewriter.patterns.branches import ASKS
from rewriter.plan.parts import part
from rewriter.plan.plan import ControlEdit, InputEdit
from runtime.table.table import Table as RuntimeTable


def asked_in_place(view: GraphView, table: Table) -> Iterator[Use]:
    """Yield the queries of the table's variables and slots themselves, not of copies passed into a branch or loop."""
    for variable in table.variables:
        yield from (use for use in view.users(variable) if use.input == 0 and view.type(use.op) in ASKS)


def asked(view: GraphView, table: Table) -> tuple[list[InputEdit], list[ControlEdit]]:
    """Return the edits that redirect these queries to the table."""
    inputs, controls = [], []
    for use in asked_in_place(view, table):
        variable = view.inputs(use.op)[0].op
        started = part(table, f"started/{view.type(use.op)}/{server_of(view, table, variable)}")
        inputs.append(started.read(use, str(view.inputs(use.op)[0]), same_shape=False))
        if view.type(use.op) == ASKS[1]:
            controls.append(started.awaited(use.op, member="/known"))
    return inputs, controls


def started_parts(table: str, runtime_table: RuntimeTable, reference: bool) -> dict[str, tf.Tensor | tf.Operation]:
    """Return what is initialized once the table is, by the plan's part names; for each shard that it has on servers.

    A ref variable is initialized once the op `known` has run; its queries wait for that op.
    """
    started: dict[str, tf.Tensor | tf.Operation] = {}
    for number, anchor in enumerate(runtime_table.variables):
        with tf.device(anchor.device):
            started |= _started(table, number, anchor, reference)
    return started


def _started(table: str, number: int, anchor: Any, reference: bool) -> dict[str, tf.Tensor | tf.Operation]:
    resource, on_reference = (f"{table}/started/{kind}/{number}" for kind in ASKS)
    # Initializers set the anchor last, so a branch that asks for it may read the table at once. A distributed variable
    # only has a handle inside of a replica.
    handle = parts_of(anchor)[0].handle
    started: dict[str, tf.Tensor | tf.Operation] = {resource: handle}
    if reference:
        flag = tf.raw_ops.VariableV2(shape=None, dtype=tf.float32)  # replaces variables of any shape
        filled = tf.raw_ops.VarIsInitializedOp(resource=handle)
        no, yes = tf.raw_ops.Switch(data=tf.constant(0.0), pred=filled)
        known = tf.raw_ops.Merge(inputs=[no, tf.raw_ops.Assign(ref=flag, value=yes, validate_shape=False)])
        started |= {on_reference: flag, f"{on_reference}/known": known.output.op}
    return started
