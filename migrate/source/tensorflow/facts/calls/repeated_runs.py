"""Cases in which the execution order differs from the source order: code that runs again, later, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import libcst as cst
import libcst.matchers as m

from migrate.source.syntax.node_index import CONDITIONAL
from migrate.source.tensorflow.base.arguments import number
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.callers import runs
from migrate.source.tensorflow.facts.calls.execution_count import repeats_here, sites_in_graph
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option

#: Nodes whose code may not run, or not exactly once.
CONDITIONS = (*CONDITIONAL, cst.IfExp, cst.BooleanOperation, cst.BaseComp)
#: A method after which a scope returns existing variables instead of creating them.
REUSES = "reuse_variables"


def runs_again(file: File, home: cst.CSTNode, table: Table, made: Sequence[cst.FunctionDef]) -> bool | None:
    """Return True if `home` runs once per variable of `table`, False if more often, None if that is not known.

    `made` are the functions that create the variable: each run is assumed to create another one unless a scope reuses
    it.
    """
    if not isinstance(home, cst.FunctionDef):
        return True
    owned = {id(one) for one in made}
    if id(home) in owned:
        return None if _reuses(file, table) and _again(file, home, set()) else True
    if repeats_here(file, home.name, skips=False):
        sites = sites_in_graph(file, home.name)
        given = any(file.tree.contains(site, one) for site in sites for one in table.references)
        return None if given else False  # each call may receive another table
    return None if runs(file, home)[1] or _again(file, home, owned) else True


def _again(file: File, home: cst.FunctionDef, owned: set[int]) -> bool:
    """True if a caller of `home` that creates no variable of its own may run it again in one graph."""
    start: cst.CSTNode = home.name
    steps = reached(start, lambda one: [] if _owner(file, one) in owned else sites_in_graph(file, one))
    return any(repeats_here(file, one, skips=True) for one in steps if _owner(file, one) not in owned)


def _owner(file: File, node: cst.CSTNode) -> int:
    return id(file.tree.enclosing(node, cst.FunctionDef))


def _reuses(file: File, table: Table) -> bool:
    """True if a second run of the call that creates the variable may return the existing one."""
    call = table.creation.call
    if table.creation.unique:
        return False
    scopes = any(REUSES in one.tree.attributes for one in file.program(call))
    return scopes or any(find(file, call, "reuse") is not None for find in (enclosing_option, callers_option))


def is_lazy(file: File, home: cst.CSTNode) -> bool:
    """True for a generator or a coroutine, whose body does not run when it is called."""
    return isinstance(home, cst.FunctionDef) and once(file, ("lazy", home), lambda: _yields(file, home))


def _yields(file: File, home: cst.FunctionDef) -> bool:
    yields = m.findall(home.body, m.Yield())
    return home.asynchronous is not None or any(file.tree.enclosing(one, cst.FunctionDef) is home for one in yields)


def may_be_left_out(file: File, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """True if `node` is in a part of a statement or expression that may not run although `other` does."""
    tree = file.tree
    around = [node, *tree.ancestors(node)]
    return any(
        isinstance(outer, CONDITIONS) and not tree.contains(inner, other) and not _is_certain(file, outer, inner)
        for inner, outer in pairwise(around)
    )


def _is_certain(file: File, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    """True for the part that decides whether the rest runs, and for a loop that is known to have iterations."""
    first = {cst.If: "test", cst.For: "iter", cst.While: "test", cst.IfExp: "test", cst.Match: "subject"}
    if inner is getattr(outer, first.get(type(outer), ""), None):
        return True
    if isinstance(outer, cst.For):
        return inner is outer.body and _has_turns(file, outer.iter)
    return isinstance(outer, cst.ListComp) and not outer.for_in.ifs and _has_turns(file, outer.for_in.iter)


def _has_turns(file: File, node: cst.BaseExpression) -> bool:
    """True for a non-empty list display, and for `range` of a positive number."""
    value = resolve(file.tree, node)
    if isinstance(value, cst.List | cst.Tuple):
        return any(isinstance(one, cst.Element) for one in value.elements)
    if isinstance(value, cst.Call) and m.matches(value.func, m.Name("range")) and len(value.args) == 1:
        turns = number(value.args[0].value)
        return turns is not None and turns > 0
    return False
