"""Ops that order the elements along an axis."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.shapes import axis_of, same, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Op


def _topk(bound: Arguments) -> tuple[Tensor, Tensor]:
    x = tensor(bound["x"])
    if x.shape is None:
        return Tensor(None, x.dtype), Tensor(None, "int64")
    axis = axis_of(-1 if bound["axis"] is None else bound["axis"], len(x.shape))
    shape = (*x.shape[:axis], sizes_of(bound["k"])[0], *x.shape[axis + 1 :])
    return Tensor(shape, x.dtype), Tensor(shape, "int64")


def _order(bound: Arguments) -> Tensor:
    return Tensor(same(bound).shape, "int64")


OPS: tuple[Op, ...] = (
    Op("paddle.topk(x, k, axis=None, largest=True, sorted=True, name=None)", _topk, methods=("topk",)),
    Op("paddle.sort(x, axis=-1, descending=False, name=None)", same, methods=("sort",)),
    Op("paddle.argsort(x, axis=-1, descending=False, name=None)", _order, methods=("argsort",)),
)
