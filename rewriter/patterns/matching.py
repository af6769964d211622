"""Patterns over a GraphView: expressions of op types with named tensors; a mismatch says where and why.

`node("RealDiv", node("Mul", "rate", "momentum"), node("AddV2|Add", node("Sqrt", "variance"), "epsilon"))` reads like
the expression. Equal names must match the same tensor; ANY matches any tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rewriter.graph.view import GraphView, Tensor

#: Matches any tensor without naming it.
ANY = "_"


@dataclass(frozen=True)
class Node:
    """An op of one of these types, with patterns for its data inputs; `label` names the op in the match."""

    types: tuple[str, ...]
    inputs: tuple[Pattern, ...] | None
    label: str


Pattern: TypeAlias = "Node | str"


def node(types: str, *inputs: Pattern, label: str = "") -> Node:
    """Return the pattern of an op: types separated by `|`; without inputs, any inputs match."""
    return Node(tuple(types.split("|")), inputs or None, label)


@dataclass(frozen=True)
class Match:
    """The tensors and ops that the names of a pattern matched."""

    tensors: Mapping[str, Tensor]
    ops: Mapping[str, str]

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True)
class Mismatch:
    """The op at which a pattern failed, and why."""

    op: str
    reason: str

    def __bool__(self) -> bool:
        return False


def match(view: GraphView, op: str, pattern: Node) -> Match | Mismatch:
    """Match `op` and what it is computed from with `pattern`."""
    return _match_op(view, op, pattern, Match({}, {}))


def _match_op(view: GraphView, op: str, pattern: Node, known: Match) -> Match | Mismatch:
    if view.type(op) not in pattern.types:
        return Mismatch(op, f"it is {view.type(op)}, not {' or '.join(pattern.types)}")
    if pattern.label:
        if known.ops.get(pattern.label, op) != op:
            return Mismatch(op, f"it is not `{known.ops[pattern.label]}`, which is the {pattern.label} elsewhere")
        known = Match(known.tensors, {**known.ops, pattern.label: op})
    if pattern.inputs is None:
        return known
    inputs = view.inputs(op)
    if len(inputs) != len(pattern.inputs):
        return Mismatch(op, f"it has {len(inputs)} inputs, not {len(pattern.inputs)}")
    for tensor, expected in zip(inputs, pattern.inputs, strict=True):
        result = _match_tensor(view, tensor, expected, known)
        if isinstance(result, Mismatch):
            return result
        known = result
    return known


def _match_tensor(view: GraphView, tensor: Tensor, pattern: Pattern, known: Match) -> Match | Mismatch:
    if isinstance(pattern, Node):
        return _match_op(view, tensor.op, pattern, known)
    if pattern == ANY:
        return known
    if known.tensors.get(pattern, tensor) != tensor:
        return Mismatch(tensor.op, f"it is not `{known.tensors[pattern]}`, which is the {pattern} elsewhere")
    return Match({**known.tensors, pattern: tensor}, known.ops)
