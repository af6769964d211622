"""Attributes of the ops that tables replace: each is preserved, refused, or known to have no effect on a table."""

from __future__ import annotations

from rewriter import _tf_private
from rewriter.graph.view import GraphView

#: Attributes that the patterns read; each is preserved or refused, depending on its value.
KEPT = {
    "batch_dims": "a gather along other axes than rows is refused",
    "use_nesterov": "a hyperparameter of the table's rule",
    "update_slots": "a step that does not update the accumulator is refused",
    "shape": "the table's rows and dim",
    "num_partitions": "the number of parts of the variable",
    "N": "the number of parts of the variable",
}
#: Attributes that do not affect what a table computes, with the reason.
NO_EFFECT = {
    "use_locking": "rows of a table are always read and written whole",
    "validate_indices": "TensorFlow ignores it",
    "container": "a table belongs to its session, not to a container that outlives it",
    "shared_name": "a variable that shares its name with another is refused",
    "debug_name": "it is only a name",
    "allowed_devices": "rows are on the CPU, and copied where they are read",
    "validate_shape": "assigned rows must have the variable's shape, or the assignment fails",
    "out_idx": "the values are the same in either type",
    "sparse_gradient": "it affects how gradients are built, and they are in the graph already",
}


def strange_setting(view: GraphView, op: str) -> str:
    """Return the first attribute of an op, as `name=value`, that no rule covers; an empty string if there is none.

    Attributes with a leading underscore (`_class`, `_XlaCompile`, `_output_shapes`) only say where and how an op runs.
    """
    for name, value, usual in _tf_private.settings_of(view.nodes[op]):
        if name not in KEPT and name not in NO_EFFECT and value != usual:
            return f"{name}={value}"
    return ""
