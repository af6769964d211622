"""The steps from a reader's batch to tensors that change no number: `to_tensor`, casts to float32, reshapes to rows."""

from __future__ import annotations

from dataclasses import replace

from migrate.source.frontends.paddle.training.things import Computed, Fed
from migrate.source.frontends.paddle.values import Api, Value

_WHOLE = frozenset({"int32", "int64"})
_SAME = frozenset({"numpy", "detach", "clone", "cuda", "cpu", "contiguous"})
_TENSORS = frozenset({"paddle.to_tensor", "numpy.array", "numpy.asarray"})


def fed_method(item: Fed, name: str, positional: list[Value], keywords: dict[str, Value]) -> Fed | None:
    """Return the item after a method call, None when the call may change it."""
    if name in _SAME:
        return item
    if name in {"astype", "cast"}:
        return _cast(item, (positional or list(keywords.values()) or [None])[0])
    if name == "reshape":
        shape = positional[0] if len(positional) == 1 else positional
        return _reshaped(item, keywords.get("shape", shape))
    return None


def fed_function(name: str, positional: list[Value], keywords: dict[str, Value]) -> Fed | None:
    """Return the item after a call of the framework or of numpy, None when the call may change it."""
    given = [*positional, *(keywords[key] for key in ("data", "x", "object") if key in keywords)]
    if not given or not isinstance(given[0], Fed):
        return None
    rest = given[1:]
    if name in _TENSORS:
        dtype = keywords.get("dtype", rest[0] if rest else None)
        return given[0] if dtype is None else _cast(given[0], dtype)
    if name == "paddle.cast":
        return _cast(given[0], keywords.get("dtype", rest[0] if rest else None))
    if name in {"paddle.reshape", "numpy.reshape"}:
        return _reshaped(given[0], keywords.get("shape", rest[0] if rest else None))
    return None


def _cast(item: Fed, dtype: Value) -> Fed | None:
    name = dtype.name.rpartition(".")[2] if isinstance(dtype, Api) else dtype
    if name in _WHOLE:
        return replace(item, whole=True)
    return item if name == "float32" else None


def _reshaped(item: Fed, shape: Value) -> Fed | None:
    """`[-1, n]` alone: the rows stay rows."""
    if not isinstance(shape, list | tuple) or len(shape) != 2 or shape[0] != -1:
        return None
    if shape[1] is None or isinstance(shape[1], Computed):
        return item  # a size that only config.yaml would say
    return replace(item, width=shape[1]) if isinstance(shape[1], int) and shape[1] > 0 else None
