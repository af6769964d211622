"""Settings (attributes) of the ops that tables replace: each is kept, refused, or known to have no effect here."""

from __future__ import annotations

from rewriter import _tf_private
from rewriter.graph.view import GraphView

__all__ = ["KEPT", "NO_EFFECT", "strange_setting"]

#: What the patterns read themselves, and keep or refuse by its value.
KEPT = {
    "batch_dims": "a gather by more than rows is refused",
    "use_nesterov": "a number of the table's rule",
    "update_slots": "a step that leaves the accumulator is refused",
    "shape": "the table's rows and dim",
    "num_partitions": "as many as the parts of the variable",
    "N": "as many as the parts of the variable",
}
#: What has no effect on what a table computes, because:
NO_EFFECT = {
    "use_locking": "rows of a table are always read and written whole",
    "validate_indices": "TensorFlow ignores it",
    "container": "a table belongs to its session, not to a container that outlives it",
    "shared_name": "a variable that shares its name with another is refused",
    "debug_name": "it only names",
    "allowed_devices": "rows are on the CPU, and copied where they are read",
    "validate_shape": "the rows that are set must be as many as the variable's, or it fails",
    "out_idx": "the numbers are the same in either type",
    "sparse_gradient": "it chooses how gradients are built, which are in the graph already",
}


def strange_setting(view: GraphView, op: str) -> str:
    """Return a setting of an op, `name=value`, that nobody knows of a table; empty where there is none.

    Names with an underscore before them (`_class`, `_XlaCompile`, `_output_shapes`) tell where and how to run it.
    """
    for name, value, usual in _tf_private.settings_of(view.nodes[op]):
        if name not in KEPT and name not in NO_EFFECT and value != usual:
            return f"{name}={value}"
    return ""
