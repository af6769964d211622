"""The way of a value: the places by which it came to an expression, and what held it in between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.values import Value


@dataclass(frozen=True)
class Place:
    """One place on the way of a value: an expression, a name that is bound, or a holder that it is put into."""

    node: cst.CSTNode | None  #: the expression, or what is bound
    is_bound: bool = False
    holder: Value | None = None
    key: object = None  #: under which the holder has the value


def way(program: Program, value: Value, held: Iterable[tuple[Value, object]], end: Variable | None) -> list[Place]:
    """Return the places by which `value` came to `end`, from the first; `held` is what holds it, with the keys."""
    holders: dict[int, tuple[Value, object]] = {}
    for holder, key in held:
        holders[id(program.written(holder, key))] = (holder, key)
    found: list[Place] = []
    for variable in _direct(_chain(value, end)):
        node = variable.node or program.parts.get(variable)
        if id(variable) in holders:
            holder, key = holders[id(variable)]
            found.append(Place(None, holder=holder, key=key))
        elif node is not None:
            found.append(Place(node, program.is_bound(variable, node)))
    return found


def _chain(value: Value, end: Variable | None) -> list[Variable]:
    """Return the variables by which a value came, from the first."""
    found: dict[Variable, None] = {}
    while end is not None and end not in found:
        found[end] = None
        end = end.values.get(value)
    return list(found)[::-1]


def _direct(chain: list[Variable]) -> list[Variable]:
    """Return the same way without the detours that it took because another value went there first."""
    found, at = chain[:1], 0
    while at + 1 < len(chain):
        later = (n for n in range(len(chain) - 1, at, -1) if chain[n] in chain[at].receivers)
        at = next(later, at + 1)
        found.append(chain[at])
    return found
