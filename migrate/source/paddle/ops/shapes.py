"""Shapes and dtypes of results, as Paddle computes them, and when plain TensorFlow computes the same.

Each function takes the bound arguments of a call. A size is None where it is known only when the model runs, a shape or
dtype is None where it is not known at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from migrate.source.paddle.abstract.values import Api, Dtype, Extent, Refuse, Shape, Size, Tensor, Value
from migrate.source.paddle.ops.spec import Arguments

_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
_TYPES = {
    **{f"builtins.{name}": dtype for name, dtype in (("int", "int64"), ("float", "float64"), ("bool", "bool"))},
    **{f"numpy.{name}": name for name in _ORDER},
    "numpy.bool_": "bool",
}
_DTYPES = {**{name: name for name in _ORDER}, "float": "float64", "int": "int64", "double": "float64"}


def dtype_name(value: Value, default: str | None = None) -> str | None:
    """Return the name of a dtype given as a string, a dtype of Paddle or of NumPy, or None for the default."""
    if value is None:
        return default
    if isinstance(value, Dtype):
        return value.name
    if isinstance(value, Api):
        value = _TYPES.get(value.name, value.name)
    if isinstance(value, str):
        if value not in _DTYPES:
            raise Refuse(f"`{value.removeprefix('builtins.')}` is not a dtype that is supported")
        return _DTYPES[value]
    if value in (int, float, bool):
        return {int: "int64", float: "float64", bool: "bool"}[value]
    try:
        return np.dtype(value).name
    except TypeError:
        raise Refuse(f"{value!r} is not a dtype") from None


def tensor(value: Value, what: str = "an operand") -> Tensor:
    """Return `value` as a tensor: Python numbers and arrays are constants."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool):
        return Tensor((), "bool")
    if isinstance(value, (int, Size)):
        return Tensor((), "int64")
    if isinstance(value, float):
        return Tensor((), "float32")
    if isinstance(value, (np.ndarray, np.generic)):
        return Tensor(np.shape(value), np.asarray(value).dtype.name)
    raise Refuse(f"{what} is {described(value)}, not a tensor")


def described(value: Value) -> str:
    """Return what a value is, in words."""
    name = type(value).__name__
    return {"NoneType": "None", "Api": f"`{getattr(value, 'name', '')}`"}.get(name, f"a {name}")


def tensors(value: Value) -> list[Tensor]:
    """Return a list of tensors; a tensor counts as the list of its parts along the first axis."""
    if isinstance(value, Tensor) and value.shape and value.shape[0] is not None:
        return [Tensor(value.shape[1:], value.dtype)] * value.shape[0]
    if not isinstance(value, (list, tuple)) or not value:
        raise Refuse("a list of tensors is expected here")
    return [tensor(item, "an item of the list") for item in value]


def axis_of(axis: Value, rank: int) -> int:
    """Return an axis counted from the front."""
    if isinstance(axis, np.integer):
        axis = int(axis)
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < max(rank, 1):
        raise Refuse(f"axis {axis!r} is out of range for a tensor with {rank} dimensions")
    return axis % max(rank, 1)


def axes_of(axis: Value, rank: int) -> list[int]:
    """Return several axes counted from the front; None means all."""
    if axis is None:
        return list(range(rank))
    return [axis_of(item, rank) for item in (axis if isinstance(axis, (list, tuple)) else [axis])]


def promoted(*operands: Value, widen: bool = True) -> str | None:
    """Return the dtype of a binary operator's result, as Paddle 2.6.2 computes it.

    Python's numbers do not change a tensor's dtype, but a float makes float32 of integers. float32 and float64 become
    float64 with `widen` (`+`, `-`, `*`); else the left tensor's dtype counts, even int32 beside float32.
    """
    dtypes = [item.dtype for item in operands if isinstance(item, Tensor)]
    if None in dtypes:
        return None
    scalars = [item for item in operands if not isinstance(item, Tensor)]
    if not dtypes:
        return "float32" if any(isinstance(item, float) for item in scalars) else "int64"
    kind = "float64" if widen and set(dtypes) == {"float32", "float64"} else dtypes[0]
    if any(isinstance(item, float) for item in scalars) and not str(kind).startswith("float"):
        return "float32"
    return kind


def broadcast(*shapes: Shape | None) -> Shape | None:
    """Return the shape of an elementwise result; raises `Refuse` for shapes that do not broadcast."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    rank = max(map(len, known), default=0)
    result: list[int | None] = []
    for sizes in zip(*[(1,) * (rank - len(shape)) + shape for shape in known], strict=True):
        wide = {size for size in sizes if size not in (1, None)}
        if len(wide) > 1:
            raise Refuse(f"the shapes {' and '.join(str(list(shape)) for shape in known)} cannot be broadcast")
        result.append(wide.pop() if wide else None if None in sizes else 1)
    return tuple(result)


def total(combine: Callable[[Iterable[int]], int], *sizes: int | None) -> int | None:
    """Return the sum or the product of sizes; None where one of them is not known."""
    return None if None in sizes else combine(size or 0 for size in sizes)


def same(bound: Arguments) -> Tensor:
    """A result like the first argument."""
    x = tensor(next(iter(bound.values())))
    return Tensor(x.shape, x.dtype)


def same_float(bound: Arguments) -> Tensor:
    """A result like the first argument, which must be of floating point numbers."""
    x = tensor(next(iter(bound.values())))
    if x.dtype is not None and not x.floating:
        raise Refuse(f"the operand is {x.dtype}, and Paddle computes this for floating point numbers only")
    return Tensor(x.shape, x.dtype)


def binary(bound: Arguments) -> Tensor:
    """An elementwise result of the first two arguments."""
    left, right = list(bound.values())[:2]
    return Tensor(broadcast(tensor(left).shape, tensor(right).shape), promoted(left, right))


def like_left(bound: Arguments) -> Tensor:
    """An elementwise result of the first two arguments with the dtype of the left one."""
    left, right = list(bound.values())[:2]
    return Tensor(broadcast(tensor(left).shape, tensor(right).shape), promoted(left, right, widen=False))


def truth(bound: Arguments) -> Tensor:
    """A truth for each element of the first argument."""
    return Tensor(tensor(next(iter(bound.values()))).shape, "bool")


def compared(bound: Arguments) -> Tensor:
    """The truth of a comparison of the first two arguments."""
    return Tensor(binary(bound).shape, "bool")


def reduced(dtype: Callable[[str | None], str | None] = lambda name: name) -> Callable[[Arguments], Tensor]:
    """A result without the dimensions `axis` (None or an empty list: all), with `keepdim`."""

    def result(bound: Arguments) -> Tensor:
        x, axis, keep = tensor(bound["x"]), bound["axis"], bound.get("keepdim", False)
        kind = dtype_name(bound.get("dtype"), dtype(x.dtype))
        if x.shape is None:
            return Tensor(() if axis is None and not keep else None, kind)
        gone = set(axes_of(None if axis in ([], ()) else axis, len(x.shape)))
        return Tensor(tuple(1 if i in gone else size for i, size in enumerate(x.shape) if keep or i not in gone), kind)

    return result


def sizes_of(value: Value) -> list[int | None]:
    """Return the sizes in a shape argument: integers, and None for those known only when the model runs."""
    return [item if isinstance(item, int) else None for item in sizes_in(value)]


def sizes_in(value: Value) -> list[int | Size]:
    """Return the sizes in a shape argument; those known only when the model runs tell what they are."""
    if isinstance(value, Tensor):
        if value.shape is None or len(value.shape) > 1 or None in value.shape:
            raise Refuse("the shape is a tensor of unknown length")
        count = value.shape[0] if value.shape else 1
        numbers = value.numbers or (None,) * (count or 0)
        whole = value.extent or 1 if value.numbers else object()
        return [Size(whole) if size is None else size for size in numbers]
    result: list[int | Size] = []
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, Tensor):
            result += sizes_in(item) if not item.shape and item.numbers else [Size(object())]
        elif isinstance(item, Size):
            result.append(item)
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            result.append(int(item))
        else:
            raise Refuse(f"the shape has {described(item)}, where an integer is expected")
    return result


def reshaped(x: Tensor, value: Value) -> Tensor:
    """Return the result of a reshape to sizes: a 0 copies the dimension, a -1 is what remains."""
    own: Extent = x.extent or 1
    sizes: list[int | Size | None] = list(sizes_in(value))
    if x.shape is not None:
        if any(size == 0 and i >= len(x.shape) for i, size in enumerate(sizes)):
            raise Refuse(f"a 0 in the shape {_shown(sizes)} has no dimension to copy")
        sizes = [_as_size(x.shape[i], own) if size == 0 else size for i, size in enumerate(sizes)]
    elif 0 in sizes:
        sizes = [Size(object()) if size == 0 else size for size in sizes]
    if sizes.count(-1) > 1:
        raise Refuse("a shape can have one -1")
    extents = [size.extent for size in sizes if isinstance(size, Size)]
    if -1 in sizes:
        rest = _remaining(x.shape, own, [size for size in sizes if size != -1])
        sizes = [rest if size == -1 else size for size in sizes]
        extents = extents or ([rest.extent] if isinstance(rest, Size) else [])
    shape = tuple(size if isinstance(size, int) else None for size in sizes)
    if x.shape is not None and None not in (*x.shape, *shape) and _count(x.shape) != _count(shape):
        raise Refuse(f"{list(x.shape)} cannot be reshaped to {list(shape)}")
    return Tensor(shape, x.dtype, x.array, extent=next(iter(extents), None))


def _as_size(size: int | None, extent: Extent) -> int | Size:
    return Size(extent) if size is None else size


def _shown(sizes: Iterable[int | Size | None]) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in sizes]


def _remaining(shape: Shape | None, own: Extent, rest: Sequence[int | Size | None]) -> int | Size:
    """Return the size of a -1: a number where the unknown sizes on both sides cancel out."""
    unknown = [size.extent for size in rest if isinstance(size, Size)]
    if shape is None or shape.count(None) > 1 or len(unknown) > 1:
        return Size(object())
    total, known = _count(shape), _count(_shown(rest))
    if None in shape and not unknown:
        return Size(_quotient(own, total, 1, known))
    if (None in shape) != bool(unknown):
        return Size(object())
    left = _quotient(own, total, unknown[0], known) if unknown else _quotient(1, total, 1, known)
    if isinstance(left, int) or (unknown and unknown[0] is not own):
        return left if isinstance(left, int) else Size(object())
    raise Refuse(f"{list(shape)} cannot be reshaped to sizes {_shown(rest)} and a rest")


def _quotient(own: Extent, total: int, other: Extent, known: int) -> Extent:
    """Return `own * total / (other * known)`; an object of its own where that is not known, or no whole number."""
    if own is other and known and total % known == 0:
        return total // known
    if isinstance(own, int) and isinstance(other, int) and other * known and own * total % (other * known) == 0:
        return own * total // (other * known)
    return own if other == 1 and total == known else object()


def _count(sizes: Iterable[int | None]) -> int:
    return math.prod(size for size in sizes if size is not None)


def same_dtype(bound: Arguments) -> bool:
    """Whether the first two arguments have one dtype, or one is a Python number that takes that of the other."""
    left, right = list(bound.values())[:2]
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.dtype is not None and left.dtype == right.dtype and left.dtype != "bool"
    known, other = (left, right) if isinstance(left, Tensor) else (right, left)
    if not isinstance(known, Tensor) or known.dtype is None or isinstance(other, (bool, Size)):
        return False
    return known.floating if isinstance(other, float) else isinstance(other, int) and known.dtype != "bool"


def both_tensors(bound: Arguments) -> bool:
    """Whether the first two arguments are tensors of one dtype."""
    left, right = list(bound.values())[:2]
    return isinstance(left, Tensor) and isinstance(right, Tensor) and same_dtype(bound)


def booleans(bound: Arguments) -> bool:
    """Whether the first two arguments are tensors of truth values."""
    left, right = list(bound.values())[:2]
    return all(isinstance(item, Tensor) and item.dtype == "bool" for item in (left, right))


def floating(bound: Arguments) -> bool:
    """Whether the first argument is of floating point numbers."""
    first = next(iter(bound.values()))
    return isinstance(first, Tensor) and first.floating


def list_of_one_dtype(value: Value) -> bool:
    """Whether a value is a list of tensors of one known dtype."""
    if not isinstance(value, (list, tuple)):
        return False
    dtypes = {tensor(item).dtype if isinstance(item, Tensor) else None for item in value}
    return len(dtypes) == 1 and None not in dtypes


def plain_dtype(bound: Arguments) -> bool:
    """Whether TensorFlow understands `dtype` as Paddle does, for which Python's `int` and `float` have 64 bits."""
    dtype = bound["dtype"]
    return dtype not in ("int", "float") and getattr(dtype, "name", "") not in ("builtins.int", "builtins.float")


def both(*conditions: Callable[[Arguments], bool]) -> Callable[[Arguments], bool]:
    """Whether all conditions hold."""
    return lambda bound: all(condition(bound) for condition in conditions)
