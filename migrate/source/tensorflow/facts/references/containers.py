"""Where code stores a value in a dict or a list, and under which key."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.rule_kinds import File

#: The key or index of a member; None if the source does not state it.
Key = cst.BaseExpression | int | None
#: Methods that store an argument in a list or a dict, or return it for a member: its position, and that of the key.
PUTS = {
    "append": (0, None),
    "appendleft": (0, None),
    "add": (0, None),
    "insert": (1, None),
    "setdefault": (1, 0),
    "get": (1, 0),
}


def holder_of(file: File, node: cst.BaseExpression) -> tuple[cst.BaseExpression, Key] | None:
    """Return the container that stores `node`, as a display or the expression that denotes it, and the key."""
    around = file.tree.parent(node)
    if isinstance(around, cst.ListComp) and around.elt is node:
        return around, None
    if isinstance(around, cst.DictComp) and around.value is node:
        return around, around.key
    if isinstance(around, cst.DictElement) and around.value is node:
        whole = file.tree.parent(around)
        return (_updated(file, whole) or whole, around.key) if isinstance(whole, cst.Dict) else None
    if isinstance(around, cst.Element):
        return _of_display(file, around)
    if isinstance(around, cst.Assign) and around.value is node and len(around.targets) == 1:
        target = around.targets[0].target
        return (target.value, entry(target)) if isinstance(target, cst.Subscript) and entry(target) else None
    call = file.tree.call_with(node)
    return _of_call(around, call) if isinstance(around, cst.Arg) and call is not None else None


def _of_display(file: File, element: cst.Element) -> tuple[cst.BaseExpression, Key] | None:
    listed = file.tree.parent(element)
    if not isinstance(listed, (cst.List, cst.Tuple)) or file.tree.is_target(listed):
        return None
    starred = any(isinstance(one, cst.StarredElement) for one in listed.elements)
    return listed, None if starred else next(i for i, one in enumerate(listed.elements) if one is element)


def _of_call(arg: cst.Arg, call: cst.Call) -> tuple[cst.BaseExpression, Key] | None:
    """Handle `dict(key=node)`, `W.update(key=node)` and `W.append(node)`."""
    if arg.keyword is not None:
        name = call.func.value if isinstance(call.func, cst.Name) else ""
        key = cst.SimpleString(f'"{arg.keyword.value}"')
        holder = _updater(call) or (call if name in {"dict", "OrderedDict"} else None)
        return (holder, key) if holder is not None else None
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in PUTS:
        return None
    position, key_position = PUTS[call.func.attr.value]
    if len(call.args) <= position or call.args[position] is not arg:
        return None
    return call.func.value, call.args[key_position].value if key_position is not None else None


def _updated(file: File, display: cst.Dict) -> cst.BaseExpression | None:
    """Return the `W` of `W.update({...})`."""
    arg = file.tree.parent(display)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not arg.star and arg.keyword is None else None
    return _updater(call) if isinstance(call, cst.Call) else None


def _updater(call: cst.Call) -> cst.BaseExpression | None:
    update = isinstance(call.func, cst.Attribute) and call.func.attr.value == "update"
    return call.func.value if update and isinstance(call.func, cst.Attribute) else None


def entry(node: cst.Subscript) -> cst.BaseExpression | None:
    """Return the key of `container[key]`; None for slices."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return index.value if isinstance(index, cst.Index) and index.star is None else None


def entry_key(node: cst.Subscript) -> str | None:
    """Return the string key of `container["key"]`, or None."""
    return string(entry(node))
