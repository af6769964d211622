"""Items of tensors, of their shapes, and of containers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Container, Refuse, Shape, Size, Tensor, Value, mentions
from migrate.source.paddle.ops.shapes import broadcast, tensor
from migrate.source.paddle.ops.spec import AS_IT_IS, Arguments, Op

if TYPE_CHECKING:
    from migrate.source.paddle.abstract.attributes import Sizes


def item(run: Run, node: ast.AST, value: Tensor, index: Value) -> Value:
    """Return `value[index]` at a node."""
    return run.apply(node, GETITEM, [value, index], {}, "item")


def of_container(value: Container, index: Value) -> Value:
    """Return a layer of a container, or a container of several."""
    if value.kind in {"Sequential", "LayerList", "ParameterList"}:
        if isinstance(index, slice):
            part = Container(value.path, value.span, kind=value.kind)
            names = part.weights if value.kind == "ParameterList" else part.sublayers
            names.update((str(i), item) for i, item in enumerate(value.items[index]))
            return part
        return value.items[index]
    return value.sublayers[index]


def of_sizes(run: Run, node: ast.AST, value: Sizes, index: Value) -> Value:
    """Return a size of a tensor: a number where it is known, else the scalar tensor that the graph computes."""
    selected = value[index]
    general = mentions([selected] if not isinstance(selected, list) else selected, Size)
    run.record(node, "size", None, int(general))
    return selected


def _parts(index: Value) -> list[Value]:
    return list(index) if isinstance(index, tuple) else [index]


def _basic(bound: Arguments) -> bool:
    """Whether TensorFlow takes the index as it is: numbers, slices with known bounds, None and `...`."""

    def plain(part: Value) -> bool:
        if isinstance(part, slice):
            return all(
                bound is None or (isinstance(bound, (int, np.integer)) and not isinstance(bound, bool))
                for bound in (part.start, part.stop, part.step)
            ) and (part.step is None or part.step > 0)
        return part is None or part is Ellipsis or (isinstance(part, int) and not isinstance(part, bool))

    return bound["x"].shape is not None and all(plain(part) for part in _parts(bound["index"]))


def _result(bound: Arguments) -> Tensor:
    x, parts = tensor(bound["x"]), _parts(bound["index"])
    if x.shape is None:
        return Tensor(None, x.dtype, x.array)
    taken = sum(_consumed(part) for part in parts if part is not None and part is not Ellipsis)
    if taken > len(x.shape) or sum(part is Ellipsis for part in parts) > 1:
        raise Refuse(f"there are too many indices for the shape {list(x.shape)}")
    fill = [slice(None)] * (len(x.shape) - taken)
    place = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    full = [*parts[:place], *fill, *parts[place + 1 :]]
    whole = object() if _chooses(x.shape, full) else None
    return Tensor(_shape(x.shape, full), x.dtype, x.array, extent=whole, numbers=_numbers(x, full))


def _chooses(shape: Shape, parts: list[Value]) -> bool:
    """Return whether an index takes a number of rows that is not known: by a mask, or by a part of an unknown size."""
    if any(isinstance(part, Tensor) and part.dtype == "bool" for part in parts):
        return True
    axes = [part for part in parts if part is not None]
    return any(
        isinstance(part, slice) and part != slice(None) and size is None
        for part, size in zip(axes, shape, strict=False)
    )


def _numbers(x: Tensor, parts: list[Value]) -> Shape | None:
    """Return the elements of a part of a shape, or one of them in a tuple."""
    if x.numbers is None or len(parts) != 1 or mentions(parts, Tensor | Size):
        return None
    selected = x.numbers[parts[0]] if isinstance(parts[0], (int, slice)) else None
    return selected if isinstance(selected, tuple) else (selected,) if isinstance(parts[0], int) else None


def _consumed(part: Value) -> int:
    if isinstance(part, Tensor) and part.dtype == "bool":
        return part.rank or 1
    return 1


def _shape(shape: Shape, parts: list[Value]) -> Shape | None:
    sizes = iter(shape)
    result: list[int | None] = []
    picked: list[Shape | None] = []
    at = 0
    for part in parts:
        if part is None:
            result.append(1)
        elif isinstance(part, slice):
            result.append(_sliced(next(sizes), part))
        elif isinstance(part, (Tensor, list, np.ndarray)):
            at = at if picked else len(result)
            mask = isinstance(part, Tensor) and part.dtype == "bool"
            for _ in range(_consumed(part)):
                next(sizes)
            picked.append((None,) if mask else part.shape if isinstance(part, Tensor) else np.shape(part))
        else:
            _check(part, next(sizes))
    if not picked:
        return tuple(result)
    inner = broadcast(*picked)
    return None if inner is None else (*result[:at], *inner, *result[at:])


def _sliced(size: int | None, part: slice) -> int | None:
    if part == slice(None):
        return size
    if mentions(part, Size | Tensor):
        return None
    if size is None:
        start, stop = part.start or 0, part.stop
        if stop is not None and start >= 0 and 0 < stop - start <= 1 and part.step in (None, 1) and start == 0:
            return 1  # the first of a batch, which is never empty
        return None
    return len(range(size)[part])


def _check(part: Value, size: int | None) -> None:
    if isinstance(part, Size):
        return
    if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
        raise Refuse(f"a tensor indexed by {type(part).__name__} is not supported")
    if size is not None and not -size <= part < size:
        raise Refuse(f"index {part} is out of range for {size} items")


GETITEM = Op("operator.getitem(x, index)", _result, (AS_IT_IS.__class__("", _basic),), helper="getitem")
