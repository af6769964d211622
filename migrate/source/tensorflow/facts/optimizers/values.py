"""Optimizers that reach a training step through other names, containers, objects or calls.

The optimizer of the tables is then created at the step with the same arguments, which must have the same values there.
"""

from __future__ import annotations

from collections.abc import Container

import libcst as cst
from libcst.metadata import FunctionScope, GlobalScope

from migrate.source.flow import Computed, Constant, Result
from migrate.source.tensorflow.base.bindings import is_fixed, is_target, scope_of_name, self_class
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.repeatable import reads_plainly
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, known_values, only_asks, symbol_of


def maker_of(
    file: File,
    receiver: cst.BaseExpression,
    known: Container[str],
    training: Container[str],
    harmless: Container[str],
) -> tuple[cst.Call, str] | None:
    """Return the single call that creates the value of `receiver`, with its symbol, if it can be repeated at the step.

    None if the value may be anything else, if its class is not in `known`, or if it escapes to code that may train with
    it. `training` are the methods that train, `harmless` the attributes that may be read.
    """
    # Constants and results of operators have no such methods; they only share a container with the optimizer.
    values = [value for value in known_values(file, receiver) if not isinstance(value, Constant | Computed)]
    if len(values) != 1:
        return None
    value, name = values[0], symbol_of(values[0])
    if not isinstance(value, Result) or not isinstance(value.node, cst.Call) or name is None or name not in known:
        return None
    if file.tree.module_of(value.node) is not file.tree.module_of(receiver):
        return None
    if not all(means_the_same(file, arg.value, receiver) for arg in value.node.args):
        return None
    flow = flow_of(file)
    # unanalysed callers do not train tables of this program
    uses = [use for use in flow.uses(value) if not flow.leaves(use)]
    if any(node not in uses for node in flow.escapes(value)):
        return None
    return (value.node, name) if all(_is_harmless(file, use, training, harmless) for use in uses) else None


def _is_harmless(file: File, use: cst.BaseExpression, training: Container[str], harmless: Container[str]) -> bool:
    """True for a call of a training method, and for uses that train nothing."""
    around = file.tree.parent(use)
    if isinstance(around, cst.Attribute) and around.value is use and not is_target(file.tree, around):
        call = file.tree.parent(around)
        called = isinstance(call, cst.Call) and call.func is around
        return around.attr.value in harmless or (called and around.attr.value in training)
    return only_asks(file, use) or prints(file, use)


def means_the_same(file: File, node: cst.BaseExpression, there: cst.CSTNode) -> bool:
    """True if an expression has the same value when it is evaluated at `there`: for literals and fixed names."""
    if isinstance(node, cst.BaseNumber | cst.BaseString):
        return True
    if isinstance(node, cst.UnaryOperation):
        return means_the_same(file, node.expression, there)
    if isinstance(node, cst.BinaryOperation):
        return means_the_same(file, node.left, there) and means_the_same(file, node.right, there)
    if isinstance(node, cst.Attribute) and self_class(file.tree, node) is None:
        written = any(is_target(file.tree, one) for one in file.tree.attributes.get(node.attr.value, ()))
        fixed = not written and reads_plainly(file, node) and len(flow_of(file).values(node)) < 2
        return fixed and means_the_same(file, node.value, there)
    if isinstance(node, cst.Name) and node.value not in {"True", "False", "None"}:
        return is_fixed(file.tree, node) and _is_seen(file, node, there) and not _may_change(file, node)
    return isinstance(node, cst.Name)


def _may_change(file: File, name: cst.Name) -> bool:
    """True for a module-level name that another file, or unanalysed code, also binds."""
    outer = isinstance(scope_of_name(file.tree, name), GlobalScope)
    return outer and len(flow_of(file).values(name)) > 1


def _is_seen(file: File, name: cst.Name, there: cst.CSTNode) -> bool:
    """True if the name belongs to the scope of the module, or of a function around both places."""
    scope = scope_of_name(file.tree, name)
    if isinstance(scope, FunctionScope):
        around = file.tree.enclosing(there, cst.FunctionDef)
        return around is not None and scope.node is around and file.tree.enclosing(name, cst.FunctionDef) is around
    at = file.tree.scope(there)
    found = at[name.value] if at is not None and name.value in at else ()
    return isinstance(scope, GlobalScope) and all(one.scope is scope for one in found)
