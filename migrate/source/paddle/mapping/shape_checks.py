"""Computes shapes of results, and checks whether TensorFlow's expression computes the same.

Each function takes the bound arguments of a call, by Paddle's parameter names, and returns the symbolic result; it
raises `Refuse` if the two frameworks differ for these arguments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from migrate.source.paddle.mapping.values import Api, BatchSize, Refuse, Shape, Tensor, Value

Arguments = Mapping[str, Value]
UNBOUNDED = "unbounded"  #: marks a bound of `paddle.clip` that is not given (None would be passed to TensorFlow)


def _tensor(value: Value, what: str = "an operand") -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, int | float):
        return Tensor(())
    raise Refuse(f"{what} is {type(value).__name__}, not a tensor")


def _tensors(value: Value) -> list[Tensor]:
    if not isinstance(value, list | tuple) or not value:
        raise Refuse("a list of tensors is expected here")
    return [_tensor(item, "an item of the list") for item in value]


def _axis(axis: Value, rank: int) -> int:
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        raise Refuse(f"axis {axis!r} is out of range for a tensor with {rank} dimensions")
    return axis % rank


def broadcast(left: Shape | None, right: Shape | None) -> Shape | None:
    """Return the shape of an elementwise result; raises `Refuse` for shapes that do not broadcast."""
    if left is None or right is None:
        return None
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    result: list[int | None] = []
    for a, b in pairs:
        if a is not None and b is not None and a != b and 1 not in (a, b):
            raise Refuse(f"the shapes {list(left)} and {list(right)} cannot be broadcast")
        result.append(b if a == 1 else a if b == 1 else a if b is None else b)
    return tuple(result)


def same(arguments: Arguments) -> Tensor:
    """Elementwise on `x`."""
    return _tensor(next(iter(arguments.values())))


def cast(arguments: Arguments) -> Tensor:
    """`x` as numbers of another type."""
    dtype = arguments["dtype"]
    name = dtype.name if isinstance(dtype, Api) else dtype
    if not isinstance(name, str):
        raise Refuse("the dtype is neither a string nor a dtype of Paddle")
    return Tensor(_tensor(arguments["x"]).shape, name.rpartition(".")[2])


def softmax(arguments: Arguments) -> Tensor:
    """Softmax of `x` along `axis`."""
    x = _tensor(arguments["x"])
    if x.shape is not None:
        _axis(arguments["axis"], len(x.shape))
    return x


def binary(arguments: Arguments) -> Tensor:
    """Elementwise on two operands, with any parameter names."""
    left, right = list(arguments.values())[:2]
    return Tensor(broadcast(_tensor(left).shape, _tensor(right).shape))


def reduce(arguments: Arguments) -> Tensor:
    """A sum or mean over `axis` (None: over everything), with `keepdim`."""
    x, axis, keep = _tensor(arguments["x"]), arguments["axis"], arguments["keepdim"]
    if isinstance(axis, list | tuple) and not axis:
        raise Refuse("an empty list of axes means all axes in Paddle and none in TensorFlow; remove `axis`")
    if x.shape is None:
        return x
    rank = len(x.shape)
    given = list(axis) if isinstance(axis, list | tuple) else range(rank) if axis is None else [axis]
    gone = {_axis(item, rank) for item in given}
    kept = [1 if i in gone else size for i, size in enumerate(x.shape) if keep or i not in gone]
    return Tensor(tuple(kept))


def concat(arguments: Arguments) -> Tensor:
    """Concatenation of tensors along `axis`."""
    parts = _tensors(arguments["x"])
    shapes = [part.shape for part in parts if part.shape is not None]
    if len(shapes) < len(parts):
        return Tensor(None)
    if len({len(shape) for shape in shapes}) > 1:
        raise Refuse("tensors with different ranks cannot be concatenated")
    axis = _axis(arguments["axis"], len(shapes[0]))
    sizes = [shape[axis] for shape in shapes]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return Tensor((*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def stack(arguments: Arguments) -> Tensor:
    """Stack of tensors along a new `axis`."""
    parts = _tensors(arguments["x"])
    first = parts[0].shape
    if first is None:
        return Tensor(None)
    axis = _axis(arguments["axis"], len(first) + 1)
    return Tensor((*first[:axis], len(parts), *first[axis:]))


def add_n(arguments: Arguments) -> Tensor:
    """The sum of a list of tensors of one shape."""
    parts = _tensors(arguments["inputs"])
    if len({part.shape for part in parts}) > 1:
        raise Refuse("tensors with different shapes cannot be added")
    return parts[0]


def reshape(arguments: Arguments) -> Tensor:
    """Reshape of `x`; refuses a 0, which copies a dimension in Paddle, but is a size in TensorFlow."""
    x, shape = _tensor(arguments["x"]), arguments["shape"]
    if not isinstance(shape, list | tuple):
        raise Refuse("the shape must be a list of known values")
    if any(isinstance(size, BatchSize) for size in shape):
        raise Refuse("the batch size is not a number in a graph; write -1")
    sizes = list(shape)
    if any(not isinstance(size, int) or isinstance(size, bool) for size in sizes):
        raise Refuse("the shape must be a list of integers")
    if 0 in sizes:
        raise Refuse("a 0 in a shape copies the dimension in Paddle; write the size or -1")
    known = math.prod(size for size in sizes if size != -1)
    if x.shape is not None and None not in x.shape:
        count = math.prod(size for size in x.shape if size is not None)
        return Tensor(tuple(count // known if size == -1 else size for size in sizes))
    return Tensor(tuple(None if size == -1 else size for size in sizes))


def expand_dims(arguments: Arguments) -> Tensor:
    """A new dimension of size 1."""
    x, axis = _tensor(arguments["x"]), arguments["axis"]
    if not isinstance(axis, int):
        raise Refuse("unsqueeze with several axes has no equivalent in TensorFlow; unsqueeze one axis at a time")
    if x.shape is None:
        return x
    place = _axis(axis, len(x.shape) + 1)
    return Tensor((*x.shape[:place], 1, *x.shape[place:]))


def squeeze(arguments: Arguments) -> Tensor:
    """Removal of dimensions of size 1; sizes must be known, as Paddle keeps other sizes and TensorFlow raises."""
    x, axis = _tensor(arguments["x"]), arguments["axis"]
    if x.shape is None or axis is None:
        raise Refuse(
            "squeeze keeps dimensions other than 1 in Paddle, but raises in TensorFlow; give an axis of size 1"
        )
    gone = {_axis(item, len(x.shape)) for item in (axis if isinstance(axis, list | tuple) else [axis])}
    if any(x.shape[item] != 1 for item in gone):
        raise Refuse("squeeze of a dimension other than 1 does nothing in Paddle, but raises in TensorFlow; remove it")
    return Tensor(tuple(size for i, size in enumerate(x.shape) if i not in gone))


def matmul(arguments: Arguments) -> Tensor:
    """A matrix product; refuses operands with one dimension, which TensorFlow does not accept."""
    shapes = [_tensor(arguments[name]).shape for name in ("x", "y")]
    if any(shape is None or len(shape) < 2 for shape in shapes):
        raise Refuse("matmul needs operands with at least two dimensions in TensorFlow, and their ranks are unknown")
    left, right = (shape for shape in shapes if shape is not None)
    left = (*left[:-2], left[-1], left[-2]) if arguments["transpose_x"] else left
    right = (*right[:-2], right[-1], right[-2]) if arguments["transpose_y"] else right
    if left[-1] is not None and right[-2] is not None and left[-1] != right[-2]:
        raise Refuse(f"the shapes {list(left)} and {list(right)} do not match in matmul")
    return Tensor((*(broadcast(left[:-2], right[:-2]) or ()), left[-2], right[-1]))


def transpose(arguments: Arguments) -> Tensor:
    """`x` with its dimensions in the order `perm`."""
    x, perm = _tensor(arguments["x"]), arguments["perm"]
    if not isinstance(perm, list | tuple):
        raise Refuse("the permutation of dimensions must be a list")
    if x.shape is None:
        return x
    if sorted(perm) != list(range(len(x.shape))):
        raise Refuse(f"{list(perm)} is not a permutation of {len(x.shape)} dimensions")
    return Tensor(tuple(x.shape[i] for i in perm))


def split(arguments: Arguments) -> list[Tensor]:
    """A list of parts of `x` along `axis`."""
    x, parts = _tensor(arguments["x"]), arguments["num_or_sections"]
    if x.shape is None:
        raise Refuse("the number of parts depends on an unknown shape")
    axis = _axis(arguments["axis"], len(x.shape))
    size = x.shape[axis]
    if isinstance(parts, int):
        sizes: list[int | None] = [None if size is None else size // parts] * parts
        if size is not None and size % parts:
            raise Refuse(f"{size} columns cannot be split into {parts} equal parts")
    else:
        rest = None if size is None else size - sum(part for part in parts if part != -1)
        sizes = [rest if part == -1 else part for part in parts]
    return [Tensor((*x.shape[:axis], part, *x.shape[axis + 1 :])) for part in sizes]


def slice_axes(arguments: Arguments) -> Tensor:
    """`paddle.slice`: python slices on the named axes."""
    x = _tensor(arguments["input"])
    axes, starts, ends = (arguments[name] for name in ("axes", "starts", "ends"))
    if not all(isinstance(item, list | tuple) and all(type(i) is int for i in item) for item in (axes, starts, ends)):
        raise Refuse("axes, starts and ends must be lists of integers")
    if x.shape is None:
        return x
    shape = list(x.shape)
    for axis, start, end in zip(axes, starts, ends, strict=True):
        size = shape[_axis(axis, len(shape))]
        shape[axis] = None if size is None else len(range(size)[start:end])
    return Tensor(tuple(shape))


def clip(arguments: Arguments) -> Tensor:
    """Clip; the bounds must be numbers, and one of them may be omitted."""
    given = [arguments[bound] for bound in ("min", "max") if arguments[bound] != UNBOUNDED]
    if not given or not all(isinstance(bound, int | float) for bound in given):
        raise Refuse("the bounds of `paddle.clip` must be numbers; remove a bound that is not needed")
    return _tensor(arguments["x"])


def scalar(arguments: Arguments) -> Tensor:
    """A loss averaged over the batch."""
    del arguments
    return Tensor(())
