"""Decorators of the program that call the function once, with the arguments that they get, and return its result."""

from __future__ import annotations

import libcst as cst

from migrate.source.syntax.docstrings import is_docstring
from migrate.source.syntax.tree import Tree

#: Attributes of a function that say how it is called, not what it does.
_NAMES = {"__name__", "__qualname__", "__doc__", "__module__"}
#: Code that may run a call several times, not at all, or catch its errors.
# fmt: off
_APART = (
    cst.For, cst.While, cst.BaseComp, cst.Lambda, cst.Try, cst.TryStar, cst.FunctionDef, cst.ClassDef, cst.If,
    cst.IfExp, cst.BooleanOperation, cst.With, cst.Match,
)
# fmt: on
#: Statements that return something or that change names of other functions.
_WAYS_OUT = (cst.Return, cst.Yield, cst.Await, cst.Global, cst.Nonlocal)


def passes_on(tree: Tree, decorator: cst.FunctionDef) -> bool:
    """True if a call of what `decorator` returns is a call of what it takes: it logs or times, and does no more.

    One that calls the function in a loop, catches its errors, or uses its arguments or result does more.
    """
    given = decorator.params.params
    alone = cst.Parameters(params=given).deep_equals(decorator.params.with_changes(params=given))
    if len(given) != 1 or given[0].default is not None or not alone or decorator.decorators or decorator.asynchronous:
        return False
    body = [one for one in decorator.body.body if not is_docstring(one)]
    if len(body) != 2 or not isinstance(body[0], cst.FunctionDef):
        return False
    inner, name = body[0], given[0].name.value
    returned = _returned(body[1])
    named = isinstance(returned, cst.Name) and returned.value == inner.name.value
    return named and name != inner.name.value and _forwards(tree, inner, name)


def _forwards(tree: Tree, inner: cst.FunctionDef, function: str) -> bool:
    """True for a function that passes all its arguments to `function` once and returns its result alone."""
    params, last = inner.params, inner.body.body[-1]
    rest, named, value = params.star_arg, params.star_kwarg, _returned(last)
    if params.params or params.posonly_params or params.kwonly_params or inner.asynchronous or value is None:
        return False
    if not isinstance(rest, cst.Param) or named is None or not all(_wraps(one, function) for one in inner.decorators):
        return False
    call = _call(tree, inner, function)
    if call is None or any(isinstance(one, _APART) and tree.contains(inner.body, one) for one in tree.ancestors(call)):
        return False
    stars = [(one.star, one.value.value) for one in call.args if isinstance(one.value, cst.Name)]
    if stars != [("*", rest.name.value), ("**", named.name.value)] or len(call.args) != 2:
        return False
    passed = (rest.name.value, named.name.value)
    return all(len(_uses(tree, inner, name)) == 1 for name in passed) and _returns(tree, inner, call, value)


def _call(tree: Tree, inner: cst.FunctionDef, function: str) -> cst.Call | None:
    """Return the only call of `function`; None if it is also used in another way than by its name."""
    uses = [one for one in _uses(tree, inner, function) if not _reads_name(tree.parents.get(one), one)]
    call = tree.parents.get(uses[0]) if len(uses) == 1 else None
    return call if isinstance(call, cst.Call) and call.func is uses[0] else None


def _uses(tree: Tree, inner: cst.FunctionDef, name: str) -> list[cst.Name]:
    return [one for one in tree.names.get(name, ()) if tree.contains(inner.body, one)]


def _wraps(decorator: cst.Decorator, function: str) -> bool:
    """True for `functools.wraps(function)`."""
    call = decorator.decorator
    if not isinstance(call, cst.Call) or len(call.args) != 1 or not _is(call.args[0].value, function):
        return False
    return _is(call.func.attr if isinstance(call.func, cst.Attribute) else call.func, "wraps")


def _reads_name(parent: cst.CSTNode | None, name: cst.Name) -> bool:
    return isinstance(parent, cst.Attribute) and parent.value is name and parent.attr.value in _NAMES


def _returns(tree: Tree, inner: cst.FunctionDef, call: cst.Call, value: cst.BaseExpression) -> bool:
    """True if the last statement returns the result of the call, and nothing else returns or uses it."""
    inside = [node for node in tree.nodes() if isinstance(node, _WAYS_OUT) and tree.contains(inner.body, node)]
    if len(inside) != 1 or value is call:
        return len(inside) == 1
    assign = tree.parents.get(call)
    if not isinstance(value, cst.Name) or not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return False
    target = assign.targets[0].target
    return {id(one) for one in _uses(tree, inner, value.value)} == {id(target), id(value)}


def _returned(statement: cst.CSTNode) -> cst.BaseExpression | None:
    if isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], cst.Return):
        return statement.body[-1].value if len(statement.body) == 1 else None
    return None


def _is(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name
