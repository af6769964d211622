"""Texts that are put together from the names of variable scopes: `scope.name + "/embedding"`."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import Result, Value
from migrate.source.tensorflow.base.arguments import bind, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import seen_values
from migrate.source.tensorflow.facts.calls.variable_scopes import PARAMETERS, prefix

#: Attributes of a variable scope that give its whole name, with that of the scopes around it.
NAMES = {"name", "_name"}


def scope_text(file: File, node: cst.BaseExpression) -> str | None:
    """Return the text that an expression gives in every run: of literals, sums and names of scopes; None if unknown."""
    text = string(resolve(file.tree, node))
    if text is not None:
        return text
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        parts = [scope_text(file, side) for side in (node.left, node.right)]
        return "".join(part for part in parts if part) if None not in parts else None
    if isinstance(node, cst.Attribute) and node.attr.value in NAMES:
        found = {_name(file, value) for value in seen_values(file, node.value)}
        return found.pop() if len(found) == 1 else None
    made = resolve(file.tree, node)
    return scope_text(file, made) if made is not node and not isinstance(made, cst.Name) else None


def _name(file: File, value: Value) -> str | None:
    """Return the whole name of the scope that `with tf.variable_scope("a") as scope` binds; None for another value."""
    item = value.node if isinstance(value, Result) else None
    around = file.tree.parent(item) if isinstance(item, cst.WithItem) else None
    if not isinstance(item, cst.WithItem) or not isinstance(around, cst.With) or len(around.items) > 1:
        return None
    call = item.item
    if not isinstance(call, cst.Call) or file.names.of(call.func) != "variable_scope":
        return None
    bound = bind(call, PARAMETERS) or {}
    last = string(bound["name_or_scope"].value) if "name_or_scope" in bound else None
    outer = prefix(file, around)
    return "/".join(part for part in (*outer, last) if part) if last is not None and outer is not None else None
