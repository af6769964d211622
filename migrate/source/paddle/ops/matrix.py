"""Products of matrices."""

from __future__ import annotations

import math

from migrate.source.paddle.abstract.values import Refuse, Shape, Tensor
from migrate.source.paddle.ops.shapes import axes_of, both, both_tensors, broadcast, floating, tensor, total
from migrate.source.paddle.ops.spec import Arguments, Form, Op, method


def product(bound: Arguments) -> Tensor:
    """A matrix product; vectors lose their dimension."""
    x, y = tensor(bound["x"]), tensor(bound["y"])
    kind = x.dtype if x.dtype == y.dtype else None
    if x.shape is None or y.shape is None:
        return Tensor(None, kind)
    if not x.shape or not y.shape:
        raise Refuse("the operands of a matrix product need at least one dimension")
    left, right = _turned(x.shape, bound.get("transpose_x")), _turned(y.shape, bound.get("transpose_y"))
    wide_left = left if len(left) > 1 else (1, *left)
    wide_right = right if len(right) > 1 else (*right, 1)
    if None not in (wide_left[-1], wide_right[-2]) and wide_left[-1] != wide_right[-2]:
        raise Refuse(f"the shapes {list(left)} and {list(right)} do not match in a matrix product")
    batch = broadcast(wide_left[:-2], wide_right[:-2]) or ()
    rows = wide_left[-2:-1] if len(left) > 1 else ()
    columns = wide_right[-1:] if len(right) > 1 else ()
    return Tensor((*batch, *rows, *columns), kind)


def _turned(shape: Shape, turned: object) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if turned and len(shape) > 1 else shape


def _matrices(bound: Arguments) -> bool:
    ranks = [value.rank for value in list(bound.values())[:2] if isinstance(value, Tensor)]
    return len(ranks) == 2 and all(rank is not None and rank > 1 for rank in ranks)


def _dot(bound: Arguments) -> Tensor:
    x, y = tensor(bound["x"]), tensor(bound["y"])
    if x.shape is None:
        return Tensor(None, x.dtype)
    if len(x.shape) not in (1, 2) or (y.rank is not None and y.rank != len(x.shape)):
        raise Refuse("`dot` takes two vectors, or two matrices of rows")
    return Tensor(x.shape[:-1], x.dtype)


def _mm(bound: Arguments) -> Tensor:
    return product({"x": bound["input"], "y": bound["mat2"]})


def _two_matrices(bound: Arguments) -> bool:
    return _matrices({"x": bound["input"], "y": bound["mat2"]}) and both_tensors(bound) and floating(bound)


def _inner(bound: Arguments) -> Tensor:
    x, y = tensor(bound["x"]), tensor(bound["y"])
    if x.shape is None or y.shape is None:
        return Tensor(None, x.dtype)
    if not x.shape or not y.shape:
        return Tensor(x.shape or y.shape, x.dtype)
    return Tensor((*x.shape[:-1], *y.shape[:-1]), x.dtype)


def _outer(bound: Arguments) -> Tensor:
    x, y = tensor(bound["x"]), tensor(bound["y"])
    return Tensor(tuple(total(math.prod, *((None,) if one.shape is None else one.shape)) for one in (x, y)), x.dtype)


def _addmm(bound: Arguments) -> Tensor:
    multiplied, added = product(bound), tensor(bound["input"])
    return Tensor(broadcast(multiplied.shape, added.shape), multiplied.dtype)


def _einsum(bound: Arguments) -> Tensor:
    equation, operands = bound["equation"], bound["operands"]
    inputs, arrow, output = str(equation).replace(" ", "").partition("->")
    if not arrow or "." in inputs:
        raise Refuse("an `einsum` needs an equation with `->` and without `...`")
    sizes: dict[str, int | None] = {}
    for letters, operand in zip(inputs.split(","), operands, strict=True):
        for letter, size in zip(letters, tensor(operand).shape or (None,) * len(letters), strict=True):
            sizes[letter] = sizes.get(letter) or size
    return Tensor(tuple(sizes[letter] for letter in output), tensor(operands[0]).dtype)


def _linear(bound: Arguments) -> Tensor:
    x, weight = tensor(bound["x"]), tensor(bound["weight"])
    if weight.shape is None or len(weight.shape) != 2:
        raise Refuse("the weight of `linear` must be a matrix")
    return Tensor(None if x.shape is None else (*x.shape[:-1], weight.shape[1]), x.dtype)


def _bilinear(bound: Arguments) -> Tensor:
    x, weight = tensor(bound["x1"]), tensor(bound["weight"])
    return Tensor(((x.shape or (None,))[0], (weight.shape or (None,))[0]), x.dtype)


def _tensordot(bound: Arguments) -> Tensor:
    x, y, axes = tensor(bound["x"]), tensor(bound["y"]), bound["axes"]
    if x.shape is None or y.shape is None:
        return Tensor(None, x.dtype)
    if isinstance(axes, int):
        left, right = list(range(len(x.shape) - axes, len(x.shape))), list(range(axes))
    elif isinstance(axes, (list, tuple)) and len(axes) == 2 and all(isinstance(item, (list, tuple)) for item in axes):
        left, right = axes_of(axes[0], len(x.shape)), axes_of(axes[1], len(y.shape))
    else:
        raise Refuse("`tensordot` takes a number of axes, or a list of axes for each operand")
    rest = [size for i, size in enumerate(x.shape) if i not in left]
    return Tensor((*rest, *(size for i, size in enumerate(y.shape) if i not in right)), x.dtype)


def _trace(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is None:
        return Tensor(None, x.dtype)
    gone = axes_of([bound["axis1"], bound["axis2"]], len(x.shape))
    return Tensor(tuple(size for i, size in enumerate(x.shape) if i not in gone), x.dtype)


OPS: tuple[Op, ...] = (
    method(
        "matmul(x, y, transpose_x=False, transpose_y=False, name=None)",
        product,
        "tf.matmul(a=x, b=y, transpose_a=transpose_x, transpose_b=transpose_y)",
        both(_matrices, both_tensors, floating),
    ),
    Op("paddle.bmm(x, y, name=None)", product, (Form("tf.matmul(a=x, b=y)", both(both_tensors, floating)),), ("bmm",)),
    Op("paddle.mm(input, mat2, name=None)", _mm, (Form("tf.matmul(a=input, b=mat2)", _two_matrices),), ("mm",)),
    Op("paddle.mv(x, vec, name=None)", lambda bound: product({"x": bound["x"], "y": bound["vec"]}), methods=("mv",)),
    Op("paddle.dot(x, y, name=None)", _dot, methods=("dot",)),
    Op("paddle.inner(x, y, name=None)", _inner, methods=("inner",)),
    Op("paddle.outer(x, y, name=None)", _outer, methods=("outer",)),
    Op("paddle.addmm(input, x, y, beta=1.0, alpha=1.0, name=None)", _addmm, methods=("addmm",)),
    Op("paddle.einsum(equation, *operands)", _einsum),
    Op("paddle.nn.functional.linear(x, weight, bias=None, name=None)", _linear),
    Op("paddle.nn.functional.bilinear(x1, x2, weight, bias=None, name=None)", _bilinear),
    Op("paddle.tensordot(x, y, axes=2, name=None)", _tensordot, methods=("tensordot",)),
    Op("paddle.trace(x, offset=0, axis1=0, axis2=1, name=None)", _trace, methods=("trace",)),
)
