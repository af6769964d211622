"""Patterns over a GraphView: expressions of op types with named tensors; a mismatch says where and why.

`node("RealDiv", node("Mul", "rate", "momentum"), node("AddV2|Add", node("Sqrt", "variance"), "epsilon"))` reads like
the expression. Equal names must match the same tensor; ANY matches any tensor.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rewriter.graph.view import GraphView, Tensor

__all__ = ["ANY", "Match", "Mismatch", "Node", "Pattern", "match", "node"]

#: Matches any tensor without naming it.
ANY = "_"


@dataclass(frozen=True)
class Node:
    """An op of one of these types, with patterns for its data inputs; `label` names the op in the match."""

    types: tuple[str, ...]
    inputs: tuple[Pattern, ...] | None
    label: str
    commutes: bool


Pattern: TypeAlias = "Node | str"


def node(types: str, *inputs: Pattern, label: str = "", commutes: bool = False) -> Node:
    """Return the pattern of an op: types separated by `|`; without inputs, any inputs match."""
    return Node(tuple(types.split("|")), inputs or None, label, commutes)


@dataclass(frozen=True)
class Match:
    """The tensors and ops that the names of a pattern matched."""

    tensors: Mapping[str, Tensor]
    ops: Mapping[str, str]

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True)
class Mismatch:
    """The op at which a pattern failed, and why; `depth` is the number of ops matched before it."""

    op: str
    reason: str
    depth: int

    def __bool__(self) -> bool:
        return False


def match(view: GraphView, op: str, pattern: Node) -> Match | Mismatch:
    """Match `op` and what it is computed from with `pattern`; a mismatch is the deepest one over all input orders."""
    return _match_op(view, op, pattern, Match({}, {}), 0)


def _match_op(view: GraphView, op: str, pattern: Node, known: Match, depth: int) -> Match | Mismatch:
    if view.type(op) not in pattern.types:
        return Mismatch(op, f"it is {view.type(op)}, not {' or '.join(pattern.types)}", depth)
    if pattern.label:
        if known.ops.get(pattern.label, op) != op:
            return Mismatch(
                op, f"it is not `{known.ops[pattern.label]}`, which is the {pattern.label} elsewhere", depth
            )
        known = Match(known.tensors, {**known.ops, pattern.label: op})
    if pattern.inputs is None:
        return known
    inputs = view.inputs(op)
    if len(inputs) != len(pattern.inputs):
        return Mismatch(op, f"it has {len(inputs)} inputs, not {len(pattern.inputs)}", depth)
    orders = itertools.permutations(inputs) if pattern.commutes else [inputs]
    results = [_match_inputs(view, order, pattern.inputs, known, depth + 1) for order in orders]
    return max(results, key=lambda result: result.depth if isinstance(result, Mismatch) else math.inf)


def _match_inputs(
    view: GraphView, inputs: Sequence[Tensor], patterns: Sequence[Pattern], known: Match, depth: int
) -> Match | Mismatch:
    result: Match | Mismatch = known
    for tensor, pattern in zip(inputs, patterns, strict=True):
        result = _match_tensor(view, tensor, pattern, known, depth)
        if isinstance(result, Mismatch):
            return result
        known = result
    return result


def _match_tensor(view: GraphView, tensor: Tensor, pattern: Pattern, known: Match, depth: int) -> Match | Mismatch:
    if isinstance(pattern, Node):
        return _match_op(view, tensor.op, pattern, known, depth)
    if pattern == ANY:
        return known
    if known.tensors.get(pattern, tensor) != tensor:
        return Mismatch(tensor.op, f"it is not `{known.tensors[pattern]}`, which is the {pattern} elsewhere", depth)
    return Match({**known.tensors, pattern: tensor}, known.ops)
