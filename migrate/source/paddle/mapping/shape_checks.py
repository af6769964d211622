"""Shapes of results, and the checks that decide whether TensorFlow's spelling computes the same.

Every function takes the bound arguments of one call (Paddle's parameter names) and returns the result's stand-in; it
raises `Refuse` where the two frameworks differ on these arguments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from migrate.source.paddle.mapping.values import Api, BatchSize, Refuse, Shape, Tensor, Value

Arguments = Mapping[str, Value]
UNBOUNDED = "unbounded"  #: stands for a bound of `paddle.clip` that is left out (None would reach TensorFlow)


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
        raise Refuse(f"axis {axis!r} is not an axis of a tensor of {rank} dimensions")
    return axis % rank


def broadcast(left: Shape | None, right: Shape | None) -> Shape | None:
    """Return the shape of an elementwise result; sizes that can never meet are refused."""
    if left is None or right is None:
        return None
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    result: list[int | None] = []
    for a, b in pairs:
        if a is not None and b is not None and a != b and 1 not in (a, b):
            raise Refuse(f"shapes {list(left)} and {list(right)} do not broadcast")
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
        raise Refuse("the type is neither a string nor a type of Paddle")
    return Tensor(_tensor(arguments["x"]).shape, name.rpartition(".")[2])


def softmax(arguments: Arguments) -> Tensor:
    """Softmax of `x` along `axis`."""
    x = _tensor(arguments["x"])
    if x.shape is not None:
        _axis(arguments["axis"], len(x.shape))
    return x


def binary(arguments: Arguments) -> Tensor:
    """Elementwise on two operands, whatever they are called."""
    left, right = list(arguments.values())[:2]
    return Tensor(broadcast(_tensor(left).shape, _tensor(right).shape))


def reduce(arguments: Arguments) -> Tensor:
    """A sum or mean over `axis` (None: over everything), with `keepdim`."""
    x, axis, keep = _tensor(arguments["x"]), arguments["axis"], arguments["keepdim"]
    if isinstance(axis, list | tuple) and not axis:
        raise Refuse("an empty list of axes means all of them in Paddle and none in TensorFlow; leave `axis` out")
    if x.shape is None:
        return x
    rank = len(x.shape)
    given = list(axis) if isinstance(axis, list | tuple) else range(rank) if axis is None else [axis]
    gone = {_axis(item, rank) for item in given}
    kept = [1 if i in gone else size for i, size in enumerate(x.shape) if keep or i not in gone]
    return Tensor(tuple(kept))


def concat(arguments: Arguments) -> Tensor:
    """Tensors side by side along `axis`."""
    parts = _tensors(arguments["x"])
    shapes = [part.shape for part in parts if part.shape is not None]
    if len(shapes) < len(parts):
        return Tensor(None)
    if len({len(shape) for shape in shapes}) > 1:
        raise Refuse("tensors of different rank are concatenated")
    axis = _axis(arguments["axis"], len(shapes[0]))
    sizes = [shape[axis] for shape in shapes]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return Tensor((*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def stack(arguments: Arguments) -> Tensor:
    """Tensors on top of each other along a new `axis`."""
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
        raise Refuse("tensors of different shape are added")
    return parts[0]


def reshape(arguments: Arguments) -> Tensor:
    """`x` in another shape; a 0, which copies a dimension in Paddle, is refused (TensorFlow takes it literally)."""
    x, shape = _tensor(arguments["x"]), arguments["shape"]
    if not isinstance(shape, list | tuple):
        raise Refuse("the shape is not a list that can be followed")
    if any(isinstance(size, BatchSize) for size in shape):
        raise Refuse("the batch size is no number in a graph; write -1 for it")
    sizes = list(shape)
    if any(not isinstance(size, int) or isinstance(size, bool) for size in sizes):
        raise Refuse("the shape is not a list of integers")
    if 0 in sizes:
        raise Refuse("a 0 in a shape copies that dimension in Paddle; write the size, or -1")
    known = math.prod(size for size in sizes if size != -1)
    if x.shape is not None and None not in x.shape:
        count = math.prod(size for size in x.shape if size is not None)
        return Tensor(tuple(count // known if size == -1 else size for size in sizes))
    return Tensor(tuple(None if size == -1 else size for size in sizes))


def expand_dims(arguments: Arguments) -> Tensor:
    """A new dimension of size 1."""
    x, axis = _tensor(arguments["x"]), arguments["axis"]
    if not isinstance(axis, int):
        raise Refuse("unsqueeze of several axes at once has no single TensorFlow call; unsqueeze them one by one")
    if x.shape is None:
        return x
    place = _axis(axis, len(x.shape) + 1)
    return Tensor((*x.shape[:place], 1, *x.shape[place:]))


def squeeze(arguments: Arguments) -> Tensor:
    """Dimensions of size 1 removed; Paddle silently keeps others, TensorFlow raises, so the sizes must be known."""
    x, axis = _tensor(arguments["x"]), arguments["axis"]
    if x.shape is None or axis is None:
        raise Refuse(
            "squeeze keeps dimensions that are not 1 in Paddle and raises in TensorFlow; name an axis of size 1"
        )
    gone = {_axis(item, len(x.shape)) for item in (axis if isinstance(axis, list | tuple) else [axis])}
    if any(x.shape[item] != 1 for item in gone):
        raise Refuse("squeeze of a dimension that is not 1 does nothing in Paddle and raises in TensorFlow")
    return Tensor(tuple(size for i, size in enumerate(x.shape) if i not in gone))


def matmul(arguments: Arguments) -> Tensor:
    """A matrix product; operands of one dimension are refused, TensorFlow takes none."""
    shapes = [_tensor(arguments[name]).shape for name in ("x", "y")]
    if any(shape is None or len(shape) < 2 for shape in shapes):
        raise Refuse("matmul needs operands of two or more dimensions in TensorFlow, and here they cannot be told")
    left, right = (shape for shape in shapes if shape is not None)
    left = (*left[:-2], left[-1], left[-2]) if arguments["transpose_x"] else left
    right = (*right[:-2], right[-1], right[-2]) if arguments["transpose_y"] else right
    if left[-1] is not None and right[-2] is not None and left[-1] != right[-2]:
        raise Refuse(f"a product of {list(left)} and {list(right)} does not fit")
    return Tensor((*(broadcast(left[:-2], right[:-2]) or ()), left[-2], right[-1]))


def transpose(arguments: Arguments) -> Tensor:
    """`x` with its dimensions in the order `perm`."""
    x, perm = _tensor(arguments["x"]), arguments["perm"]
    if not isinstance(perm, list | tuple):
        raise Refuse("the order of dimensions is not a list")
    if x.shape is None:
        return x
    if sorted(perm) != list(range(len(x.shape))):
        raise Refuse(f"{list(perm)} is not an order of {len(x.shape)} dimensions")
    return Tensor(tuple(x.shape[i] for i in perm))


def split(arguments: Arguments) -> list[Tensor]:
    """A list of parts of `x` along `axis`."""
    x, parts = _tensor(arguments["x"]), arguments["num_or_sections"]
    if x.shape is None:
        raise Refuse("the number of parts depends on a shape that cannot be told")
    axis = _axis(arguments["axis"], len(x.shape))
    size = x.shape[axis]
    if isinstance(parts, int):
        sizes: list[int | None] = [None if size is None else size // parts] * parts
        if size is not None and size % parts:
            raise Refuse(f"{size} columns do not split into {parts} equal parts")
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
    """The bounds must be numbers; one of them may be left out."""
    given = [arguments[bound] for bound in ("min", "max") if arguments[bound] != UNBOUNDED]
    if not given or not all(isinstance(bound, int | float) for bound in given):
        raise Refuse("the bounds of `paddle.clip` must be numbers; leave out the one that is not meant")
    return _tensor(arguments["x"])


def scalar(arguments: Arguments) -> Tensor:
    """A loss averaged over the batch."""
    del arguments
    return Tensor(())
