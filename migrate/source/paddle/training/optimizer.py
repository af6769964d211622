"""The optimizer that a trainer makes, and what of it goes beyond its class and a fixed rate."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from migrate.source.paddle.mapping.values import Module, Value
from migrate.source.paddle.training.values import Made, Parameters, is_plain

_MODULE = "paddle.optimizer."
#: classes that decay weights unless told otherwise
_DECAYING = {"AdamW": "weight_decay=0.01", "Lamb": "lamb_weight_decay=0.01"}
_REST = ("parameters", "weight_decay", "grad_clip")
#: class -> its arguments by position, after `learning_rate`
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
    """What `create_optimizer` returns."""

    name: str  #: Paddle's class, `Adam`; empty when it cannot be told
    arguments: dict[str, Value]  #: numbers and flags, without those that are None
    beyond: tuple[str, ...]  #: what has no place in a class with fixed numbers, as the source says it
    text: str
    line: int
    end_line: int


def optimizer_of(module: Module, found: Value, node: ast.AST) -> Optimizer:
    """Read what `create_optimizer` returned; `node` is the function."""
    at = found.node if isinstance(found, Made) and found.node is not None else node
    first = getattr(at, "lineno", 1)
    place = (first, getattr(at, "end_lineno", first) if isinstance(found, Made) else first)
    if not isinstance(found, Made) or not _is_class(found.name):
        return Optimizer("", {}, ("`create_optimizer` returns no single optimizer of Paddle",), "", *place)
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
    """Name the arguments of an optimizer; one whose place is not known is called after it, `#4`."""
    names = ("learning_rate", *_POSITIONS.get(name.removeprefix(_MODULE), ()))
    given = {(names[i] if i < len(names) else f"#{i}"): value for i, value in enumerate(positional)}
    return given | keywords


def _class(made: Made) -> str:
    return made.name.removeprefix(_MODULE)


def _is_beyond(name: str, value: Value) -> bool:
    """A decay is one whatever its number; a positional argument after the rate is not looked up."""
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
