"""The value flow of a file, or of the files that are judged together, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import libcst as cst

from migrate.source.flow import Constant, Result, Symbol, Unknown, Value, ValueFlow
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


def flow_of(file: File) -> ValueFlow:
    """Return the analysis of the program that a file is part of."""
    tree = file.tree
    if not isinstance(tree, Joined):
        return once(file, ("value flow",), lambda: ValueFlow([tree], tame=TAME))
    if tree.parts not in _JOINED:
        _JOINED[tree.parts] = _joined(tree.parts)
    return _JOINED[tree.parts]


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


def only_asks(file: File, use: cst.BaseExpression) -> bool:
    """True where it is only asked whether a value is there, or where it is thrown away."""
    around = file.tree.parent(use)
    if isinstance(around, cst.ComparisonTarget):
        around = file.tree.parent(around)
    if isinstance(around, cst.Comparison):
        return all(isinstance(one.operator, cst.Is | cst.IsNot) for one in around.comparisons)
    is_not = isinstance(around, cst.UnaryOperation) and isinstance(around.operator, cst.Not)
    return is_not or isinstance(around, cst.If | cst.Assert | cst.Expr)
