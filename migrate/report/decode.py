"""Decodes JSON types to frozen data classes, with checks, so that a damaged file gives a clear error."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from migrate.errors import MigrateError

T = TypeVar("T")
_NAMES = {str: "text", int: "a number", float: "a number", bool: "true or false"}


class _Wrong(Exception):
    """A value at a place is not what it must be."""


def decode(kind: type[T], data: Any, origin: str, remedy: str = "write the report again with `--report`") -> T:
    """Return `data` as an instance of the data class `kind`; unknown keys, e.g. of a newer minor version, are ignored.

    Raises `MigrateError`, which names `origin`, the key, the problem and the remedy.
    """
    try:
        result: T = _value(kind, data, "")
    except _Wrong as error:
        where, what = error.args
        raise MigrateError(f"`{origin}`: `{where or 'report'}` {what}; {remedy}") from error
    return result


@cache
def _schema(kind: type) -> tuple[tuple[str, Any, bool], ...]:
    """Return (name, type, required) of every field; cached, because resolving type hints is slow."""
    hints = get_type_hints(kind)
    return tuple((item.name, hints[item.name], item.default is MISSING) for item in fields(kind))


def _value(kind: Any, data: Any, where: str) -> Any:
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), data, where)
    if get_origin(kind) is Mapping:
        if not isinstance(data, dict):
            raise _Wrong(where, "must be an object")
        return {name: _value(get_args(kind)[1], item, f"{where}.{name}") for name, item in data.items()}
    if get_origin(kind) in {Union, types.UnionType}:
        if data is None:
            return None
        return _value(next(arm for arm in get_args(kind) if arm is not type(None)), data, where)
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, data, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind, data, where)
    return _scalar(kind, data, where)


def _tuple(arms: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise _Wrong(where, "must be a list")
    if len(arms) == 2 and arms[1] is Ellipsis:
        return tuple(_value(arms[0], item, f"{where}[{at}]") for at, item in enumerate(data))
    if len(data) != len(arms):
        raise _Wrong(where, f"must have {len(arms)} items")
    return tuple(_value(arm, item, where) for arm, item in zip(arms, data, strict=True))


def _record(kind: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise _Wrong(where, "must be an object")
    values = {}
    for name, hint, required in _schema(kind):
        inside = f"{where}.{name}" if where else name
        if name in data:
            values[name] = _value(hint, data[name], inside)
        elif required:
            raise _Wrong(inside, "is missing")
    try:
        return kind(**values)
    except ValueError as error:
        raise _Wrong(where, str(error)) from error


def _enum(kind: type[Enum], data: Any, where: str) -> Enum:
    try:
        return kind(data)
    except ValueError:
        known = ", ".join(str(member.value) for member in kind)
        raise _Wrong(where, f"is {data!r}, not one of {known}") from None


def _scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is float and isinstance(data, str) and data in {"nan", "inf", "-inf"}:
        return float(data)
    wanted = (int, float) if kind is float else kind
    if not isinstance(data, wanted) or isinstance(data, bool) is not (kind is bool):
        raise _Wrong(where, f"must be {_NAMES[kind]}")
    return float(data) if kind is float else data
