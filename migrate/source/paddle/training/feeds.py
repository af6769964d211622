"""Conversions of batch items that do not change values: `to_tensor`, casts to float32, reshapes to rows."""

from __future__ import annotations

from dataclasses import replace

from migrate.source.paddle.mapping.values import Api, Value
from migrate.source.paddle.training.values import Computed, Fed

_WHOLE = frozenset({"int32", "int64"})
_SAME = frozenset({"numpy", "detach", "clone", "cuda", "cpu", "contiguous"})
#: Function -> its positional parameters: the item, its new dtype or shape, and those without effect on values.
_FUNCTIONS = {
    "paddle.to_tensor": ("data", "dtype", "place", "stop_gradient"),
    "paddle.cast": ("x", "dtype"),
    "paddle.reshape": ("x", "shape", "name"),
    "numpy.array": ("object", "dtype"),
    "numpy.asarray": ("a", "dtype"),
    "numpy.reshape": ("a", "newshape"),
}
#: Arguments that never have an effect on values.
_NO_EFFECT = frozenset({"place", "stop_gradient", "name", "copy"})


def fed_method(item: Fed, name: str, positional: list[Value], keywords: dict[str, Value]) -> Fed | None:
    """Return the item after a method call, or None if the call may change its values."""
    if name in _SAME:
        return item
    wanted = "shape" if name == "reshape" else "dtype"
    given = positional or [keywords.get(wanted)]
    if not _is_without_effect({key: value for key, value in keywords.items() if key != wanted}):
        return None
    if name in {"astype", "cast"}:
        return _cast(item, given[0]) if len(given) == 1 else None
    if name == "reshape":
        return _reshaped(item, given[0] if len(given) == 1 else given)
    return None


def fed_function(name: str, positional: list[Value], keywords: dict[str, Value]) -> Fed | None:
    """Return the item after a call of the framework or of numpy, or None if the call may change its values."""
    places = _FUNCTIONS.get(name, ())
    if not places or len(positional) > len(places):
        return None
    given = dict(zip(places, positional, strict=False)) | keywords
    item, made = given.pop(places[0], None), given.pop(places[1], None)
    if not isinstance(item, Fed) or not _is_without_effect(given):
        return None
    if places[1] == "dtype":
        return item if made is None and name != "paddle.cast" else _cast(item, made)
    return _reshaped(item, made)


def _is_without_effect(given: dict[str, Value]) -> bool:
    """Return whether arguments have no effect on values; an `order` other than C changes the rows of a reshape."""
    return all(key in _NO_EFFECT or (key == "order" and value in (None, "C")) for key, value in given.items())


def _cast(item: Fed, dtype: Value) -> Fed | None:
    name = dtype.name.rpartition(".")[2] if isinstance(dtype, Api) else dtype
    if name in _WHOLE:
        return replace(item, whole=True)
    return item if name == "float32" else None


def _reshaped(item: Fed, shape: Value) -> Fed | None:
    """Return the item after a reshape to `[-1, n]`, which keeps rows; None for other shapes."""
    if not isinstance(shape, list | tuple) or len(shape) != 2 or shape[0] != -1:
        return None
    if shape[1] is None or isinstance(shape[1], Computed):
        return item  # the size is known only from config.yaml
    return replace(item, width=shape[1]) if isinstance(shape[1], int) and shape[1] > 0 else None
