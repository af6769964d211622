"""Items of a schema's batch, and what keeps their values: `to_tensor`, casts to float32, reshapes to rows."""

from __future__ import annotations

import functools
from dataclasses import replace

from migrate.source.paddle.abstract.values import Item, OneHot, Refuse, Tensor, Value
from migrate.source.paddle.ops.shapes import dtype_name
from migrate.source.paddle.ops.spec import Arguments, Form, Op

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


class Items(list[Value]):
    """A batch: as many items as are asked for; a loop goes over the input and the labels."""

    def __getitem__(self, index: Value) -> Value:
        """Return an item; those behind the labels are made when they are asked for."""
        while isinstance(index, int) and 0 <= len(self) <= index < 1000:
            self.append(Item(None, None, index=len(self), fed=True))
        return super().__getitem__(index)


def batch(labels: int) -> Items:
    """Return a batch of an input and some labels, in any order."""
    return Items(Item(None, None, index=index, fed=True) for index in range(1 + labels))


def items_in(value: Value) -> list[Item]:
    """Return the items of the batch that a value is, holds, or was computed from."""
    known: dict[int, Item] = {}
    waiting, seen = [value], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Item):
            known.setdefault(part.index, part)
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif isinstance(part, Tensor):
            waiting += part.sources
    return list(known.values())


def through(op: Op, bound: Arguments) -> tuple[Op, Item] | None:
    """Return an op that gives its first operand itself, and the item after it; None if the op may change its values.

    Raises:
        Refuse: it would change those of a one-hot input, which only `nn.Linear` reads.
    """
    after = _after(op, [*bound.values()]) if bound.get("output") is None else None
    if after is not None:
        return _itself(op), after
    if any(isinstance(value, OneHot) for value in bound.values()):
        raise Refuse(f"only `nn.Linear` may read the one-hot input, and `{op.name}` needs its columns")
    return None


@functools.cache
def _itself(op: Op) -> Op:
    return replace(op, forms=(Form(next(iter(op.parameters)), ignored=True),))


def _after(op: Op, arguments: list[Value]) -> Item | None:
    item = arguments[0] if arguments else None
    if not isinstance(item, Item):
        return None
    if op.name in _RESHAPES:
        return _reshaped(item, arguments[1])
    if op.name in _CASTS and (arguments[1] is not None or op.name not in _SAME):
        return _cast(item, arguments[1], _SAME.get(op.name, item.array))
    if op.name in _SAME:
        array = _SAME[op.name]
        return replace(item, array=item.array if array is None else bool(array))
    return None


def _cast(item: Item, dtype: Value, array: bool | None) -> Item | None:
    name = dtype_name(dtype)
    if name in _WHOLE and not isinstance(item, OneHot):
        return replace(item, array=bool(array), whole=True)
    return replace(item, array=bool(array)) if name == "float32" else None


def _reshaped(item: Item, shape: Value) -> Item | None:
    """Return the item after a reshape to `[-1, n]`, which keeps rows; None for other shapes."""
    if isinstance(shape, tuple) and len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = shape[0]
    if not isinstance(shape, (list, tuple)) or len(shape) != 2 or shape[0] != -1:
        return None
    if isinstance(item, OneHot):
        return replace(item) if item.shape is not None and shape[1] == item.shape[1] else None
    if shape[1] is None:
        return item  # the size is known only from config.yaml
    return replace(item, width=shape[1]) if isinstance(shape[1], int) and shape[1] > 0 else None
