"""Conditions that cannot hold together: `if kind == "a": ...` and, further down, `if kind in ("b", "c"): ...`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import stores
from migrate.source.tensorflow.base.arguments import literal
from migrate.source.tensorflow.base.bindings import binders
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of

_LOOPS = (cst.For, cst.While, cst.BaseComp)


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
        one, rest = (self, other) if self.among else (other, self)
        return one.among and one.constants <= rest.constants


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
        if isinstance(around, cst.FunctionDef | cst.Lambda | cst.ClassDef):
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
        nodes = [right] if isinstance(operator, cst.Equal | cst.NotEqual) else []
        if isinstance(operator, cst.In | cst.NotIn) and isinstance(right, cst.Tuple | cst.List | cst.Set):
            nodes = [element.value for element in right.elements]
        if (constants := _constants(nodes)) is not None:
            yield Choice(test.left, constants, isinstance(operator, cst.Equal | cst.In) is holds)


def _constants(nodes: list[cst.BaseExpression]) -> frozenset[object] | None:
    """Return the values of literals, of texts or numbers alone; None if one is something else."""
    found = [literal(node) for node in nodes]
    kinds = {type(one) for one in found}
    return frozenset(found) if kinds == {str} or kinds == {int} else None


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
