"""Optimizers that a function, a method or a constructor is given: where the only call of it passes a stock one."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import GlobalScope

from migrate.source.frontends.tensorflow.called import argument_of, calls_of, parameters
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.shapes import reads_plainly
from migrate.source.frontends.tensorflow.values import (
    assigned_value,
    is_fixed,
    is_target,
    local_names,
    scope_of_name,
)


def handed(file: File, parameter: cst.Name) -> cst.Call | None:
    """Return the call that makes what a parameter is given, where it can be written in the function as well.

    The function has one caller, in its own file; None otherwise.
    """
    param = file.tree.parent(parameter)
    function = file.tree.enclosing(parameter, cst.FunctionDef)
    if function is None or not isinstance(param, cst.Param):
        return None
    known = parameters(file, function)
    if all(one is not param for one in (*known, *function.params.kwonly_params)):
        return None
    calls = calls_of(file, function)
    if calls is None or len(calls) != 1 or file.tree.module_of(calls[0]) is not file.tree.module_of(function):
        return None
    given = argument_of(known, calls[0], parameter.value)
    made = _only_value(file, given) if isinstance(given, cst.Name) else given
    if not isinstance(made, cst.Call) or not all(_means_the_same(file, arg.value) for arg in made.args):
        return None
    return made


def stored(file: File, value: cst.BaseExpression) -> cst.Call | None:
    """Return the same for the `optimizer` of `self.optimizer = optimizer`, a parameter that is only stored there."""
    scope = scope_of_name(file.tree, value) if isinstance(value, cst.Name) else None
    uses = local_names(file.tree, value.value, scope) if scope is not None and isinstance(value, cst.Name) else []
    bound = [use for use in uses if is_target(file.tree, use)]
    return handed(file, bound[0]) if len(uses) == 2 and len(bound) == 1 else None


def _only_value(file: File, name: cst.Name) -> cst.BaseExpression | None:
    """Return the value of a name that is bound once and only read here."""
    scope = scope_of_name(file.tree, name)
    uses = local_names(file.tree, name.value, scope) if scope is not None else []
    bound = [use for use in uses if is_target(file.tree, use)]
    return assigned_value(file.tree, bound[0]) if len(uses) == 2 and len(bound) == 1 else None


def _means_the_same(file: File, node: cst.BaseExpression) -> bool:
    """True for a literal, for a name of the module that is bound once, and for its attributes that nothing sets."""
    if isinstance(node, cst.Attribute):
        written = any(is_target(file.tree, one) for one in file.tree.attributes.get(node.attr.value, ()))
        return not written and reads_plainly(file, node) and _means_the_same(file, node.value)
    if isinstance(node, cst.Name) and node.value not in {"True", "False", "None"}:
        return isinstance(scope_of_name(file.tree, node), GlobalScope) and is_fixed(file.tree, node)
    return isinstance(node, cst.BaseNumber | cst.SimpleString | cst.Name)
