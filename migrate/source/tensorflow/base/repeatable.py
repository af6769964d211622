"""Recognizes expressions that may be evaluated twice, and attribute accesses without side effects."""

from __future__ import annotations

import libcst as cst

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
    calls = _Calls()
    node.visit(calls)
    pure = all(isinstance(c.func, cst.Name) and c.func.value in PURE_CALLS for c in calls.found)
    return pure and not calls.sets


def reads_plainly(file: File, node: cst.CSTNode) -> bool:
    """True if no attribute or entry read in `node` is known to be a property or entry that computes its value."""
    tree = file.tree
    if nodes_in(node, cst.Subscript) and any(name in tree.names for name in ENTRIES):
        return False
    names = {one.attr.value for one in nodes_in(node, cst.Attribute)}
    made = [tree.parent(use) for name in names for use in tree.names.get(name, ())]
    return all(_gives(one) for one in made if isinstance(one, cst.FunctionDef) and one.decorators)


def _gives(function: cst.FunctionDef) -> bool:
    """True for a function that only returns an expression without calls."""
    small = (line.body if isinstance(line, cst.SimpleStatementLine) else [line] for line in function.body.body)
    code = [one for line in small for one in line if not _is_docstring(one)]
    return len(code) == 1 and isinstance(code[0], cst.Return) and is_repeatable(code[0].value)


def _is_docstring(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Expr) and isinstance(node.value, cst.SimpleString | cst.ConcatenatedString)


class _Calls(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Call] = []
        self.sets = False  #: True if an assignment expression binds a name

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self.sets = True

    def visit_Call(self, node: cst.Call) -> None:
        self.found.append(node)
