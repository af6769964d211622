"""Functions that return a table beside other things by one `return`, and something else by another."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.frontends.tensorflow.args import literal
from migrate.source.frontends.tensorflow.called import argument_of, parameters
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.values import is_target, local_names, scope_of_name


def calls_that_get(
    file: File, function: cst.FunctionDef, given: cst.Return, others: Sequence[cst.Return], calls: Sequence[cst.Call]
) -> list[cst.Call] | None:
    """Return the calls that get what `given` returns; None when some call does not show whether it does.

    A call shows it by the literal that it gives for the parameter which decides: `if with_table: return rows, table`.
    """
    flag = _flag(file, function, given, others)
    if flag is None:
        return None
    name, wanted = flag
    found: list[cst.Call] = []
    for call in calls:
        value = _value(file, function, call, name)
        if not isinstance(value, bool):
            return None
        found += [call] if value is wanted else []
    return found


def _flag(
    file: File, function: cst.FunctionDef, given: cst.Return, others: Sequence[cst.Return]
) -> tuple[str, bool] | None:
    """Return the parameter that decides which `return` is taken, and its value for `given`."""
    condition = _condition(file, function, given) or _condition(file, function, others[0])
    if condition is None or file.tree.parent(condition) is not function.body or _may_pass(file, condition, given):
        return None
    if any(file.tree.span(one)[0] < file.tree.span(condition)[0] for one in others):
        return None
    if not file.tree.contains(condition, given) and not _ends(condition):
        return None
    test, negated = condition.test, False
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, negated = test.expression, True
    if not isinstance(test, cst.Name) or not _is_parameter(file, function, test):
        return None
    in_body = file.tree.contains(condition.body, given)
    if any(file.tree.contains(condition.body, one) is in_body for one in others if file.tree.contains(condition, one)):
        return None
    if not in_body and any(not file.tree.contains(condition, one) for one in others):
        return None
    return test.value, in_body is not negated


def _condition(file: File, function: cst.FunctionDef, node: cst.Return) -> cst.If | None:
    found = file.tree.enclosing(node, cst.If)
    return found if found is not None and file.tree.contains(function, found) else None


def _ends(condition: cst.If) -> bool:
    """True when the function always returns where the condition holds."""
    lines = condition.body.body
    last = lines[-1].body[-1] if lines and isinstance(lines[-1], cst.SimpleStatementLine) else lines[-1]
    return condition.orelse is None and isinstance(last, cst.Return)


def _may_pass(file: File, condition: cst.If, given: cst.Return) -> bool:
    """True when the `return` need not run although its branch does."""
    inside = [a for a in file.tree.ancestors(given) if a is not condition and file.tree.contains(condition, a)]
    return any(isinstance(one, cst.For | cst.While | cst.Try | cst.TryStar | cst.Match) for one in inside)


def _is_parameter(file: File, function: cst.FunctionDef, name: cst.Name) -> bool:
    """True for a parameter that is never bound again."""
    scope = scope_of_name(file.tree, name)
    known = [*parameters(file, function), *function.params.kwonly_params]
    if scope is None or all(one.name.value != name.value for one in known):
        return False
    return sum(is_target(file.tree, use) for use in local_names(file.tree, name.value, scope)) == 1


def _value(file: File, function: cst.FunctionDef, call: cst.Call, name: str) -> object:
    """Return the literal that a call gives for a parameter, or its default; Ellipsis when it is not one."""
    known = parameters(file, function)
    if any(arg.star for arg in call.args):
        return ...
    given = argument_of(known, call, name)
    if given is not None:
        return literal(given)
    taken = next(one for one in (*known, *function.params.kwonly_params) if one.name.value == name)
    return literal(taken.default)
