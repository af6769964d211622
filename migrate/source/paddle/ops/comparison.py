"""Comparisons, logic and choices."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.conditions import both_tensors
from migrate.source.paddle.ops.shapes import broadcast, compared, promoted, same, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _comparison(name: str, tf: str) -> Op:
    return Op(f"paddle.{name}(x, y, name=None)", compared, (Form(f"{tf}(x=x, y=y)", both_tensors),), (name,))


def _where(bound: Arguments) -> Tensor | tuple[Tensor, ...]:
    condition, x, y = (bound[name] for name in ("condition", "x", "y"))
    if x is None and y is None:
        return tuple(Tensor((None, 1), "int64") for _ in tensor(condition).shape or ())
    shape = broadcast(tensor(condition).shape, tensor(x).shape, tensor(y).shape)
    return Tensor(shape, promoted(x, y))


OPS: tuple[Op, ...] = (
    _comparison("equal", "tf.equal"),
    _comparison("not_equal", "tf.not_equal"),
    _comparison("greater_than", "tf.greater"),
    _comparison("greater_equal", "tf.greater_equal"),
    _comparison("less_than", "tf.less"),
    _comparison("less_equal", "tf.less_equal"),
    Op("paddle.logical_not(x, out=None, name=None)", lambda bound: Tensor(tensor(bound["x"]).shape, "bool")),
    Op("paddle.logical_and(x, y, out=None, name=None)", compared, methods=("logical_and",)),
    Op("paddle.logical_or(x, y, out=None, name=None)", compared, methods=("logical_or",)),
    Op("paddle.bitwise_and(x, y, out=None, name=None)", lambda bound: same(bound), methods=("bitwise_and",)),
    Op("paddle.where(condition, x=None, y=None, name=None)", _where),
)
