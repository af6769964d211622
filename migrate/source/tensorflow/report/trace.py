"""The functions that a line calls, as the analysis resolves them, and the rules that read them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.initializers import Initializers
from migrate.source.tensorflow.base.rule_kinds import CreationRule, File, LookupRule, foreign_symbols
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.symbols import TfNames


def asked(path: str, text: str, line: int) -> Iterator[str]:
    """Yield a sentence for each call on a line."""
    tree = Tree(path, text)
    names = TfNames(tree, foreign_symbols())
    file = File(tree, names, Initializers(names))
    for call in tree.calls:
        place = tree.location(call.func)
        called = isinstance(call.func, cst.Call) and names.of(call.func.func) is not None
        if place.line <= line <= place.end_line and not called:  # `Dense(1)(x)`: the layer has a sentence of its own
            yield _sentence(file, call)


def _sentence(file: File, call: cst.Call) -> str:
    shown = f"`{file.tree.excerpt(call.func)}`"
    name = file.names.of(call.func)
    if name is None:
        return f"{shown} is not TensorFlow's, as far as this file shows: {_why_unknown(file, call)}; no rule reads it"
    readers = [rule.id for rule in rules(CreationRule) if name in rule.symbols]
    readers += [rule.id for rule in rules(LookupRule) if name in rule.symbols]
    if not readers:
        return f"{shown} is `{name}`: no rule for variables and lookups reads it"
    return f"{shown} is `{name}`: read by {', '.join(dict.fromkeys(readers))}"


def _why_unknown(file: File, call: cst.Call) -> str:
    leftmost: cst.BaseExpression = call.func
    while isinstance(leftmost, cst.Attribute | cst.Call | cst.Subscript):
        leftmost = leftmost.func if isinstance(leftmost, cst.Call) else leftmost.value
    if not isinstance(leftmost, cst.Name):
        return "it is called on a value"
    imported, also = file.tree.imported_names(leftmost)
    if imported:
        rest = " and is bound again" if also else ""
        return f"`{leftmost.value}` is the import {', '.join(f'`{name}`' for name in sorted(imported))}{rest}"
    return f"`{leftmost.value}` comes from no import"
