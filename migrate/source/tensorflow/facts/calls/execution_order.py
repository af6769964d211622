"""Which of two places of a program runs first, according to the call graph."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.callers import runs
from migrate.source.tensorflow.facts.calls.repeated_runs import is_lazy, may_be_left_out, runs_again

#: A step of a call chain: the function or module, and the expression in it that runs the code.
Place = tuple[cst.CSTNode, cst.CSTNode]
#: The largest number of call chains that is examined.
WAYS = 64
#: Nodes that may run the code inside them several times.
LOOPS = (cst.For, cst.While, cst.BaseComp)


def runs_first(file: File, first: cst.CSTNode, second: cst.CSTNode, table: Table) -> bool | None:
    """Return whether every run of `first` precedes every run of `second`, for one `table`; None if not known."""
    ways = [_ways(file, node) for node in (first, second)]
    made = [home for way in _ways(file, table.creation.call) for home, _ in way if isinstance(home, cst.FunctionDef)]
    found = {_is_before(file, one, other, table, made) for one in ways[0] for other in ways[1]}
    if False in found:
        return False
    return None if None in found or not found else True


def _ways(file: File, node: cst.CSTNode) -> list[Sequence[Place]]:
    """Return the call chains of `node`, each from its own function outwards; empty if there are too many."""
    found: list[Sequence[Place]] = []
    pending: list[Sequence[Place]] = [[(_home(file, node), node)]]
    while pending:
        way = pending.pop()
        outer = [(_home(file, site), site) for site in _sites(file, way[-1][0])]
        new = [[*way, place] for place in outer if all(place[0] is not one for one, _ in way)]
        pending += new
        found += [] if new else [way]
        if len(found) + len(pending) > WAYS:
            return []
    return found


def _home(file: File, node: cst.CSTNode) -> cst.CSTNode:
    return file.tree.enclosing(node, cst.FunctionDef) or file.tree.module_of(node)


def _sites(file: File, home: cst.CSTNode) -> Sequence[cst.CSTNode]:
    return runs(file, home)[0] if isinstance(home, cst.FunctionDef) else ()


def _is_before(
    file: File, way: Sequence[Place], other: Sequence[Place], table: Table, made: Sequence[cst.FunctionDef]
) -> bool | None:
    """Compare two call chains in the innermost function, or module, that they have in common."""
    for i, (home, node) in enumerate(way):
        for place, beside in other:
            if place is home:
                known = _stands_before(file, node, beside)
                if known and any(is_lazy(file, inner) for inner, _ in way[:i]):
                    return None  # its code runs when the next value is requested
                return runs_again(file, home, table, made) if known else known
    return None


def _stands_before(file: File, node: cst.CSTNode, other: cst.CSTNode) -> bool | None:
    """Compare two expressions of one function; arguments run before the call that takes them."""
    tree = file.tree
    if node is other:
        return None
    loops = (one for one in tree.ancestors(other) if isinstance(one, LOOPS))
    if any(tree.contains(loop, node) for loop in loops):
        return False  # it may run in another iteration of the loop
    if tree.contains(other, node) or tree.contains(node, other):
        return tree.contains(other, node)
    if tree.span(node)[0] > tree.span(other)[0]:
        return False
    return None if may_be_left_out(file, node, other) else True
