"""The value flow of a file, or of the files that are judged together, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import libcst as cst

from migrate.source.flow import Constant, Order, Result, Symbol, Unknown, Value, ValueFlow
from migrate.source.frontends.tensorflow.answers import once
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.names import canonical
from migrate.source.joined import Joined, Parts
from migrate.source.tree import Tree

#: Libraries that change nothing in the lists, dicts and objects that they are given.
TAME = (
    "tensorflow", "tensorflow_core", "keras", "tf_keras", "numpy", "scipy", "pandas", "sklearn", "six", "absl", "tqdm",
    "horovod",
)  # fmt: skip
_JOINED: WeakKeyDictionary[Parts, ValueFlow] = WeakKeyDictionary()
_ORDERS: WeakKeyDictionary[Parts, Order] = WeakKeyDictionary()


def flow_of(file: File) -> ValueFlow:
    """Return the analysis of the program that a file is part of."""
    tree = file.tree
    if not isinstance(tree, Joined):
        return once(file, ("value flow",), lambda: ValueFlow([tree], tame=TAME))
    if tree.parts not in _JOINED:
        _JOINED[tree.parts] = _joined(tree.parts)
    return _JOINED[tree.parts]


def order_of(file: File) -> Order:
    """Return what answers in which order the code of that program runs."""
    tree = file.tree
    trees = [tree] if not isinstance(tree, Joined) else list(tree.parts.trees.values())
    if not isinstance(tree, Joined):
        return once(file, ("order",), lambda: Order(flow_of(file), trees))
    if tree.parts not in _ORDERS:
        _ORDERS[tree.parts] = Order(flow_of(file), trees)
    return _ORDERS[tree.parts]


def _joined(parts: Parts) -> ValueFlow:
    def outside(tree: Tree, qualified: str) -> tuple[Tree, str] | None:
        origin = parts.project.origin(tree.path, qualified)
        found = parts.trees.get(origin.path) if origin is not None else None
        return (found, origin.name) if found is not None and origin is not None else None

    return ValueFlow(list(parts.trees.values()), outside, tame=TAME)


def known_values(file: File, node: cst.BaseExpression) -> list[Value]:
    """Return all that an expression may be, None left out; nothing when some of it is not known."""
    found = flow_of(file).values(node)
    if any(isinstance(value, Unknown) for value in found):
        return []
    return [value for value in found if not is_none_value(value)]


def is_none_value(value: Value) -> bool:
    """True for None."""
    return isinstance(value, Constant) and isinstance(value.node, cst.Name) and value.node.value == "None"


def symbol_of(value: Value) -> str | None:
    """Return the canonical name of a symbol, or of the one that a call called; None for all else."""
    called = value.callee if isinstance(value, Result) else value
    return canonical(called.name) if isinstance(called, Symbol) else None


def symbols_of(values: Iterable[Value]) -> set[str | None]:
    """Return these names of several values."""
    return {symbol_of(value) for value in values}
