"""Routes a stand-in for a replaced variable into the branches and loops that the variable was passed into."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.facts import Table
from rewriter.patterns.branches import ENTRIES, READS, SWITCHES


class StandIn:
    """A constant routed like a variable: dead in a branch when the variable is, and once in each loop."""

    def __init__(self, value: tf.Tensor) -> None:
        """Take the constant, which must be created outside of all control flow."""
        self._value = value
        self._carried: dict[str, Any] = {}

    def of(self, tensor: tf.Tensor) -> tf.Tensor:
        """Return the stand-in for a tensor that carries the variable."""
        op = tensor.op
        if op.type in READS:
            return self.of(op.inputs[0])
        if op.type not in (*SWITCHES, *ENTRIES):
            return self._value
        if op.name not in self._carried:
            self._carried[op.name] = self._carry(op)
        return self._carried[op.name][tensor.value_index]

    def _carry(self, op: tf.Operation) -> list[tf.Tensor]:
        with _tf_private.control_flow_of(op) as inside:
            if inside:  # the control-flow context carries outer tensors in, as it carried the variable
                return list(tf.identity(self._value).op.inputs[0].op.outputs)
            data = self.of(op.inputs[0])
            if op.type in SWITCHES:
                return list(tf.raw_ops.Switch(data=data, pred=op.inputs[1]))
            settings = {name: op.get_attr(name) for name in ("frame_name", "is_constant", "parallel_iterations")}
            return [tf.raw_ops.Enter(data=data, **settings)]


def carried_from(tensor: tf.Tensor) -> tf.Operation:
    """Return the op that a carried tensor comes from: the variable, if it carries one."""
    while tensor.op.type in (*READS, *SWITCHES, *ENTRIES):
        tensor = tensor.op.inputs[0]
    return tensor.op


def carried_parts(graph: tf.Graph, table: Table) -> dict[str, tf.Tensor]:
    """Return what to wait for instead of each carrier of a table, by the plan's part names."""
    if not table.carriers:
        return {}
    stand_in = StandIn(tf.constant(True))
    carriers = ((op, graph.get_operation_by_name(op).outputs[0]) for op in table.carriers)
    return {f"{table.name}/carried/{op}": stand_in.of(tensor) for op, tensor in carriers}
