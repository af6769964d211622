"""Environments of reaching definitions: merged at joins, narrowed by conditions that test for None."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from migrate.source.flow.names.bindings import Binding


@dataclass(frozen=True)
class NotNone:
    """A binding on a branch where a condition has shown its value not to be None."""

    binding: Binding


#: The largest number of definitions of a name that is tracked at a use.
TOLD_APART = 64
#: The definitions that reach a use of a name; None if there are too many to track.
Reaching = frozenset[Binding | NotNone] | None
Environment = dict[str, Reaching]
NOTHING: Reaching = frozenset()


def none_where(test: cst.BaseExpression) -> tuple[cst.Name, bool] | None:
    """Return the name that a condition tests for None, and the outcome of the condition for which it is not None.

    Recognized are `x is None`, `x is not None`, `x` and `not x`; None for other conditions.
    """
    where = True
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, where = test.expression, not where
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        compared = test.comparisons[0]
        if not isinstance(compared.comparator, cst.Name) or compared.comparator.value != "None":
            return None
        if isinstance(compared.operator, cst.Is):
            where = not where
        elif not isinstance(compared.operator, cst.IsNot):
            return None
        test = test.left
    return (test, where) if isinstance(test, cst.Name) else None


def narrowed(environment: Environment, test: cst.BaseExpression, holds: bool) -> Environment:
    """Return the environment of the branch that is taken if `test` evaluates to `holds`."""
    branch, guard = dict(environment), none_where(test)
    if guard is not None and guard[1] is holds and guard[0].value in branch:
        bindings = branch[guard[0].value]
        if bindings is not None:
            branch[guard[0].value] = frozenset(one if isinstance(one, NotNone) else NotNone(one) for one in bindings)
    return branch


def merged(first: Environment | None, second: Environment | None) -> Environment | None:
    """Return the environment at a join of two paths; None stands for an unreachable path."""
    if first is None or second is None:
        return first if second is None else second
    if first is second:
        return first
    joined = dict(first)
    for name, bindings in second.items():
        before = joined.get(name, NOTHING)
        if before is not bindings:
            joined[name] = either(before, bindings)
    return joined


def either(first: Reaching, second: Reaching) -> Reaching:
    """Return the union of two sets of reaching definitions."""
    if first is None or second is None:
        return None
    both = first | second
    return both if len(both) <= TOLD_APART else None
