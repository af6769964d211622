"""Whether code may run several times while one graph is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Symbol, stores
from migrate.source.tensorflow.base.arguments import is_name, literal
from migrate.source.tensorflow.base.bindings import binders
from migrate.source.tensorflow.base.rule_kinds import File, cached_query
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.callers import call_sites

FUNCTIONS = (cst.FunctionDef, cst.Lambda)
#: Calls that start another graph.
GRAPHS = ("Graph", "reset_default_graph", "keras.backend.clear_session")
#: Functions of Python whose one call lets what they are given run any number of times later.
REPEATING = {"builtins.iter", "collections.defaultdict", "dataclasses.field"}

_LOOPS = (cst.For, cst.While, cst.BaseComp)


@cached_query
def repeated(file: File, node: cst.CSTNode, *, skips: bool = True) -> bool:
    """True if `node` may run several times in one graph: in a loop, or in a function that is called repeatedly.

    With `skips`, conditional code in such a function is assumed to run in only one of its calls.
    """
    return any(repeats_here(file, one, skips) for one in reached(node, lambda site: sites_in_graph(file, site)))


def is_run_later(file: File, site: cst.CSTNode) -> bool:
    """True for a call, or an argument of one, that lets a function run whenever an entry or object needs a value."""
    arg = file.tree.parent(site)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not isinstance(site, cst.Call) else site
    values = flow_of(file).values(call.func) if isinstance(call, cst.Call) else []
    return any(isinstance(value, Symbol) and value.name in REPEATING for value in values)


def sites_in_graph(file: File, node: cst.CSTNode) -> list[cst.Call]:
    """Return the calls of the function around `node` that run it in the caller's graph."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    if _loop(file, node) is not None or function is None or _graphs(file, function):
        return []
    return call_sites(file, function)


def repeats_here(file: File, node: cst.CSTNode, skips: bool) -> bool:
    """True for a node in a loop, or in a function with two calls in one graph."""
    loop, sites = _loop(file, node), sites_in_graph(file, node)
    if loop is not None:
        return not _graphs(file, loop)
    function = file.tree.enclosing(node, cst.FunctionDef)
    skips_here = skips and function is not None and _may_be_skipped(file, function, node)
    for i, first in enumerate(sites):
        for second in sites[i + 1 :]:
            if _hands_up(file, first) is not _hands_up(file, second):
                continue  # one of the calls runs the other
            if _both(file, first, second) and not (skips_here and _differ(file, first, second)):
                return True
    return False


def _hands_up(file: File, call: cst.Call) -> cst.FunctionDef | None:
    """Return the method around a call of the base class's method of the same name: one call then runs the other.

    Constructors are excluded, since each class has call sites of its own.
    """
    function = file.tree.enclosing(call, cst.FunctionDef)
    if function is None or function.name.value == "__init__":
        return None
    callee = call.func
    named = isinstance(callee, cst.Attribute) and callee.attr.value == function.name.value
    receiver = callee.value if isinstance(callee, cst.Attribute) and named else None
    return function if isinstance(receiver, cst.Call) and is_name(receiver.func, "super") else None


def _loop(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the outermost loop around `node` within its function."""
    outermost: cst.CSTNode | None = None
    for around in file.tree.ancestors(node):
        if isinstance(around, FUNCTIONS):
            return outermost
        first = _taken_once(around)
        if isinstance(around, (cst.For, cst.While, cst.BaseComp)) and not (first and file.tree.contains(first, node)):
            outermost = around
    return outermost


def _taken_once(loop: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the iterable of a loop, which is evaluated once, before the first iteration."""
    if isinstance(loop, cst.For):
        return loop.iter
    return loop.for_in.iter if isinstance(loop, cst.BaseComp) else None


def _graphs(file: File, code: cst.CSTNode) -> list[cst.Call]:
    """Return the calls inside `place` that start another graph."""
    tree = file.tree
    calls = [call for call, _ in file.calls(*GRAPHS)]
    if isinstance(code, cst.Module):
        return [call for call in calls if tree.module_of(call) is code]
    return [call for call in calls if tree.contains(code, call)]


def _differ(file: File, first: cst.Call, second: cst.Call) -> bool:
    """True if two calls have different arguments."""
    texts = [[file.tree.source(arg) for arg in call.args] for call in (first, second)]
    return texts[0] != texts[1]


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


def _may_be_skipped(file: File, function: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """True for conditional code, including code after a conditional `return`, as in a class for training and tests."""
    if any(isinstance(a, cst.If) and file.tree.contains(function, a) for a in file.tree.ancestors(node)):
        return True
    start = file.tree.span(node)[0]
    early = [one for one in function.body.body if isinstance(one, cst.If) and file.tree.span(one)[0] < start]
    return any(isinstance(part, cst.Return) for one in early for part in _statements(one.body))


def _statements(suite: cst.BaseSuite) -> list[cst.CSTNode]:
    """Return the simple statements directly in `suite`."""
    lines = [line for line in suite.body if isinstance(line, cst.SimpleStatementLine)]
    plain = [one for one in suite.body if not isinstance(one, cst.BaseStatement)]
    return [*plain, *(part for line in lines for part in line.body)]


def exclusive(file: File, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """True if no graph has both: they are in different branches of an `if` that is reached once."""
    branches = _separating(file, first, second)
    return branches is not None and not repeated(file, branches)


def _separating(file: File, first: cst.CSTNode, second: cst.CSTNode) -> cst.If | None:
    """Return the `if` of whose branches at most one runs, with only one of the two nodes in it; else None."""
    for around in file.tree.ancestors(first):
        if isinstance(around, (cst.FunctionDef, cst.Lambda)):
            return None
        if not isinstance(around, cst.If):
            continue
        ways = [around.body, *([around.orelse] if around.orelse is not None else [])]
        held = [[file.tree.contains(way, node) for way in ways] for node in (first, second)]
        if any(held[0]) and any(held[1]) and held[0] != held[1]:
            return around
        if not any(held[1]) and _returns_before(file, around, second) and held[0][0]:
            return around
    return _separating(file, second, first) if file.tree.span(second)[0] < file.tree.span(first)[0] else None


def _returns_before(file: File, branch: cst.If, later: cst.CSTNode) -> bool:
    """True if the body of `branch` ends with `return` or `raise`, and `later` comes after it in the same block."""
    block = file.tree.parent(branch)
    after = block is not None and file.tree.contains(block, later)
    last = _statements(branch.body)[-1:]
    return (
        after and file.tree.span(later)[0] > file.tree.span(branch)[0] and isinstance(last[0], (cst.Return, cst.Raise))
    )


@dataclass(frozen=True)
class Choice:
    """A value is one of some constants, or none of them."""

    subject: cst.BaseExpression
    constants: frozenset[object]
    among: bool

    def excludes(self, other: Choice) -> bool:
        """True if the same value cannot fulfil both."""
        if self.among and other.among:
            return self.constants.isdisjoint(other.constants)
        listed, rest = (self, other) if self.among else (other, self)
        return listed.among and listed.constants <= rest.constants


def cannot_both_run(file: File, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """True if conditions around two nodes ask for different constants of one value, which nothing changes."""
    if file.tree.module_of(first) is not file.tree.module_of(second):
        return False
    others = [*_choices(file, second)]
    return any(
        one.excludes(other) and _same(file, one.subject, other.subject)
        for one in (_choices(file, first) if others else ())
        for other in others
    )


def _choices(file: File, node: cst.CSTNode) -> Iterator[Choice]:
    """Yield what the conditions around a node, in its function, say of values."""
    for around in file.tree.ancestors(node):
        if isinstance(around, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            return
        if isinstance(around, cst.If):
            if file.tree.contains(around.body, node):
                yield from _of_test(around.test, True)
            elif around.orelse is not None and file.tree.contains(around.orelse, node):
                yield from _of_test(around.test, False)


def _of_test(test: cst.BaseExpression, holds: bool) -> Iterator[Choice]:
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from _of_test(test.expression, not holds)
    elif isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And) is holds:
        yield from _of_test(test.left, holds)
        yield from _of_test(test.right, holds)
    elif isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        operator, right = test.comparisons[0].operator, test.comparisons[0].comparator
        nodes = [right] if isinstance(operator, (cst.Equal, cst.NotEqual)) else []
        if isinstance(operator, (cst.In, cst.NotIn)) and isinstance(right, (cst.Tuple, cst.List, cst.Set)):
            nodes = [element.value for element in right.elements]
        if (constants := _constants(nodes)) is not None:
            yield Choice(test.left, constants, isinstance(operator, (cst.Equal, cst.In)) is holds)


def _constants(nodes: list[cst.BaseExpression]) -> frozenset[object] | None:
    """Return the values of literals, of texts or numbers alone; None if one is something else."""
    constants = [literal(node) for node in nodes]
    kinds = {type(one) for one in constants}
    return frozenset(constants) if kinds == {str} or kinds == {int} else None


def _same(file: File, first: cst.BaseExpression, second: cst.BaseExpression) -> bool:
    """True for two spellings of one value: a name that is bound once, or an attribute of it that nothing assigns."""
    if isinstance(first, cst.Attribute) and _sets_by_name(file):
        return False
    while isinstance(first, cst.Attribute) and isinstance(second, cst.Attribute):
        if first.attr.value != second.attr.value or stores(flow_of(file), first):
            return False
        first, second = first.value, second.value
    if not isinstance(first, cst.Name) or not isinstance(second, cst.Name) or first.value != second.value:
        return False
    bound = binders(file.tree, first)
    own = {id(one) for one in bound} == {id(one) for one in binders(file.tree, second)}
    return own and len(bound) == 1 and not any(isinstance(a, _LOOPS) for a in file.tree.ancestors(bound[0]))


def _sets_by_name(file: File) -> bool:
    """True if code may set attributes by their names."""
    tree = file.tree
    return any(tree.names.get(word) for word in ("setattr", "vars")) or bool(tree.attributes.get("__dict__"))
