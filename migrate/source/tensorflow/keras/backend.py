"""On which backend a program runs, as far as its text says it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.keras.layer_uses import blocker_at, called

VARIABLE = "KERAS_BACKEND"
_SETTERS = frozenset({"setdefault", "putenv", "setenv"})


def other_backends(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each statement that lets Keras run without TensorFlow."""
    for node, value in _chosen(file):
        if value != "tensorflow":
            yield blocker_at(file, node, "other-backend", backend=value)


def _chosen(file: File) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield the statements and calls that choose a backend, which Keras 2 does not know, and its name."""
    for node in file.tree.nodes():
        if not isinstance(node, cst.Assign):
            continue
        target, value = node.targets[0].target, string(node.value)
        if value is not None and isinstance(target, cst.Subscript) and _is_variable(target.slice[0].slice):
            yield node, value
    for call in file.tree.calls:
        first = string(call.args[0].value) if call.args else None
        if called(call) in _SETTERS and first == VARIABLE and len(call.args) > 1:
            value = string(call.args[1].value)
            if value is not None:
                yield call, value
        elif called(call) == "set_backend" and first is not None:
            yield call, first


def _is_variable(item: cst.BaseSlice) -> bool:
    return isinstance(item, cst.Index) and string(item.value) == VARIABLE
