"""Reads the optimizer of a trainer, and its settings other than a fixed learning rate."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from migrate.source.paddle.abstract.values import Described, Module, Value
from migrate.source.paddle.ops.described import DESCRIBED

_MODULE = "paddle.optimizer."
#: Classes with a weight decay by default.
_DECAYING = {"AdamW": "weight_decay=0.01", "Lamb": "lamb_weight_decay=0.01"}
_LABELS = frozenset({"name", "parameters"})


@dataclass(frozen=True)
class Optimizer:
    """The optimizer that `create_optimizer` returns."""

    name: str  #: Paddle's class, e.g. `Adam`; empty if unknown
    arguments: dict[str, Value]  #: numbers and flags that are not None
    beyond: tuple[str, ...]  #: other settings, as in the source
    text: str
    line: int
    end_line: int


@dataclass(frozen=True, eq=False)
class Made:
    """A call that makes an optimizer, with the arguments that are given."""

    value: Described
    node: ast.AST


def is_class(name: str) -> bool:
    """Return whether a dotted name is that of an optimizer's class."""
    rest = name.removeprefix(_MODULE)
    return name.startswith(_MODULE) and "." not in rest


def made(name: str, positional: list[Value], keywords: dict[str, Value], node: ast.AST) -> Made:
    """Return an optimizer with its arguments by name; one at an unknown position is named by it, e.g. `#4`."""
    names = list(DESCRIBED[name].parameters) if name in DESCRIBED else ["learning_rate"]
    given = {(names[i] if i < len(names) else f"#{i}"): value for i, value in enumerate(positional)}
    return Made(Described(name, given | keywords), node)


def optimizer_of(module: Module, found: Made | None, parameters: Iterable[Value], node: ast.AST) -> Optimizer:
    """Return the optimizer that `create_optimizer` returns.

    Args:
        module: the trainer's file.
        found: what the function returns; None if that is no optimizer.
        parameters: all of the model's parameters.
        node: the function.
    """
    at = found.node if found is not None else node
    first = getattr(at, "lineno", 1)
    place = (first, getattr(at, "end_lineno", first) if found is not None else first)
    if found is None:
        return Optimizer("", {}, ("`create_optimizer` does not return a single Paddle optimizer",), "", *place)
    every = found.value.arguments
    given = {name: value for name, value in every.items() if name not in _LABELS and value is not None}
    beyond = [_told(name, value) for name, value in given.items() if not _is_number(value)]
    trained = every.get("parameters")
    if not isinstance(trained, list | tuple) or {id(one) for one in trained} != {id(one) for one in parameters}:
        beyond.append("it does not train all of `parameters()`")
    numbers = {name: value for name, value in given.items() if _is_number(value)}
    decays = {name for name, value in numbers.items() if value and name.endswith("weight_decay")}
    beyond += [f"{name}={value!r}" for name, value in numbers.items() if name in decays or name.startswith("#")]
    kind = found.value.name.removeprefix(_MODULE)
    by_default = _DECAYING.get(kind, "")
    if by_default and by_default.partition("=")[0] not in every:
        beyond.append(f"{by_default} by default")
    return Optimizer(kind, numbers, tuple(beyond), ast.get_source_segment(module.text, at) or "", *place)


def is_plain(value: Value) -> bool:
    """Return whether a value consists only of Python values, also inside lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | range)


def _is_number(value: Value) -> bool:
    return isinstance(value, bool | int | float)


def _told(name: str, value: Value) -> str:
    if isinstance(value, Described):
        return f"{name}={value.name.removeprefix('paddle.')}"
    if not is_plain(value):
        return f"`{name}`, which is computed"
    return f"{name}={value!r}"
