"""Dicts and lists that take in the members of others: `dict(W)`, `list(W.values())`, `W.update(V)`, `[*V, t]`, `V + U`.

The copy is followed as a collection of its own, which may have whatever the other one has at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.frontends.tensorflow.args import literal
from migrate.source.frontends.tensorflow.containers import ORDERED
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.values import builtin, resolve

#: Methods that give the members of a dict as they are read by a copy.
MEMBERS = {"values", "itervalues"}
PAIRS = {"items", "iteritems"}


@dataclass(frozen=True)
class Copy:
    """Members of the collection at `of` are put into the one at `made`, in their places or under other keys."""

    made: cst.BaseExpression  #: the new collection, or a mention of the one that takes them in
    of: cst.BaseExpression
    keeps: bool


def made_of(file: File, value: cst.BaseExpression) -> list[Copy] | None:
    """Return the copies of which an expression makes a new collection; None where it is no such expression."""
    found = list(_parts(file, value))
    return found or None


def _parts(file: File, value: cst.BaseExpression) -> Iterator[Copy]:
    if isinstance(value, cst.Call):
        first = value.args[0] if value.args else None
        plain = first is not None and not first.star and first.keyword is None
        if plain and first is not None and _takes(file, value):
            yield from _given(file, value, first.value, listed=builtin(file.tree, value.func) in {"list", "tuple"})
        elif not value.args and isinstance(value.func, cst.Attribute) and value.func.attr.value == "copy":
            yield Copy(value, value.func.value, keeps=True)
    elif isinstance(value, cst.Dict):
        yield from (Copy(value, e.value, keeps=True) for e in value.elements if isinstance(e, cst.StarredDictElement))
    elif isinstance(value, cst.List | cst.Tuple):
        yield from (Copy(value, e.value, keeps=False) for e in value.elements if isinstance(e, cst.StarredElement))
    elif isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add | cst.BitOr):
        for side in (value.left, value.right):
            yield Copy(value, side, keeps=isinstance(value.operator, cst.BitOr))
    elif isinstance(value, cst.Subscript) and len(value.slice) == 1 and isinstance(value.slice[0].slice, cst.Slice):
        part = value.slice[0].slice
        yield Copy(value, value.value, keeps=part.lower is None and part.step is None)


def _takes(file: File, call: cst.Call) -> bool:
    """True for `dict(V)`, with more entries by keyword, `OrderedDict(V)`, `list(V)` and `tuple(V)`."""
    imported, shadowed = file.tree.imported_names(call.func)
    named = builtin(file.tree, call.func) or ("dict" if imported and not shadowed and imported <= ORDERED else "")
    rest = call.args[1:]
    if named == "dict":
        return all(arg.keyword is not None for arg in rest)
    return named in {"list", "tuple"} and not rest


def _given(file: File, made: cst.BaseExpression, value: cst.BaseExpression, *, listed: bool) -> Iterator[Copy]:
    """Yield the copy that a constructor, `update` or `extend` makes of what it is given."""
    call = value if isinstance(value, cst.Call) else None
    method = call.func if call is not None and not call.args and isinstance(call.func, cst.Attribute) else None
    if method is not None and method.attr.value in (MEMBERS if listed else PAIRS):
        yield Copy(made, method.value, keeps=not listed)
    elif call is not None and not listed and builtin(file.tree, call.func) == "zip" and len(call.args) == 2:
        if not any(arg.star or arg.keyword for arg in call.args):
            yield Copy(made, call.args[1].value, keeps=False)
    elif _kind(file, value) == ("list" if listed else "dict"):
        yield Copy(made, value, keeps=True)


def taken_in(file: File, node: cst.BaseExpression) -> Copy | None:
    """Return the copy that `W.update(V)`, `W.extend(V)` and `W += V` make for the `W` at `node`."""
    around = file.tree.parent(node)
    if isinstance(around, cst.AugAssign) and around.target is node:
        added = isinstance(around.operator, cst.AddAssign | cst.BitOrAssign)
        return Copy(node, around.value, keeps=isinstance(around.operator, cst.BitOrAssign)) if added else None
    call = file.tree.parent(around) if isinstance(around, cst.Attribute) and around.value is node else None
    if not isinstance(call, cst.Call) or not isinstance(around, cst.Attribute) or len(call.args) != 1:
        return None
    arg = call.args[0]
    if arg.star or arg.keyword is not None or not isinstance(file.tree.parent(call), cst.Expr):
        return None
    if around.attr.value == "extend":
        found = next(_given(file, node, arg.value, listed=True), None)
        return Copy(node, found.of if found is not None else arg.value, keeps=False)
    return next(_given(file, node, arg.value, listed=False), None) if around.attr.value == "update" else None


def copy_from(file: File, node: cst.BaseExpression) -> Copy | None:
    """Return the copy of the collection mentioned, or made, at `node`; None for any other use of it."""
    for around, _ in zip(file.tree.ancestors(node), range(5), strict=False):
        for copy in _copies_at(file, around):
            if copy.of is node:
                return copy
    return None


def _copies_at(file: File, around: cst.CSTNode) -> Iterator[Copy]:
    if isinstance(around, cst.BaseExpression):
        yield from _parts(file, around)
    target: cst.BaseExpression | None = around.target if isinstance(around, cst.AugAssign) else None
    if isinstance(around, cst.Call) and isinstance(around.func, cst.Attribute):
        target = around.func.value
    taken = taken_in(file, target) if target is not None else None
    if taken is not None:
        yield taken


def is_list_of(file: File, value: cst.BaseExpression) -> bool:
    """True where a copy is a list, and no tuple."""
    tuples = isinstance(value, cst.Call) and builtin(file.tree, value.func) == "tuple"
    return _kind(file, value) == "list" and not tuples and not isinstance(resolve(file.tree, value), cst.Tuple)


def is_dict_of(file: File, value: cst.BaseExpression) -> bool:
    """True where a copy is a dict."""
    return _kind(file, value) == "dict"


def _kind(file: File, value: cst.BaseExpression, depth: int = 4) -> str | None:
    """Return whether an expression is a dict or a list; None where that is not seen."""
    found = resolve(file.tree, value)
    if isinstance(found, cst.Dict | cst.DictComp):
        return "dict"
    if isinstance(found, cst.List | cst.ListComp | cst.Tuple):
        return "list"
    if isinstance(found, cst.Call):
        name = builtin(file.tree, found.func)
        imported, shadowed = file.tree.imported_names(found.func)
        if name == "dict" or (imported and not shadowed and imported <= ORDERED):
            return "dict"
        if name in {"list", "tuple"}:
            return "list"
        if isinstance(found.func, cst.Attribute) and found.func.attr.value == "copy" and depth:
            return _kind(file, found.func.value, depth - 1)
        return None
    if isinstance(found, cst.BinaryOperation) and depth:
        if isinstance(found.operator, cst.Multiply):
            return _kind(file, found.left, depth - 1)
        kinds = {_kind(file, side, depth - 1) for side in (found.left, found.right)}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(found, cst.Subscript) and depth and literal(found) is ...:
        sliced = len(found.slice) == 1 and isinstance(found.slice[0].slice, cst.Slice)
        return _kind(file, found.value, depth - 1) if sliced else None
    return None
