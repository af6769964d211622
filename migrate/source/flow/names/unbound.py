"""Whether a name of a builtin may be read before the module binds it, and so mean the builtin."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import ClassScope, GlobalScope

from migrate.source.flow.names.bindings import certain_names, owners
from migrate.source.flow.names.frames import frame_of
from migrate.source.syntax.tree import Tree


def may_be_unbound(tree: Tree, node: cst.Name) -> bool:
    """True for a module-level or class-level name that may be read before it is bound."""
    scopes = owners(tree, node.value, node)
    if any(isinstance(scope, ClassScope) for scope in scopes):
        return True
    return any(isinstance(scope, GlobalScope) for scope in scopes) and not _is_bound_before(tree, node)


def _is_bound_before(tree: Tree, node: cst.Name) -> bool:
    """True if the module surely binds the name above the code that reads it."""
    body = tree.module_of(node).body
    around = {id(one) for one in tree.ancestors(node)}
    place = next((n for n, one in enumerate(body) if id(one) in around), None)
    bound = next((n for n, one in enumerate(body) if node.value in certain_names([one])), None)
    if place is None or bound is None or _is_deleted(tree, node.value):
        return False
    return place > bound or (place == bound and not isinstance(frame_of(tree, node), cst.Module))


def _is_deleted(tree: Tree, name: str) -> bool:
    """True if a `del` may take the name away again."""
    uses = tree.names.get(name, ())
    return any(isinstance(around, cst.Del) for use in uses for around in tree.ancestors(use))
