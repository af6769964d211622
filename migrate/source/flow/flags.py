"""Which `return` statements a call may reach, given its constant arguments: `make(ids, with_table=True)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow.keys import literal
from migrate.source.flow.kinds import inside, is_expression
from migrate.source.flow.values import ANY
from migrate.source.syntax.tree import Tree


@dataclass(frozen=True)
class Condition:
    """A condition on a parameter that is never rebound: its truth, or whether it equals a constant or is None."""

    name: str
    against: object  #: the constant; True for a test of truth
    equal: bool  #: True for a comparison with `against`, False for a test of truth
    holds: bool
    same: bool = False  #: compared with `is`: 1 equals True, but is another object

    def may_hold(self, constants: Mapping[str, object]) -> bool:
        """False if the constant arguments show that the condition does not hold."""
        if self.name not in constants:
            return True
        value = constants[self.name]
        holds = value == self.against if self.equal else bool(value)
        if self.same:
            holds = holds and type(value) is type(self.against)
        return holds is self.holds


@dataclass(frozen=True)
class ReturnPath:
    """One `return` statement with the conditions under which it is reached."""

    node: cst.Return
    conditions: tuple[Condition, ...]


def ways_out(tree: Tree, function: cst.FunctionDef) -> list[ReturnPath]:
    """Return the `return` statements of a function if conditions on parameters choose between them; else nothing."""
    paths = [ReturnPath(node, tuple(_conditions(tree, function, node))) for node in _returns(function)]
    return paths if len(paths) > 1 and any(one.conditions for one in paths) else []


def constant_arguments(
    function: cst.FunctionDef,
    names: list[cst.Param],
    given: Mapping[str, cst.BaseExpression | None],
    keeps_defaults: bool,
) -> dict[str, object]:
    """Return the constants of parameters: arguments by position or keyword, or defaults.

    `keeps_defaults` is False if the program may replace the defaults of a function.
    """
    constants: dict[str, object] = {}
    for one in (*names, *function.params.kwonly_params):
        name = one.name.value
        value = literal(given.get(name, one.default))
        if value is not ANY and (name in given or (keeps_defaults and one.default is not None)):
            constants[name] = value
    return constants


def _returns(function: cst.FunctionDef) -> Iterator[cst.Return]:
    """Yield the `return` statements of a function in source order, without those of nested functions."""
    pending: list[cst.CSTNode] = [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Return):
            yield node
        elif not isinstance(node, cst.FunctionDef | cst.ClassDef) and not is_expression(type(node)):
            pending += reversed(list(inside(node)))


def _conditions(tree: Tree, function: cst.FunctionDef, node: cst.CSTNode) -> Iterator[Condition]:
    """Yield the conditions that hold at a statement: of enclosing `if`s, and of earlier `if`s that leave."""
    inner: cst.CSTNode = node
    for around in tree.ancestors(node):
        if isinstance(around, cst.If) and inner is not around.test:
            yield from _of(tree, function, around.test, inner is around.body)
        if isinstance(around, cst.IndentedBlock):
            for line in around.body:
                if line is inner:
                    break
                if isinstance(line, cst.If):
                    yield from _behind(tree, function, line)
        if around is function:
            return
        inner = around


def _behind(tree: Tree, function: cst.FunctionDef, line: cst.If) -> Iterator[Condition]:
    """Yield what holds after an `if` of which one branch leaves the function."""
    other = line.orelse.body if isinstance(line.orelse, cst.Else) else None
    if _leaves(line.body):
        yield from _of(tree, function, line.test, False)
    elif other is not None and _leaves(other):
        yield from _of(tree, function, line.test, True)


def _leaves(block: cst.BaseSuite) -> bool:
    """True for a block that ends with `return` or `raise`."""
    last = block.body[-1] if block.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Return | cst.Raise)


def _of(tree: Tree, function: cst.FunctionDef, test: cst.BaseExpression, holds: bool) -> Iterator[Condition]:
    """Yield the condition that a test states about a parameter; nothing for any other test."""
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, holds = test.expression, not holds
    against: object = True
    equal = same = False
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        compared = test.comparisons[0]
        against, equal = literal(compared.comparator), True
        if isinstance(compared.operator, cst.IsNot | cst.NotEqual):
            holds = not holds
        elif not isinstance(compared.operator, cst.Is | cst.Equal):
            return
        same = isinstance(compared.operator, cst.Is | cst.IsNot)
        test = test.left
    if isinstance(test, cst.Name) and against is not ANY and _is_fixed(tree, function, test):
        yield Condition(test.value, against, equal, holds, same)


def _is_fixed(tree: Tree, function: cst.FunctionDef, name: cst.Name) -> bool:
    """True for a parameter of the function that is never rebound."""
    scope = tree.scope(name)
    bound = scope._assignments.get(name.value, set()) if scope is not None else set()
    nodes = [getattr(one, "node", None) for one in bound]
    # libcst's scopes do not record the names that patterns bind
    matched = cst.MatchAs | cst.MatchStar | cst.MatchMapping
    if any(isinstance(tree.parent(one), matched) for one in tree.names.get(name.value, ())):
        return False
    return len(nodes) == 1 and isinstance(nodes[0], cst.Param) and tree.enclosing(nodes[0], cst.FunctionDef) is function
