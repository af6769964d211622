"""Comparisons, logic and choices."""

from __future__ import annotations

import numpy as np

from migrate.source.paddle.abstract.values import Refuse, Tensor, Value
from migrate.source.paddle.ops.shapes import (
    booleans,
    both_tensors,
    broadcast,
    compared,
    like_left,
    promoted,
    same,
    tensor,
    truth,
)
from migrate.source.paddle.ops.spec import Arguments, Form, Op, method


def _comparison(name: str, tf: str) -> Op:
    return Op(f"paddle.{name}(x, y, name=None)", compared, (Form(f"tf.{tf}(x=x, y=y)", both_tensors),), (name,))


def _logical(name: str) -> Op:
    return Op(f"paddle.{name}(x, y, out=None, name=None)", compared, (Form(f"tf.{name}(x=x, y=y)", booleans),), (name,))


def bits(bound: Arguments) -> Tensor:
    """An elementwise result of integers or truth values."""
    result = like_left(bound)
    if result.floating:
        raise Refuse("bitwise operations take integers or truth values")
    return result


def _bitwise(name: str, tf: str) -> Op:
    return Op(f"paddle.{name}(x, y, out=None, name=None)", bits, (Form(f"tf.{tf}(x=x, y=y)", booleans),), (name,))


def _one_truth(bound: Arguments) -> Tensor:
    return Tensor((), "bool")


def _branch(value: Value) -> Tensor:
    """A choice of `where`: Paddle makes a tensor [1] of a number, float64 or int64."""
    if isinstance(value, (bool, int, float, np.number)):
        return Tensor((1,), np.asarray(value).dtype.name)
    return tensor(value)


def _where(bound: Arguments) -> Tensor | tuple[Tensor, ...]:
    condition, x, y = (bound[name] for name in ("condition", "x", "y"))
    if x is None and y is None:
        count = object()
        return tuple(Tensor((None, 1), "int64", extent=count) for _ in tensor(condition).shape or ())
    if x is None or y is None:
        raise Refuse("`paddle.where` takes both choices or none")
    x, y = _branch(x), _branch(y)
    return Tensor(broadcast(tensor(condition).shape, x.shape, y.shape), promoted(x, y))


def _choices(bound: Arguments) -> bool:
    parts = [bound[name] for name in ("condition", "x", "y")]
    return all(isinstance(part, Tensor) for part in parts) and (
        parts[0].dtype == "bool" and parts[1].dtype is not None and parts[1].dtype == parts[2].dtype
    )


def _equal_shapes(bound: Arguments) -> bool:
    shapes = {bound[name].shape for name in ("condition", "x", "y") if isinstance(bound[name], Tensor)}
    return _choices(bound) and len(shapes) == 1 and None not in (next(iter(shapes)) or (None,))


def _filled(bound: Arguments) -> Tensor:
    x, mask, value = tensor(bound["x"]), tensor(bound["mask"]), bound["value"]
    if mask.dtype not in (None, "bool"):
        raise Refuse(f"the mask is {mask.dtype}, not bool")
    if isinstance(value, Tensor):
        return Tensor(broadcast(x.shape, mask.shape, value.shape), promoted(x, value))
    return Tensor(broadcast(x.shape, mask.shape), x.dtype)


def _float_in_float32(bound: Arguments) -> bool:
    return tensor(bound["x"]).dtype == "float32" and isinstance(bound["value"], float)


OPS: tuple[Op, ...] = (
    *(_comparison(name, name) for name in ("equal", "not_equal", "greater_equal", "less_equal")),
    _comparison("greater_than", "greater"),
    _comparison("less_than", "less"),
    *map(_logical, ("logical_and", "logical_or", "logical_xor")),
    Op(
        "paddle.logical_not(x, out=None, name=None)",
        truth,
        (Form("tf.logical_not(x=x)", lambda bound: tensor(bound["x"]).dtype == "bool"),),
        ("logical_not",),
    ),
    _bitwise("bitwise_and", "logical_and"),
    _bitwise("bitwise_or", "logical_or"),
    _bitwise("bitwise_xor", "logical_xor"),
    Op(
        "paddle.bitwise_not(x, out=None, name=None)",
        same,
        (Form("tf.logical_not(x=x)", lambda bound: tensor(bound["x"]).dtype == "bool"),),
        ("bitwise_not",),
    ),
    Op("paddle.equal_all(x, y, name=None)", _one_truth, methods=("equal_all",)),
    Op("paddle.isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None)", compared, methods=("isclose",)),
    Op("paddle.allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None)", _one_truth, methods=("allclose",)),
    Op(
        "paddle.where(condition, x=None, y=None, name=None)",
        _where,
        (
            Form("tf.where(condition=condition, x=x, y=y)", _equal_shapes),
            Form("tf.where_v2(condition=condition, x=x, y=y)", _choices),
        ),
        ("where",),
    ),
    method("masked_fill(x, mask, value, name=None)", _filled, "tf.where_v2(mask, value, x)", _float_in_float32),
)
