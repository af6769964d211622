"""Uses of a single gradient that make it dense: that of a table has only the rows of the batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from migrate.source.flow import Member, Value
from migrate.source.tensorflow.base.arguments import keyword, method_of, string
from migrate.source.tensorflow.base.bindings import builtin
from migrate.source.tensorflow.base.cached_query import cached_list
from migrate.source.tensorflow.base.logging_statements import spoken
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of

#: Functions of TensorFlow that give an `IndexedSlices` for one.
_KEEPING = {"cast", "clip_by_norm", "clip_by_value", "identity", "scalar_mul"}
_LISTS = {"clip_by_global_norm", "global_norm", "linalg.global_norm"}
#: Functions and methods that only hand a gradient on, or ask what it is.
_HANDING = {"enumerate", "isinstance", "len", "list", "tuple", "type", "zip"}
_METHODS = {"append", "apply", "apply_gradients", "extend", "insert"}
_TAKING = {"gradient", "clip_by_global_norm"}
#: Attributes of an `IndexedSlices` that tell the rows of the whole variable.
_SHAPES = {"dense_shape", "get_shape", "shape"}


@cached_list
def gradient_uses(file: File) -> Iterator[tuple[cst.CSTNode, str]]:
    """Return the calls and operations that make a gradient dense, arguments that do, and reads of its shape."""
    if not any(_takes(call) for call in file.tree.calls):
        return
    zeros = (arg for call in file.tree.calls if _takes(call) for arg in call.args if _is_zero_of_others(file, arg))
    yield from ((arg, "dense-gradient") for arg in zeros)
    seen: list[cst.CSTNode] = []
    for use, _ in flow_of(file).where(lambda value: is_entry_of(value, _TAKING)):
        around = _argument(file, use)
        if isinstance(around, cst.Attribute) and around.value is use and around.attr.value in _SHAPES:
            if spoken(file, around) is None:
                yield around, "gradient-shape"
            continue
        if isinstance(around, cst.Arg) and not around.star:
            around = file.tree.parent(around)
            makes = isinstance(around, cst.Call) and around.func is not use and not _keeps(file, around)
        else:
            makes = isinstance(around, cst.BinaryOperation | cst.UnaryOperation | cst.AugAssign)
            makes = makes and not (isinstance(around, cst.UnaryOperation) and isinstance(around.operator, cst.Not))
        if makes and around is not None and not any(one is around for one in seen):
            seen.append(around)
            yield around, "dense-gradient"


def _is_zero_of_others(file: File, arg: cst.Arg) -> bool:
    """True for the argument by which a variable that no loss depends on has a dense gradient of zeros."""
    if keyword(arg) != "unconnected_gradients":
        return False
    return (string(arg.value) or "") != "none" and file.names.of(arg.value) != "UnconnectedGradients.NONE"


def is_entry_of(value: Value, methods: Collection[str]) -> bool:
    """True for an entry of what a method gives: of the gradients of a tape, also of those that are clipped together."""
    entry = False
    while isinstance(value, Member) and value.name == "[]":
        entry, value = True, value.base
    return isinstance(value.node, cst.Call) and method_of(value.node) in methods and entry


def _takes(call: cst.Call) -> bool:
    return method_of(call) in _TAKING


def _keeps(file: File, call: cst.Call) -> bool:
    name, func = file.names.of(call.func), call.func
    if name is not None:
        return name in _KEEPING | _LISTS or spoken(file, call) is call
    handed = builtin(file.tree, func) in _HANDING or method_of(call) in _METHODS
    return handed or bool(flow_of(file).runs(call)) or spoken(file, call) is call


def _argument(file: File, use: cst.BaseExpression) -> cst.CSTNode | None:
    """Return what is around an expression, or around the list that is written there for a function of TensorFlow."""
    listed = file.tree.display_with(use)
    call = file.tree.call_with(listed) if isinstance(listed, cst.List | cst.Tuple) else None
    given = listed is not None and call is not None and file.names.of(call.func) is not None
    return file.tree.parent(listed if given and listed is not None else use)
