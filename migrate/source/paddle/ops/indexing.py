"""Ops that pick items: gather, top k, masks."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.shapes import axis_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Op


def _gather(bound: Arguments) -> Tensor:
    x, index = tensor(bound["x"]), tensor(bound["index"])
    if x.shape is None or index.shape is None:
        return Tensor(None, x.dtype)
    axis = axis_of(bound["axis"] or 0, len(x.shape))
    picked = index.shape[:1] if index.shape else ()
    return Tensor((*x.shape[:axis], *picked, *x.shape[axis + 1 :]), x.dtype)


def _topk(bound: Arguments) -> tuple[Tensor, Tensor]:
    x = tensor(bound["x"])
    if x.shape is None:
        return Tensor(None, x.dtype), Tensor(None, "int64")
    axis = axis_of(-1 if bound["axis"] is None else bound["axis"], len(x.shape))
    count = bound["k"] if isinstance(bound["k"], int) else None
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return Tensor(shape, x.dtype), Tensor(shape, "int64")


def _one_hot(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(None if x.shape is None else (*x.shape, bound["num_classes"]), "float32")


def _embedding(bound: Arguments) -> Tensor:
    x, weight = tensor(bound["x"]), tensor(bound["weight"])
    if x.dtype not in (None, "int32", "int64"):
        raise Refuse(f"the ids are {x.dtype}, not integers")
    unknown = x.shape is None or weight.shape is None
    return Tensor(None if unknown else (*(x.shape or ()), (weight.shape or (None,))[-1]), weight.dtype)


def _flat(bound: Arguments) -> Tensor:
    return Tensor((None,), tensor(bound["x"]).dtype)


def _gather_nd(bound: Arguments) -> Tensor:
    x, index = tensor(bound["x"]), tensor(bound["index"])
    if x.shape is None or not index.shape or index.shape[-1] is None:
        return Tensor(None, x.dtype)
    return Tensor((*index.shape[:-1], *x.shape[index.shape[-1] :]), x.dtype)


OPS: tuple[Op, ...] = (
    Op("paddle.gather_nd(x, index, name=None)", _gather_nd, methods=("gather_nd",)),
    Op("paddle.gather(x, index, axis=None, name=None)", _gather, methods=("gather",)),
    Op("paddle.index_select(x, index, axis=0, name=None)", _gather, methods=("index_select",)),
    Op("paddle.topk(x, k, axis=None, largest=True, sorted=True, name=None)", _topk, methods=("topk",)),
    Op("paddle.masked_select(x, mask, name=None)", _flat, methods=("masked_select",)),
    Op("paddle.nn.functional.one_hot(x, num_classes, name=None)", _one_hot),
    Op("paddle.nn.functional.embedding(x, weight, padding_idx=None, sparse=False, name=None)", _embedding),
)
