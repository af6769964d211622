"""Whether code may run several times while one graph is built."""

from __future__ import annotations

from itertools import combinations

import libcst as cst

from migrate.source.flow import Symbol, loops_around
from migrate.source.tensorflow.base.cached_query import cached_query
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.callers import call_sites
from migrate.source.tensorflow.facts.calls.exclusive_conditions import cannot_both_run

#: Calls that start another graph.
GRAPHS = ("Graph", "reset_default_graph", "keras.backend.clear_session")
#: Functions of Python whose one call lets what they are given run any number of times later.
REPEATING = {"builtins.iter", "collections.defaultdict", "dataclasses.field"}


@cached_query
def repeated(file: File, node: cst.CSTNode) -> bool:
    """True if `node` may run several times in one graph: in a loop, or in a function that is called repeatedly."""
    return any(_repeats_here(file, one) for one in reached(node, lambda one: _sites_in_graph(file, one)))


def is_run_later(file: File, site: cst.CSTNode) -> bool:
    """True for a call, or an argument of one, that lets a function run whenever an entry or object needs a value."""
    arg = file.tree.parent(site)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not isinstance(site, cst.Call) else site
    values = flow_of(file).values(call.func) if isinstance(call, cst.Call) else []
    return any(isinstance(value, Symbol) and value.name in REPEATING for value in values)


def _sites_in_graph(file: File, node: cst.CSTNode) -> list[cst.Call]:
    """Return the calls of the function around `node` that run it in the caller's graph."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    if _loop(file, node) is not None or function is None or _graphs(file, function):
        return []
    return call_sites(file, function)


def _repeats_here(file: File, node: cst.CSTNode) -> bool:
    """True for a node in a loop, or in a function with two calls in one graph."""
    if (loop := _loop(file, node)) is not None:
        return not _graphs(file, loop)
    return any(_both(file, *calls) for calls in combinations(_sites_in_graph(file, node), 2))


def _loop(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the outermost loop around `node` within its function."""
    return next(reversed([*loops_around(file.tree, node)]), None)


def _graphs(file: File, code: cst.CSTNode) -> list[cst.Call]:
    """Return the calls inside `place` that start another graph."""
    tree = file.tree
    calls = [call for call, _ in file.calls(*GRAPHS)]
    if isinstance(code, cst.Module):
        return [call for call in calls if tree.module_of(call) is code]
    return [call for call in calls if tree.contains(code, call)]


def _both(file: File, first: cst.Call, second: cst.Call) -> bool:
    """True if both calls may run in one graph."""
    tree = file.tree
    if not tree.related(first, second) or _separating(file, first, second) is not None:
        return False
    if cannot_both_run(file, first, second):
        return False
    module = tree.module_of(first)
    if tree.module_of(second) is not module:
        return True
    start, end = sorted((tree.span(first)[0], tree.span(second)[0]))
    return not any(start < tree.span(graph)[0] < end for graph in _graphs(file, module))


def exclusive(file: File, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """True if no graph has both: they are in different branches of an `if` that is reached once."""
    branches = _separating(file, first, second)
    return branches is not None and not repeated(file, branches)


def _separating(file: File, first: cst.CSTNode, second: cst.CSTNode) -> cst.If | None:
    """Return the `if` that has the two nodes in different branches, of which at most one runs; else None."""
    for around in file.tree.ancestors(first):
        if isinstance(around, cst.FunctionDef | cst.Lambda):
            return None
        if isinstance(around, cst.If):
            branches = [around.body, *([around.orelse] if around.orelse is not None else [])]
            held = [[file.tree.contains(branch, node) for branch in branches] for node in (first, second)]
            if any(held[0]) and any(held[1]) and held[0] != held[1]:
                return around
    return None
