"""Recognizes expressions that may be evaluated twice, and attribute accesses without side effects."""

from __future__ import annotations

import libcst as cst

from migrate.source.syntax.blocks import is_docstring
from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.rule_kinds import File

#: Builtins without side effects whose result depends on their arguments only.
PURE_CALLS = {"int", "len", "max", "min", "round", "float", "abs"}
#: Names in code that computes entries when they are read.
ENTRIES = ("__getitem__", "__missing__", "__class_getitem__", "defaultdict")


def is_repeatable(node: cst.CSTNode | None) -> bool:
    """True if evaluating the expression twice gives the same value and has no side effects."""
    if node is None:
        return True
    pure = all(isinstance(one.func, cst.Name) and one.func.value in PURE_CALLS for one in nodes_in(node, cst.Call))
    return pure and not nodes_in(node, cst.NamedExpr)


def reads_plainly(file: File, node: cst.CSTNode) -> bool:
    """True if no attribute or entry read in `node` is known to be a property or entry that computes its value."""
    tree = file.tree
    if nodes_in(node, cst.Subscript) and any(name in tree.names for name in ENTRIES):
        return False
    names = {one.attr.value for one in nodes_in(node, cst.Attribute)}
    around = [tree.parent(use) for name in names for use in tree.names.get(name, ())]
    return all(_gives(one) for one in around if isinstance(one, cst.FunctionDef) and one.decorators)


def _gives(function: cst.FunctionDef) -> bool:
    """True for a function that only returns an expression without calls."""
    lines = [line for line in function.body.body if not is_docstring(line)]
    code = lines[0].body if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine) else lines
    return len(code) == 1 and isinstance(code[0], cst.Return) and is_repeatable(code[0].value)
