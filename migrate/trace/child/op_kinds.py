"""What an op does with a variable that it is handed, by its type and the input."""

from __future__ import annotations

import re
from typing import Any

#: Ops that hand input 0 on: as a handle, a reference, or the value that was read.
PASSES = frozenset(
    {
        *("Identity", "RefIdentity", "StopGradient", "PreventGradient", "Snapshot", "ReadVariableOp"),
        *(f"{ref}{kind}" for ref in ("", "Ref") for kind in ("Enter", "Exit", "NextIteration", "Switch")),
    }
)
#: Ops that hand any of their inputs on, as output 0.
MERGES = frozenset(("Merge", "RefMerge"))
GATHERS = frozenset(("ResourceGather", "Gather", "GatherV2"))
_POOLED = re.compile(r"SparseSegment(Sum|Mean|SqrtN)(WithNumSegments)?$")
_OPTIMIZERS = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]")
_STEPS = re.compile(r"(Assign(Add|Sub)(VariableOp)?|(Resource)?Scatter(Nd)?(Add|Sub|Mul|Div|Min|Max|Update))$")
_ASSIGNMENTS = frozenset(("Assign", "AssignVariableOp", "AssignVariableXlaConcatND"))
_SAVES = frozenset(("Save", "SaveV2", "SaveSlices", "DisableCopyOnRead"))
_VALUELESS = frozenset(
    {
        *("Shape", "ShapeN", "Size", "Rank", "VariableShape", "VarIsInitializedOp", "IsVariableInitialized"),
        *("ZerosLike", "OnesLike", "DestroyResourceOp"),
    }
)


def kind_of(kind: str, place: int) -> str:
    """Return what an op of a type does with its input `place`, apart from optimizers: one of the record's kinds."""
    if kind in _VALUELESS:
        return "shape"
    if _OPTIMIZERS.match(kind):
        return "update"
    if kind in _SAVES:
        return "save"
    if place == 0 and (kind in _ASSIGNMENTS or _STEPS.match(kind)):
        return "assign"
    return "lookup" if place == 0 and (kind in GATHERS or _POOLED.match(kind)) else "whole"


def may_look_up(kind: str) -> bool:
    """Whether an op of a type takes rows of its first input by ids."""
    return kind_of(kind, 0) == "lookup"


def takes_steps(kind: str) -> bool:
    """Whether an op of a type is one of optimizers alone."""
    return _OPTIMIZERS.match(kind) is not None


def adds(kind: str) -> bool:
    """Whether an op of a type changes a variable by a difference, as updates that programs write themselves do."""
    return _STEPS.match(kind) is not None


def assigns(kind: str) -> bool:
    """Whether an op of a type sets a variable."""
    return kind in _ASSIGNMENTS


def gathers_rows(op: Any, constant_value: Any) -> bool:
    """Whether a gather takes rows: along axis 0, without batch dimensions. True of ops that cannot do otherwise."""
    if op.type == "GatherV2":
        axis = constant_value(op.inputs[2])
        if axis is None or int(axis) != 0:
            return False
    return not (op.type in ("GatherV2", "ResourceGather") and op.get_attr("batch_dims"))


def functions_of(op: Any) -> list[str]:
    """Return the names of the functions that an op calls."""
    found = []
    for value in op.node_def.attr.values():
        found += [one.name for one in (value.func, *value.list.func) if one.name]
    return found
