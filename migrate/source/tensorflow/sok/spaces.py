"""Names that a program reads as strings: `locals()["table"]`, `vars().get("table")`, all of `globals()`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import Scope

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import literal
from migrate.source.tensorflow.base.bindings import builtin, is_target

_SPACES = ("globals", "locals", "vars")
_READS = {"get", "pop", "setdefault", "__getitem__"}
#: Functions that only list, test or print the names of a namespace.
_HARMLESS_METHODS = {"keys", "update", "__contains__", "__setitem__"}
_HARMLESS = {"len", "list", "print", "set", "sorted", "tuple"}


@dataclass(frozen=True)
class Space:
    """A place that reads names of a scope as strings."""

    node: cst.BaseExpression
    scope: Scope
    name: str | None  #: None for all


def spaces(tree: Tree) -> Iterator[Space]:
    """Yield the places of a file that read names as strings."""
    for word in _SPACES:
        for node in tree.names.get(word, ()):
            call, scope = tree.parent(node), tree.scope(node)
            called = isinstance(call, cst.Call) and call.func is node and not call.args
            if isinstance(call, cst.Call) and called and scope is not None and builtin(tree, node) == word:
                yield from _read(tree, call, scope.globals if word == "globals" else scope)


def _read(tree: Tree, call: cst.Call, scope: Scope) -> Iterator[Space]:
    around = tree.parent(call)
    outer = tree.parent(around) if isinstance(around, cst.Arg | cst.Attribute) else None
    match around:
        case cst.Expr() | cst.ComparisonTarget() | cst.For() | cst.CompFor():
            pass
        case cst.Subscript() if around.value is call:
            index = around.slice[0].slice
            text = literal(index.value) if isinstance(index, cst.Index) else None
            if not is_target(tree, around):
                yield Space(around, scope, text if isinstance(text, str) else None)
        case cst.Attribute() if around.attr.value in _HARMLESS_METHODS:
            pass
        case cst.Attribute() if around.attr.value in _READS and isinstance(outer, cst.Call) and outer.args:
            text = literal(outer.args[0].value)
            yield Space(outer, scope, text if isinstance(text, str) else None)
        case cst.Arg() if not around.star and isinstance(outer, cst.Call) and builtin(tree, outer.func) in _HARMLESS:
            pass
        case _:
            yield Space(call, scope, None)
