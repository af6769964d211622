"""Argument checks with the wording that Rec SDK's programs and tests expect; every failure is a ValueError."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sized
from numbers import Integral, Real
from typing import Any

import numpy as np

MAX_INT32 = 2**31 - 1
_SHOWN = 120


def kind(name: str, value: object, types: type | tuple[type, ...], allowed: str) -> None:
    """Require an instance of `types`; `allowed` describes them in the message."""
    if not isinstance(value, types):
        raise ValueError(f"Invalid parameter type of para `{name}`: got {shown(value)}, must be {allowed}")


def shown(value: object) -> str:
    """Return a value in one line of a message; of a long one, such as an array, the beginning."""
    return textwrap.shorten(repr(value), _SHOWN, placeholder=" …")


def boolean(name: str, value: object) -> bool:
    """Require a bool."""
    kind(name, value, (bool, np.bool_), "a bool")
    return bool(value)


def text(name: str, value: Any, longest: int = 255) -> str:
    """Require a str of 1 to `longest` characters."""
    if not isinstance(value, str):
        raise ValueError(f"`{name}` is not str: got {value!r}")
    length(name, value, 1, longest)
    return value


def items(name: str, value: Any, each: str) -> list[Any]:
    """Return the items of a list or other iterable; `each` describes an item in the message."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return list(value)
    except TypeError as error:
        raise ValueError(f"Invalid parameter type of para `{name}`: got {value!r}, must be a list of {each}") from error


def pairs(name: str, value: Any, each: str) -> list[tuple[Any, Any]]:
    """Return a list of pairs; `each` describes a pair in the message."""
    listed = items(name, value, each)
    for pair in listed:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"`{name}` must be a list of {each}: it holds {pair!r}")
    return [(first, second) for first, second in listed]


def length(name: str, value: Sized, low: int, high: int) -> None:
    """Require `low <= len(value) <= high`."""
    if len(value) < low:
        raise ValueError(f"`{name}`: length is less than {low}: got {value!r}")
    if len(value) > high:
        raise ValueError(f"`{name}`: length is bigger than {high}: got {len(value)}")


def integer(name: str, value: Any, low: int, high: int = MAX_INT32) -> int:
    """Require an int in [low, high]; a bool is not accepted."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"Invalid parameter type of para `{name}`: got {value!r}, must be an int")
    _range(name, value, low, high)
    return int(value)


def real(name: str, value: Any, low: float, high: float, whole: bool = False) -> float:
    """Require a float in [low, high]; an int is accepted only if `whole`."""
    if not isinstance(value, (float, np.floating)) and not (whole and _is_int(value)):
        raise ValueError(f"`{name}` is not float: got {value!r}")
    _range(name, value, low, high)
    return float(value)


def option(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Require one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {sorted(map(str, allowed))}: got {value!r}")


def tensor(name: str, owner: str, value: Any, dtype: Any) -> Any:
    """Return `value` as a tensor of `dtype` (None: int32 or int64); `owner` says in the message what it belongs to."""
    import tensorflow as tf

    try:
        return tf.convert_to_tensor(value, dtype)
    except (TypeError, ValueError) as error:
        kind = "int32 or int64" if dtype is None else dtype.name
        raise ValueError(f"`{name}` {owner} are {value!r}: they must be a tensor or array of {kind}") from error


def unsupported(argument: str, remedy: str) -> ValueError:
    """Return the error for an argument of Rec SDK that this version does not support."""
    return ValueError(f"`{argument}` is not supported yet by this version of the runtime: {remedy}")


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _range(name: str, value: Any, low: Any, high: Any) -> None:
    if not isinstance(value, Real) or value != value:  # NaN is unequal to itself
        raise ValueError(f"`{name}` is not a number: got {value!r}")
    if value < low:
        raise ValueError(f"`{name}` is less than {low}: got {value!r}")
    if value > high:
        raise ValueError(f"`{name}` is bigger than {high}: got {value!r}")
