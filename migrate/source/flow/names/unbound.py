"""Whether a name of a builtin may be read before the module binds it, and so mean the builtin."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst.metadata import ClassScope, GlobalScope

from migrate.source.flow.names.bindings import certain_names, owners
from migrate.source.flow.names.frames import frame_of
from migrate.source.syntax.tree import Tree

_Statement = cst.BaseStatement | cst.BaseSmallStatement


def may_be_unbound(tree: Tree, node: cst.Name) -> bool:
    """True for a module-level or class-level name that may be read before it is bound."""
    scopes = owners(tree, node.value, node)
    if any(isinstance(scope, ClassScope) for scope in scopes):
        return True
    return any(isinstance(scope, GlobalScope) for scope in scopes) and not _is_bound_before(tree, node)


def _is_bound_before(tree: Tree, node: cst.Name) -> bool:
    """True if the module surely binds the name before anything can run the code that reads it."""
    body: Sequence[_Statement] = tree.module_of(node).body
    around = {id(one) for one in tree.ancestors(node)}
    place = next((n for n, one in enumerate(body) if id(one) in around), None)
    bound = next((n for n, one in enumerate(body) if node.value in certain_names([one])), None)
    if place is None or bound is None or _is_deleted(tree, node.value):
        return False
    if place > bound:
        return True
    # The function is made first. It cannot run before the name is bound if nothing between the two runs anything.
    deferred = not isinstance(frame_of(tree, node), cst.Module)
    return deferred and all(_is_inert(one) for one in body[place:bound])


def _is_inert(statement: _Statement) -> bool:
    """True for statements that run nothing of the program; an import may run files that import this one."""
    if isinstance(statement, cst.FunctionDef):
        heads = [statement.params, *([statement.returns] if statement.returns else ())]
        return not statement.decorators and not any(map(_calls, heads))
    if isinstance(statement, cst.ClassDef):
        heads = [*statement.decorators, *statement.bases, *statement.keywords]
        return not any(map(_calls, heads)) and not statement.decorators and all(map(_is_inert, statement.body.body))
    if isinstance(statement, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return all(map(_is_inert, statement.body))
    return isinstance(statement, cst.Assign | cst.AnnAssign | cst.Expr | cst.Pass) and not _calls(statement)


def _calls(node: cst.CSTNode) -> bool:
    """True if evaluating the node calls something; an operator or an index may, too."""
    if isinstance(node, cst.Call | cst.BinaryOperation | cst.Subscript | cst.Attribute | cst.Comparison | cst.Await):
        return True
    return not isinstance(node, cst.Lambda) and any(map(_calls, node.children))


def _is_deleted(tree: Tree, name: str) -> bool:
    """True if a `del` may take the name away again."""
    uses = tree.names.get(name, ())
    return any(isinstance(around, cst.Del) for use in uses for around in tree.ancestors(use))
