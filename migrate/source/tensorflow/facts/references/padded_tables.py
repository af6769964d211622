"""A row of zeros put next to a table, as code does it: `tf.concat([tf.zeros([1, D]), W[1:]], 0)` and the like."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none, literal
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File

RULE = "tf-zero-padding"
SHAPES = {"zeros": ("shape", "dtype", "name"), "constant": ("value", "dtype", "shape", "name", "verify_shape")}


@dataclass(frozen=True)
class Padding:
    """One concatenation of a table with a row of zeros."""

    call: cst.Call
    table: cst.BaseExpression  #: the mention of the table in the concatenation
    kind: str  #: `first`: the zeros replace row 0; `before`: ids are shifted by one; `last`: the zeros are row V


def padding_of(file: File, read: cst.BaseExpression) -> Padding | None:
    """Return the concatenation with a row of zeros in which `read` is the table; None if there is none.

    One with a `name` is a tensor that others may fetch. A target may have no padded tables.
    """
    if isinstance(read, cst.Call) or "zero_padded" not in file.target.functions:
        return None  # a call is a creation that is padded directly
    around = file.tree.parent(read)
    sliced = isinstance(around, cst.Subscript) and around.value is read and _all_but_first(around)
    part = around if sliced else read
    listed = file.tree.display_with(part)
    call = file.tree.call_with(listed)
    if call is None or not isinstance(listed, (cst.List, cst.Tuple)) or len(listed.elements) != 2:
        return None
    bound = bind(call, ("values", "axis", "name")) if file.names.of(call.func) == "concat" else None
    if bound is None or "axis" not in bound or literal(bound["axis"].value) != 0:
        return None
    if "values" not in bound or bound["values"].value is not listed:
        return None
    first = listed.elements[0].value is part
    other = listed.elements[1 if first else 0].value
    if not is_none(bound.get("name")) or not _is_zero_row(file, other) or (first and sliced):
        return None
    return Padding(call, read, "last" if first else "first" if sliced else "before")


def _all_but_first(node: cst.Subscript) -> bool:
    """True for `[1:]` and `[1:, :]`."""
    slices = [part.slice for part in node.slice]
    rows = slices[0] if slices else None
    if not isinstance(rows, cst.Slice) or literal(rows.lower) != 1 or rows.upper or rows.step:
        return False
    rest = slices[1:]
    return len(rest) < 2 and all(isinstance(s, cst.Slice) and not (s.lower or s.upper or s.step) for s in rest)


def _is_zero_row(file: File, node: cst.BaseExpression) -> bool:
    """True for `tf.zeros([1, D])` and `tf.constant(0.0, shape=[1, D])`."""
    call = resolve(file.tree, node)
    name = file.names.of(call.func) if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or name not in SHAPES:
        return False
    bound = bind(call, SHAPES[name])
    if bound is None or "shape" not in bound or (name == "constant" and literal(bound["value"].value) != 0):
        return False
    shape = resolve(file.tree, bound["shape"].value)
    return (
        isinstance(shape, (cst.List, cst.Tuple)) and len(shape.elements) == 2 and literal(shape.elements[0].value) == 1
    )
