"""On which backend a program runs, as far as its text says it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.keras.layer_uses import blocker_at, called

VARIABLE = "KERAS_BACKEND"
_SETTERS = frozenset({"setdefault", "putenv", "setenv"})


def other_backends(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each statement that lets Keras run without TensorFlow."""
    for node, value in once(file, ("backends",), lambda: [*_chosen(file)]):
        if value != "tensorflow":
            yield blocker_at(file, node, "other-backend", backend=value)


def _chosen(file: File) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield the statements and calls that choose a backend, which Keras 2 does not know, and its name."""
    for node in file.tree.nodes():
        if type(node) is cst.Assign:  # compared by type because libcst's instance checks are slow
            target, value = node.targets[0].target, string(node.value)
            if value is not None and isinstance(target, cst.Subscript) and _is_variable(target.slice[0].slice):
                yield node, value
        elif type(node) is cst.AugAssign and isinstance(node.operator, cst.BitOrAssign):
            yield from ((node, value) for value in _in_mapping(node.value))
    for call in file.tree.calls:
        first = string(call.args[0].value) if call.args else None
        if called(call) == "update":
            yield from ((call, value) for value in _updated(call))
        elif called(call) in _SETTERS and first == VARIABLE and len(call.args) > 1:
            value = string(call.args[1].value)
            if value is not None:
                yield call, value
        elif called(call) == "set_backend" and first is not None:
            yield call, first


def _updated(call: cst.Call) -> Iterator[str]:
    """Yield the backends that an `update` of the environment sets, by keyword or in a mapping."""
    for given in call.args:
        if given.keyword is None:
            yield from _in_mapping(given.value)
        elif given.keyword.value == VARIABLE and (value := string(given.value)) is not None:
            yield value


def _in_mapping(node: cst.BaseExpression) -> Iterator[str]:
    """Yield the backends that a mapping written here has: a dict, or a call of `dict`."""
    if isinstance(node, cst.Call) and called(node) == "dict":
        yield from _updated(node)
    for item in node.elements if isinstance(node, cst.Dict) else ():
        if isinstance(item, cst.DictElement) and string(item.key) == VARIABLE:
            value = string(item.value)
            if value is not None:
                yield value


def _is_variable(item: cst.BaseSlice) -> bool:
    return isinstance(item, cst.Index) and string(item.value) == VARIABLE
