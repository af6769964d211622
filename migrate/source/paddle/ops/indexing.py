"""Ops that pick items: gather, embedding, masks, indices along an axis."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Shape, Tensor, Value
from migrate.source.paddle.ops.shapes import axis_of, broadcast, same, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op, method

_F = "paddle.nn.functional"


def _integers(x: Tensor, what: str) -> None:
    if x.dtype not in (None, "int32", "int64"):
        raise Refuse(f"{what} are {x.dtype}, not integers")


def _gather(bound: Arguments) -> Tensor:
    x, index = tensor(bound["x"]), tensor(bound["index"])
    _integers(index, "the indices")
    if x.shape is None or index.shape is None:
        return Tensor(None, x.dtype)
    axis = axis_of(bound["axis"] or 0, len(x.shape))
    picked = index.shape[:1] if index.shape else ()
    return Tensor((*x.shape[:axis], *picked, *x.shape[axis + 1 :]), x.dtype)


def _flat_index(bound: Arguments) -> bool:
    return tensor(bound["index"]).rank in (0, 1) and (bound["axis"] is None or isinstance(bound["axis"], int))


def _gather_nd(bound: Arguments) -> Tensor:
    x, index = tensor(bound["x"]), tensor(bound["index"])
    if x.shape is None or not index.shape or index.shape[-1] is None:
        return Tensor(None, x.dtype)
    return Tensor((*index.shape[:-1], *x.shape[index.shape[-1] :]), x.dtype)


def _one_hot(bound: Arguments) -> Tensor:
    x, classes = tensor(bound["x"]), bound["num_classes"]
    return Tensor(None if x.shape is None else (*x.shape, sizes_of(classes)[0]), "float32")


def _embedding(bound: Arguments) -> Tensor:
    x, weight = tensor(bound["x"]), tensor(bound["weight"])
    _integers(x, "the ids")
    unknown = x.shape is None or weight.shape is None
    return Tensor(None if unknown else (*(x.shape or ()), (weight.shape or (None,))[-1]), weight.dtype)


def _same_shape(bound: Arguments) -> bool:
    x, mask = tensor(bound["x"]), tensor(bound["mask"])
    return x.shape is not None and x.shape == mask.shape and bool(x.shape)


def _nonzero(bound: Arguments) -> Tensor | tuple[Tensor, ...]:
    rank = tensor(bound["x"]).rank
    if bound["as_tuple"]:
        count = object()
        return tuple(Tensor((None, 1), "int64", extent=count) for _ in range(rank or 0))
    return Tensor((None, rank), "int64", extent=object())


def _along(first: str, wide: bool) -> Value:
    """Along an axis; the other axes of both broadcast if `broadcast` is true."""

    def result(bound: Arguments) -> Tensor:
        x, index = tensor(bound[first]), tensor(bound["indices"])
        if x.shape is None or index.shape is None or not wide:
            return Tensor(x.shape, x.dtype)
        if not bound["broadcast"]:
            return Tensor(index.shape, x.dtype)
        axis = axis_of(bound["axis"], len(x.shape))

        def others(shape: Shape) -> Shape:
            return (*shape[:axis], 1, *shape[axis + 1 :])

        shape = broadcast(others(x.shape), others(index.shape)) or ()
        return Tensor((*shape[:axis], index.shape[axis], *shape[axis + 1 :]), x.dtype)

    return result


def _sampled(bound: Arguments) -> Tensor:
    return Tensor(tensor(bound["index"]).shape, tensor(bound["x"]).dtype)


def _scattered(bound: Arguments) -> Tensor:
    return Tensor(tuple(sizes_of(bound["shape"])), tensor(bound["updates"]).dtype)


OPS: tuple[Op, ...] = (
    Op(
        "paddle.gather(x, index, axis=None, name=None)",
        _gather,
        (Form("tf.gather(x, index)", _flat_index), Form("tf.gather(x, index, axis=axis)", _flat_index)),
        ("gather",),
    ),
    Op("paddle.gather_nd(x, index, name=None)", _gather_nd, methods=("gather_nd",)),
    Op("paddle.index_select(x, index, axis=0, name=None)", _gather, methods=("index_select",)),
    Op("paddle.index_sample(x, index)", _sampled, methods=("index_sample",)),
    Op(
        "paddle.masked_select(x, mask, name=None)",
        lambda bound: Tensor((None,), tensor(bound["x"]).dtype, extent=object()),
        (Form("tf.boolean_mask(tensor=x, mask=mask)", _same_shape),),
        ("masked_select",),
    ),
    Op("paddle.nonzero(x, as_tuple=False)", _nonzero, methods=("nonzero",)),
    method("take_along_axis(arr, indices, axis, broadcast=True)", _along("arr", wide=True)),
    method(
        "put_along_axis(arr, indices, values, axis, reduce='assign', include_self=True, broadcast=True)",
        _along("arr", wide=False),
    ),
    Op("paddle.scatter(x, index, updates, overwrite=True, name=None)", same, methods=("scatter",)),
    Op("paddle.scatter_nd_add(x, index, updates, name=None)", same, methods=("scatter_nd_add",)),
    Op("paddle.scatter_nd(index, updates, shape, name=None)", _scattered),
    Op(
        f"{_F}.one_hot(x, num_classes, name=None)",
        _one_hot,
        (Form("tf.one_hot(indices=x, depth=num_classes)", lambda bound: isinstance(bound["num_classes"], int)),),
    ),
    Op(
        f"{_F}.embedding(x, weight, padding_idx=None, sparse=False, name=None)",
        _embedding,
        (Form("tf.gather(weight, x)", lambda bound: bound["padding_idx"] is None, ignored=True),),
    ),
)
