"""Scopes that order the ops created in them, or replace gradients: `with tf.control_dependencies(...):`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.callers import last_name, runs, runs_at_once

NAMES = ("control_dependencies", "gradient_override_map")


def names_ordered_scopes(file: File, node: cst.CSTNode) -> bool:
    """True if any file of the program around `node` names such a scope."""
    return any(True for _ in _mentions(file, node))


def may_be_ordered(file: File, node: cst.CSTNode) -> bool:
    """True if `node` may run inside such a scope, which a caller of its function may have opened."""
    if not names_ordered_scopes(file, node):
        return False
    if any(not _opens_with(file, one) for one in _mentions(file, node)):
        return True  # kept in a name, or entered by a stack: where it ends is not seen
    return any(_is_inside(file, one) for one in reached(node, lambda one: _callers(file, one)))


def _mentions(file: File, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for part in file.program(node):
        for name in NAMES:
            yield from part.tree.attributes.get(name, ())
            yield from part.tree.names.get(name, ())


def _opens_with(file: File, mention: cst.CSTNode) -> bool:
    """True for the function of `with scope(...):`."""
    whole = file.tree.parent(mention)
    if isinstance(whole, cst.Attribute):  # `control_dependencies` as the name of its attribute
        mention, whole = whole, file.tree.parent(whole)
    called = isinstance(whole, cst.Call) and whole.func is mention
    return called and isinstance(file.tree.parent(whole) if whole is not None else None, cst.WithItem)


def _is_inside(file: File, node: cst.CSTNode) -> bool:
    """True for code in such a scope of its function, or in a function of which not all callers are known."""
    for around in file.tree.ancestors(node):
        if isinstance(around, cst.With) and any(_is_scope(item.item) for item in around.items):
            return True
        if isinstance(around, cst.Lambda) and not runs_at_once(file, around):
            return True
        if isinstance(around, cst.FunctionDef):
            return runs(file, around)[1]
    return False


def _is_scope(item: cst.BaseExpression) -> bool:
    return isinstance(item, cst.Call) and last_name(item.func) in NAMES


def _callers(file: File, node: cst.CSTNode) -> list[cst.CSTNode]:
    function = file.tree.enclosing(node, cst.FunctionDef)
    return runs(file, function)[0] if isinstance(function, cst.FunctionDef) else []
