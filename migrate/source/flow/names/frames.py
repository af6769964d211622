"""The code object that a piece of code runs in."""

from __future__ import annotations

import libcst as cst

from migrate.source.syntax.tree import Tree

#: A code object: a function, a lambda, or a module body.
Frame = cst.FunctionDef | cst.Lambda | cst.Module


def frame_of(tree: Tree, node: cst.CSTNode) -> Frame:
    """Return the function whose body contains `node`; defaults and decorators belong to the enclosing code."""
    before = node
    for around in tree.ancestors(node):
        if isinstance(around, cst.FunctionDef | cst.Lambda) and around.body is before:
            return around
        before = around
    return tree.module_of(node)
