"""Initial values of SOK's variables that a table cannot compute by key, and arguments that may be None."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import is_none, literal
from migrate.source.tensorflow.base.bindings import (
    assigned_value,
    builtin,
    is_target,
    local_names,
    resolve,
    scope_of_name,
)
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.edits.whole_file_draft import Draft
from migrate.source.tensorflow.sok.symbols import VARIABLE

_ACTION = "give it a constant, uniform, normal or variance-scaling initializer, or the matrix as its first argument"
#: The last names of initializers that give rows of their own places, not of a distribution.
_PLACED = ("identity", "Identity", "IdentityInitializer", "orthogonal", "Orthogonal", "OrthogonalInitializer")
_CONSTANT = {"constant", "Constant"}


def check_initializer(draft: Draft, node: cst.BaseExpression) -> None:
    """Stop at an initializer that depends on more than a row's key: a function, a matrix, an identity."""
    value = resolve(draft.tree, node)
    if is_function(draft, value):
        _stop(draft, node, "it is a function of the whole shape")
        return
    if not isinstance(value, cst.Call | cst.Attribute):
        return
    name = draft.file.names.of(value.func if isinstance(value, cst.Call) else value) or ""
    kind = name.rpartition(".")[2].removesuffix("_initializer")
    if kind in _PLACED:
        _stop(draft, node, "a row of it depends on its place")
    elif kind in _CONSTANT and name and isinstance(value, cst.Call) and value.args:
        given = {arg.keyword.value if arg.keyword is not None else "value": arg.value for arg in value.args[::-1]}
        first = given.get("value")
        if first is not None and _is_array(draft, first):
            _stop(draft, node, "its value is not seen to be one number")


def _is_array(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for what is not a number, nor made of numbers and of names that are not seen."""
    return any(not _is_number(draft, one) for one in reached(node, lambda one: _operands(draft, one)))


def _operands(draft: Draft, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return what a number is computed from; for a name, what it stands for."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    return [resolve(draft.tree, node)]


def _is_number(draft: Draft, value: cst.BaseExpression) -> bool:
    """True for a number, for what is computed, and for a name."""
    if isinstance(value, cst.BinaryOperation | cst.UnaryOperation | cst.Name | cst.Attribute):
        return True
    cast = isinstance(value, cst.Call) and builtin(draft.tree, value.func) in {"float", "int"}
    return cast or isinstance(literal(value), int | float)


def _stop(draft: Draft, node: cst.BaseExpression, reason: str) -> None:
    shown = " ".join(draft.tree.source(node).split())[:60]
    draft.stop(node, VARIABLE, f"`{shown}` initialises a table", reason, _ACTION)


def is_function(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for a lambda, or the name of a function of the file."""
    value = resolve(draft.tree, node)
    named = isinstance(value, cst.Name) and isinstance(draft.tree.named(value), cst.FunctionDef)
    return isinstance(value, cst.Lambda) or named


def may_be_none(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for what some line, or the default of its parameter, makes None, other than None itself."""
    tree = draft.tree
    if isinstance(node, cst.IfExp):
        return any(_is_none(one) or may_be_none(draft, one) for one in (node.body, node.orelse))
    if isinstance(node, cst.Attribute):
        found: list[cst.BaseExpression] = [*tree.attributes.get(node.attr.value, ())]
    elif isinstance(node, cst.Name) and (scope := scope_of_name(tree, node)) is not None:
        found = [*local_names(tree, node.value, scope)]
    else:
        return False
    for target in (one for one in found if is_target(tree, one)):
        around = tree.parent(target)
        value = around.default if isinstance(around, cst.Param) else assigned_value(tree, target)
        if value is not None and _is_none(value):
            return True
    return _is_none(resolve(tree, node))


def _is_none(node: cst.BaseExpression) -> bool:
    return is_none(cst.Arg(node))
