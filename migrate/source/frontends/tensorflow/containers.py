"""Dicts and lists that hold variables: what one line puts into them, reads from them, or does with them as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.frontends.tensorflow.args import literal, string
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.talk import is_shown
from migrate.source.frontends.tensorflow.trained import is_trained
from migrate.source.frontends.tensorflow.values import assigned_value, builtin, is_target

#: A key as an expression, a place in a list, or None for one that is not known.
Key = cst.BaseExpression | int | None
#: What makes a dict or a list, beside the functions of Python that are called so.
ORDERED = {"collections.OrderedDict", "ordereddict.OrderedDict"}
#: What a loop may go through instead of the members themselves, with the place of a member in each item.
VIEWS = {"values": (), "itervalues": (), "items": (1,), "iteritems": (1,)}
KEYS = {"keys", "iterkeys"}
#: Functions of Python that give the members of one list, in some order.
SAME = {"list", "tuple", "reversed", "sorted", "iter"}


@dataclass(frozen=True)
class Put:
    """A value that becomes a member."""

    value: cst.BaseExpression
    key: Key = None


@dataclass(frozen=True)
class Read:
    """An expression that is a member, or a name that a loop or an assignment binds to one."""

    node: cst.BaseExpression
    key: Key = None
    bound: bool = False


@dataclass
class Use:
    """What one use of a collection does with its members; nothing for one that trains, counts or names them."""

    puts: list[Put] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)


def is_display(file: File, node: cst.CSTNode | None) -> bool:
    """True for an expression that makes a new dict or list, whose members it shows."""
    if isinstance(node, cst.Call):
        named = all(arg.keyword is not None for arg in node.args)
        return _makes_collection(file, node.func) and (named or _pairs(node) is not None)
    return isinstance(node, cst.Dict | cst.List | cst.Tuple | cst.DictComp | cst.ListComp)


def _makes_collection(file: File, func: cst.BaseExpression) -> bool:
    imported, shadowed = file.tree.imported_names(func)
    ordered = bool(imported) and not shadowed and imported <= ORDERED
    return ordered or builtin(file.tree, func) in {"dict", "list"}


def _pairs(call: cst.Call) -> list[cst.Tuple] | None:
    """Return the pairs of `dict((k, v) for k in …)` and `dict([(k, v), …])`; None for other calls."""
    name = call.func.value if isinstance(call.func, cst.Name) else call.func
    given = call.args[0] if len(call.args) == 1 and name != "list" else None
    if given is None or given.star or given.keyword is not None:
        return None
    found: list[cst.BaseExpression] = []
    if isinstance(given.value, cst.GeneratorExp | cst.ListComp):
        found = [given.value.elt]
    elif isinstance(given.value, cst.List | cst.Tuple):
        found = [one.value for one in given.value.elements]
    pairs = [one for one in found if isinstance(one, cst.Tuple) and _is_pair(one)]
    return pairs if pairs and len(pairs) == len(found) else None


def _is_pair(node: cst.Tuple) -> bool:
    return len(node.elements) == 2 and all(isinstance(one, cst.Element) for one in node.elements)


def is_dict(node: cst.BaseExpression) -> bool:
    """True for a display of a dict."""
    named = isinstance(node, cst.Call) and not (isinstance(node.func, cst.Name) and node.func.value == "list")
    return named or isinstance(node, cst.Dict | cst.DictComp)


def shown(node: cst.BaseExpression) -> list[Put] | None:
    """Return the members of a display; None when it takes in those of another collection."""
    if isinstance(node, cst.ListComp):
        return [Put(node.elt)]
    if isinstance(node, cst.DictComp):
        return [Put(node.value, node.key)]
    if isinstance(node, cst.Call):
        pairs = [Put(one.elements[1].value, one.elements[0].value) for one in _pairs(node) or ()]
        return pairs or [Put(arg.value, _text(arg.keyword)) for arg in node.args if arg.keyword]
    if isinstance(node, cst.Dict):
        entries = [e for e in node.elements if isinstance(e, cst.DictElement)]
        return [Put(e.value, e.key) for e in entries] if len(entries) == len(node.elements) else None
    listed = node.elements if isinstance(node, cst.List | cst.Tuple) else ()
    plain = all(isinstance(e, cst.Element) for e in listed)
    return [Put(e.value, i) for i, e in enumerate(listed)] if plain else None


def unstarred(node: cst.BaseExpression) -> list[Put]:
    """Return the members that a display shows beside those of other collections, whose places are not known then."""
    if isinstance(node, cst.Call):
        return [Put(arg.value, _text(arg.keyword)) for arg in node.args if arg.keyword]
    if isinstance(node, cst.Dict):
        return [Put(e.value, e.key) for e in node.elements if isinstance(e, cst.DictElement)]
    listed = node.elements if isinstance(node, cst.List | cst.Tuple) else ()
    return [Put(e.value) for e in listed if isinstance(e, cst.Element)]


def is_room(value: cst.BaseExpression) -> bool:
    """True for `[None] * n`, a list to be filled."""
    listed = value.left if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply) else None
    return isinstance(listed, cst.List) and all(literal(one.value) is None for one in listed.elements)


def _text(name: cst.Name) -> cst.SimpleString:
    return cst.SimpleString(f'"{name.value}"')


def holder_of(file: File, node: cst.BaseExpression) -> tuple[cst.BaseExpression, Key] | None:
    """Return the collection that `node` is put into, as a display or as what it is bound to, and the key."""
    around = file.tree.parent(node)
    if isinstance(around, cst.ListComp) and around.elt is node:
        return around, None
    if isinstance(around, cst.DictComp) and around.value is node:
        return around, around.key
    if isinstance(around, cst.DictElement) and around.value is node:
        whole = file.tree.parent(around)
        if not isinstance(whole, cst.Dict):
            return None
        updated = _updated(file, whole)
        return (updated or whole), around.key
    if isinstance(around, cst.Element):
        listed = file.tree.parent(around)
        if (made := _made_of(file, listed)) is not None and isinstance(listed, cst.Tuple):
            key = listed.elements[0].value
            return (made, key) if listed.elements[1] is around else None
        if not isinstance(listed, cst.List | cst.Tuple) or is_target(file.tree, listed):
            return None
        starred = any(isinstance(e, cst.StarredElement) for e in listed.elements)
        return listed, None if starred else next(i for i, e in enumerate(listed.elements) if e is around)
    if isinstance(around, cst.Assign) and around.value is node and len(around.targets) == 1:
        target = around.targets[0].target
        return (target.value, entry(target)) if isinstance(target, cst.Subscript) and entry(target) else None
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(around, cst.Arg) and around.keyword is not None and isinstance(call, cst.Call):
        updated = _updater(call)
        if updated is not None or is_display(file, call) or _makes_collection(file, call.func):
            return (updated or call), _text(around.keyword)
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    found = use(file, call.func.value, listed=call.func.attr.value == "append")
    put = next((one for one in found.puts if one.value is node), None) if found is not None else None
    return (call.func.value, put.key) if put is not None else None


def _made_of(file: File, pair: cst.CSTNode | None) -> cst.Call | None:
    """Return the `dict(…)` or `OrderedDict(…)` of which `pair` is one entry."""
    outer = file.tree.parent(pair) if isinstance(pair, cst.Tuple) else None
    listed = file.tree.parent(outer) if isinstance(outer, cst.Element) else outer
    arg = file.tree.parent(listed) if listed is not None else None
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    made = isinstance(call, cst.Call) and is_display(file, call)
    return call if made and isinstance(call, cst.Call) and any(one is pair for one in _pairs(call) or ()) else None


def _updated(file: File, display: cst.Dict) -> cst.BaseExpression | None:
    """Return the `W` of `W.update({…})`."""
    arg = file.tree.parent(display)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not arg.star and arg.keyword is None else None
    return _updater(call) if isinstance(call, cst.Call) else None


def _updater(call: cst.Call) -> cst.BaseExpression | None:
    update = isinstance(call.func, cst.Attribute) and call.func.attr.value == "update"
    return call.func.value if update and isinstance(call.func, cst.Attribute) else None


def member_of(node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Return the collection and the key of `W[key]`, `W.get(key)` and `W.setdefault(key, value)`."""
    if isinstance(node, cst.Subscript):
        key = entry(node)
        return (node.value, key) if key is not None else None
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or not node.args:
        return None
    known = node.func.attr.value in {"get", "setdefault"} and not node.args[0].star and node.args[0].keyword is None
    return (node.func.value, node.args[0].value) if known else None


def use(file: File, node: cst.BaseExpression, *, listed: bool) -> Use | None:
    """Return what is done with the members of the collection at `node`; None for a use as a whole."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Expr) or is_shown(file, node) is not None or is_trained(file, node):
        return Use()
    if isinstance(around, cst.Subscript) and around.value is node:
        return walk(file, around, ()) if listed and entry(around) is None else _entry(file, around)
    if isinstance(around, cst.Attribute) and around.value is node:
        call = file.tree.parent(around)
        return _method(file, call, around.attr.value, listed) if isinstance(call, cst.Call) else None
    if isinstance(around, cst.ComparisonTarget):
        looks = isinstance(around.operator, cst.In | cst.NotIn) and not listed
        return Use() if looks else None
    if isinstance(around, cst.Comparison) and is_none_test(around):
        return Use()
    if isinstance(around, cst.If | cst.IfExp | cst.While | cst.UnaryOperation):
        return Use() if around_tests(around, node) else None
    found = walk(file, node, ())
    if listed:
        return found if found is not None else _unpacked(file, node)
    return Use() if found is not None else _six_view(file, around)  # keys


def _six_view(file: File, arg: cst.CSTNode | None) -> Use | None:
    """Return what is done with the members of a dict that `six.itervalues` and the like are given."""
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) != 1 or call.args[0].star:
        return None
    views = {f"six.{one}": at for one, at in VIEWS.items()}
    known, shadowed = file.tree.imported_names(call.func)
    found = [views[one] for one in known if one in views and not shadowed]
    return walk(file, call, found[0]) if found else None


def is_none_test(node: cst.Comparison) -> bool:
    """True for `x is None` and `x is not None`."""
    targets = node.comparisons
    plain = len(targets) == 1 and isinstance(targets[0].operator, cst.Is | cst.IsNot)
    return plain and literal(targets[0].comparator) is None


def around_tests(around: cst.CSTNode, node: cst.BaseExpression) -> bool:
    """True when a condition asks whether there are any members."""
    if isinstance(around, cst.UnaryOperation):
        return isinstance(around.operator, cst.Not)
    return isinstance(around, cst.If | cst.IfExp | cst.While) and around.test is node


def entry(node: cst.Subscript) -> cst.BaseExpression | None:
    """Return the key of `container[key]`; None for slices."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return index.value if isinstance(index, cst.Index) and index.star is None else None


def entry_key(node: cst.Subscript) -> str | None:
    """Return the string key of `container["key"]`, else None."""
    return string(entry(node))


def _entry(file: File, node: cst.Subscript) -> Use | None:
    key = entry(node)
    if key is None:
        return None
    if not is_target(file.tree, node):
        return Use(reads=[Read(node, key)])
    value = assigned_value(file.tree, node)
    return Use([Put(value, key)]) if value is not None else None


def _method(file: File, call: cst.Call, name: str, listed: bool) -> Use | None:
    """Return what a method of a dict or a list does."""
    if any(arg.star for arg in call.args):
        return None
    if name == "update" and not listed:
        return _update(file, call)
    if any(arg.keyword for arg in call.args):
        return None
    given = [arg.value for arg in call.args]
    alone = isinstance(file.tree.parent(call), cst.Expr)
    if listed:
        return Use([Put(given[0])]) if name == "append" and len(given) == 1 and alone else None
    if name in KEYS and not given:
        return Use()
    if name in VIEWS and not given:
        return walk(file, call, VIEWS[name])
    if name == "get" and len(given) in (1, 2):
        return Use([Put(one, given[0]) for one in given[1:] if literal(one) is not None], [Read(call, given[0])])
    if name == "setdefault" and len(given) == 2:
        return Use([Put(given[1], given[0])], [] if alone else [Read(call, given[0])])
    return None


def _update(file: File, call: cst.Call) -> Use | None:
    """Return what `W.update({…})` and `W.update(a=…)` put into `W`; None where it takes in those of another dict."""
    puts = [Put(arg.value, _text(arg.keyword)) for arg in call.args if arg.keyword]
    for arg in call.args:
        if arg.keyword is None:
            members = shown(arg.value) if is_dict(arg.value) and is_display(file, arg.value) else None
            if members is None:
                return None
            puts += members
    return Use(puts) if isinstance(file.tree.parent(call), cst.Expr) else None


def walk(file: File, node: cst.BaseExpression, path: tuple[int, ...]) -> Use | None:
    """Return the names that a loop over `node` binds to its members, which stand at `path` in each item."""
    around = file.tree.parent(node)
    if isinstance(around, cst.For | cst.CompFor) and around.iter is node:
        member = _at(around.target, path)
        return Use(reads=[Read(member, None, bound=True)]) if member is not None else None
    call = file.tree.parent(around) if isinstance(around, cst.Arg) and around.keyword is None else None
    if not isinstance(call, cst.Call) or not isinstance(around, cst.Arg) or around.star:
        return None
    name = builtin(file.tree, call.func)
    if name == "len":
        return Use()
    if name == "zip" and not any(arg.star or arg.keyword for arg in call.args):
        return walk(file, call, (next(i for i, arg in enumerate(call.args) if arg is around), *path))
    if name == "enumerate":
        return walk(file, call, (1, *path))
    return walk(file, call, path) if name in SAME and len(call.args) == 1 else None


def _at(target: cst.BaseExpression, path: Sequence[int]) -> cst.Name | cst.Tuple | cst.List | None:
    """Return the name at `path` in the target of a loop, or the names that a member there is unpacked into."""
    for place in path:
        elements = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
        if place >= len(elements) or not all(isinstance(one, cst.Element) for one in elements):
            return None
        target = elements[place].value
    return target if isinstance(target, cst.Name | cst.Tuple | cst.List) else None


def _unpacked(file: File, node: cst.BaseExpression) -> Use | None:
    """Handle `a, b = tables`."""
    assign = file.tree.parent(node)
    if not isinstance(assign, cst.Assign) or assign.value is not node or len(assign.targets) != 1:
        return None
    reads = unpacked(assign.targets[0].target)
    return Use(reads=reads) if reads else None


def unpacked(target: cst.BaseExpression) -> list[Read]:
    """Return what each name of `a, b` is bound to, where a collection is unpacked; nothing for other targets."""
    elements = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
    plain = all(isinstance(e, cst.Element) and isinstance(e.value, cst.Name | cst.Attribute) for e in elements)
    return [Read(e.value, i, bound=True) for i, e in enumerate(elements)] if plain else []


def may_be(first: Key, second: Key) -> bool:
    """False when two keys are seen to differ: two literals, or a literal and a text that begins otherwise."""
    if first is None or second is None:
        return True
    values = [key if isinstance(key, int) else literal(key) for key in (first, second)]
    if ... not in values:
        return any(isinstance(one, int) and one < 0 for one in values) or values[0] == values[1]
    starts = ["" if isinstance(key, int) else _start(key) for key in (first, second)]
    return not all(starts) or starts[0].startswith(starts[1]) or starts[1].startswith(starts[0])


def is_exact(key: Key) -> bool:
    """True for a literal key."""
    return isinstance(key, int) or (key is not None and literal(key) is not ...)


def _start(node: cst.BaseExpression) -> str:
    """Return the text that a string certainly begins with."""
    text = string(node)
    if text is not None:
        return text
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return _start(node.left)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return (string(node.left) or "").split("%")[0]
    if isinstance(node, cst.FormattedString):
        first = node.parts[0] if node.parts else None
        return re.split(r"[\\{]", first.value)[0] if isinstance(first, cst.FormattedStringText) else ""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return (string(node.func.value) or "").split("{")[0]
    return ""
