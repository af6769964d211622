"""Reads the optimizer of a trainer, and its settings other than a fixed learning rate."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from migrate.source.paddle.mapping.values import Module, Value
from migrate.source.paddle.training.values import Made, Parameters, is_plain

_MODULE = "paddle.optimizer."
#: Classes with a weight decay by default.
_DECAYING = {"AdamW": "weight_decay=0.01", "Lamb": "lamb_weight_decay=0.01"}
_REST = ("parameters", "weight_decay", "grad_clip")
#: Class -> its positional parameters after `learning_rate`.
_POSITIONS = {
    "Adadelta": ("epsilon", "rho", *_REST),
    "Adagrad": ("epsilon", *_REST),
    "Adam": ("beta1", "beta2", "epsilon", *_REST, "lazy_mode"),
    "AdamW": ("beta1", "beta2", "epsilon", "parameters", "weight_decay", "lr_ratio", "apply_decay_param_fun"),
    "Adamax": ("beta1", "beta2", "epsilon", *_REST),
    "Lamb": ("lamb_weight_decay", "beta1", "beta2", "epsilon", "parameters", "grad_clip"),
    "Momentum": ("momentum", "parameters", "use_nesterov", "weight_decay", "grad_clip"),
    "RMSProp": ("rho", "epsilon", "momentum", "centered", *_REST),
    "SGD": _REST,
}
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


def optimizer_of(module: Module, found: Value, node: ast.AST) -> Optimizer:
    """Return the optimizer for the result of `create_optimizer`; `node` is the function."""
    at = found.node if isinstance(found, Made) and found.node is not None else node
    first = getattr(at, "lineno", 1)
    place = (first, getattr(at, "end_lineno", first) if isinstance(found, Made) else first)
    if not isinstance(found, Made) or not _is_class(found.name):
        return Optimizer("", {}, ("`create_optimizer` does not return a single Paddle optimizer",), "", *place)
    given = {name: value for name, value in found.arguments.items() if name not in _LABELS and value is not None}
    beyond = [_told(name, value) for name, value in given.items() if not _is_number(value)]
    if not isinstance(found.arguments.get("parameters"), Parameters):
        beyond.append("it does not train all of `parameters()`")
    beyond += [f"{name}={value!r}" for name, value in given.items() if _is_beyond(name, value)]
    beyond += [
        f"{told} by default"
        for told in [_DECAYING.get(_class(found), "")]
        if told and told.partition("=")[0] not in found.arguments
    ]
    arguments = {name: value for name, value in given.items() if _is_number(value)}
    return Optimizer(_class(found), arguments, tuple(beyond), _text(module, at), *place)


def named(name: str, positional: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Return name -> argument; an argument at an unknown position is named by it, e.g. `#4`."""
    names = ("learning_rate", *_POSITIONS.get(name.removeprefix(_MODULE), ()))
    given = {(names[i] if i < len(names) else f"#{i}"): value for i, value in enumerate(positional)}
    return given | keywords


def _class(made: Made) -> str:
    return made.name.removeprefix(_MODULE)


def _is_beyond(name: str, value: Value) -> bool:
    """Return whether an argument is a number without further meaning; a non-zero weight decay is not."""
    return _is_number(value) and ((name.endswith("weight_decay") and value != 0) or name.startswith("#"))


def _is_class(name: str) -> bool:
    rest = name.removeprefix(_MODULE)
    return name.startswith(_MODULE) and "." not in rest


def _is_number(value: Value) -> bool:
    return is_plain(value) and isinstance(value, bool | int | float)


def _told(name: str, value: Value) -> str:
    if isinstance(value, Made):
        return f"{name}={value.name.removeprefix('paddle.')}"
    if not is_plain(value):
        return f"`{name}`, which is computed"
    return f"{name}={value!r}"


def _text(module: Module, node: ast.AST) -> str:
    return ast.get_source_segment(module.text, node) or ""
