"""Reads of `layer.embeddings`, the whole matrix of a layer: which of them a table's rows can stand for.

The layer over a table has `embeddings` too: its rows, read where they are used. A gradient through them raises. So a
read is exact where it gives an array or a fact of the matrix; elsewhere it is assumed that no loss depends on it.
"""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.bindings import is_target
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of

#: Attributes that are facts of the matrix, or its rows as an array.
_FACTS = frozenset({"dtype", "get_shape", "ndim", "numpy", "shape"})
#: Attributes that are the matrix again, and its name, which is another for a table.
_SAME = frozenset({"name", "read_value", "value"})
#: Functions that take a gradient, or that give back what is no tensor without reading it.
_OTHERS = frozenset({"batch_jacobian", "get_value", "gradient", "gradients", "jacobian", "watch"})

#: Keys of refusals, of which the second has an assumption.
NEVER, PERHAPS = "matrix", "matrix-given"


def refused_read(file: File, read: cst.BaseExpression) -> str:
    """Return the key of the refusal of a read of `embeddings`; an empty text for a read that is exact."""
    flow = flow_of(file)
    mentions = {read, *(node for value in flow.values(read) for node in flow.mentions(value))}
    keys = {_refused_use(file, node) for node in mentions if not is_target(file.tree, node)}
    return NEVER if NEVER in keys else PERHAPS if PERHAPS in keys else ""


def _refused_use(file: File, node: cst.BaseExpression) -> str:
    """Return the key of the refusal of one expression that is the matrix."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Attribute) and around.value is node:
        return "" if around.attr.value in _FACTS else PERHAPS if around.attr.value in _SAME else NEVER
    if isinstance(around, cst.Subscript) and around.value is node:
        rows = file.tree.parent(around)
        return NEVER if isinstance(rows, cst.Attribute) and rows.attr.value.startswith("assign") else PERHAPS
    call = file.tree.call_with(node)
    if call is None:
        return PERHAPS
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _OTHERS:
        return NEVER
    imported, other = file.tree.imported_names(call.func)
    return "" if imported and not other and all(one.startswith("numpy.") for one in imported) else PERHAPS
