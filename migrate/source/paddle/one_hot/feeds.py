"""Items of a trainer's batch, and what keeps their values: `to_tensor`, casts to float32, reshapes to rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from migrate.source.paddle.abstract.values import Refuse, Tensor, Value
from migrate.source.paddle.ops.shapes import dtype_name
from migrate.source.paddle.ops.spec import Op

_WHOLE = frozenset({"int32", "int64"})
#: Ops that give the first argument itself -> whether the result is NumPy's view of it (None: as the argument is).
_SAME = {
    "paddle.Tensor.numpy": True,
    "paddle.Tensor.detach": None,
    "paddle.clone": None,
    "paddle.assign": None,
    "numpy.ndarray.copy": True,
    "paddle.to_tensor": False,
    "numpy.array": True,
}
_CASTS = frozenset({"paddle.cast", "numpy.ndarray.astype", "paddle.to_tensor", "numpy.array"})
_RESHAPES = frozenset({"paddle.reshape", "numpy.ndarray.reshape"})
#: The names of all of these.
KEEPING = frozenset(_SAME) | _CASTS | _RESHAPES


@dataclass(eq=False)
class Fed(Tensor):
    """An item of the batch with all of its values."""

    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    index: int = 0  #: its place in the batch
    whole: bool = False  #: whether it was cast to integers
    width: int | None = None  #: the columns that a reshape gave it


class Items(list[Value]):
    """A batch: as many items as are asked for; a loop goes over the input and the labels."""

    def __getitem__(self, index: Value) -> Value:
        """Return an item; those behind the labels are made when they are asked for."""
        while isinstance(index, int) and 0 <= len(self) <= index < 1000:
            self.append(Fed(index=len(self), fed=True))
        return super().__getitem__(index)


def batch(labels: int) -> Items:
    """Return a batch of an input and some labels, in any order."""
    return Items(Fed(index=index, fed=True) for index in range(1 + labels))


def items_in(value: Value) -> list[Fed]:
    """Return the items of the batch that a value is, holds, or was computed from."""
    found: dict[int, Fed] = {}
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Fed):
            found.setdefault(one.index, one)
        elif isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, Tensor):
            waiting += one.sources
    return list(found.values())


def after(op: Op, positional: list[Value], keywords: Mapping[str, Value]) -> Fed | None:
    """Return the item after an op, or None if the op may change its values or is not of an item."""
    try:
        given = op.bind(positional, keywords)
    except Refuse:
        return None
    bound = list(given.values())
    item = bound[0] if bound else None
    if not isinstance(item, Fed) or given.get("output") is not None:
        return None
    if op.name in _RESHAPES:
        return _reshaped(item, bound[1])
    if op.name in _CASTS and (bound[1] is not None or op.name not in _SAME):
        return _cast(item, bound[1], _SAME.get(op.name, item.array))
    if op.name in _SAME:
        array = _SAME[op.name]
        return replace(item, array=item.array if array is None else bool(array))
    return None


def _cast(item: Fed, dtype: Value, array: bool | None) -> Fed | None:
    name = dtype_name(dtype)
    made = replace(item, array=bool(array))
    if name in _WHOLE:
        return replace(made, whole=True)
    return made if name == "float32" else None


def _reshaped(item: Fed, shape: Value) -> Fed | None:
    """Return the item after a reshape to `[-1, n]`, which keeps rows; None for other shapes."""
    if isinstance(shape, tuple) and len(shape) == 1 and isinstance(shape[0], list | tuple):
        shape = shape[0]
    if not isinstance(shape, list | tuple) or len(shape) != 2 or shape[0] != -1:
        return None
    if shape[1] is None:
        return item  # the size is known only from config.yaml
    return replace(item, width=shape[1]) if isinstance(shape[1], int) and shape[1] > 0 else None
