"""Ops that make tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.values import Size, Tensor, Value, mentions
from migrate.source.paddle.ops.shapes import dtype_name, same, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _filled(default: str) -> Callable[[Arguments], Tensor]:
    return lambda bound: Tensor(tuple(sizes_of(bound["shape"])), dtype_name(bound["dtype"], default))


def _like(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(x.shape, dtype_name(bound["dtype"], x.dtype))


def _to_tensor(bound: Arguments) -> Tensor:
    data: Value = bound["data"]
    if isinstance(data, Tensor):
        return Tensor(data.shape, dtype_name(bound["dtype"], data.dtype))
    if mentions(data, Tensor | Size):
        return Tensor((len(data),) if isinstance(data, list | tuple) else (), dtype_name(bound["dtype"], "int64"))
    array = np.asarray(data)
    plain = "float32" if array.dtype == np.float64 and not isinstance(data, np.ndarray) else array.dtype.name
    return Tensor(array.shape, dtype_name(bound["dtype"], plain))


def _arange(bound: Arguments) -> Tensor:
    given = [bound[name] for name in ("start", "end", "step")]
    plain = all(isinstance(item, int | float | None.__class__) for item in given)
    kind = "float32" if any(isinstance(item, float) for item in given) else "int64"
    start, end = (0, given[0]) if given[1] is None else (given[0], given[1])
    size = len(np.arange(start, end, given[2])) if plain else None
    return Tensor((size,), dtype_name(bound["dtype"], kind))


def _drawn(bound: Arguments) -> Tensor:
    return Tensor(tuple(sizes_of([1] if bound["shape"] is None else bound["shape"])), "float32")


def _permuted(bound: Arguments) -> Tensor:
    count = bound["n"]
    return Tensor((count if isinstance(count, int) else None,), dtype_name(bound["dtype"]))


def _is_tensor(bound: Arguments) -> bool:
    return isinstance(bound["data"], Tensor) and bound["dtype"] is None


def _cast_only(bound: Arguments) -> bool:
    return isinstance(bound["data"], Tensor) and bound["dtype"] is not None


def _multinomial(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(None if x.shape is None else (*x.shape[:-1], bound["num_samples"]), "int64")


OPS: tuple[Op, ...] = (
    Op("paddle.multinomial(x, num_samples=1, replacement=False, name=None)", _multinomial, methods=("multinomial",)),
    Op("paddle.zeros(shape, dtype=None, name=None)", _filled("float32")),
    Op("paddle.ones(shape, dtype=None, name=None)", _filled("float32")),
    Op("paddle.full(shape, fill_value, dtype=None, name=None)", _filled("float32")),
    Op("paddle.zeros_like(x, dtype=None, name=None)", _like, (Form("tf.zeros_like(input=x, dtype=dtype)"),)),
    Op("paddle.ones_like(x, dtype=None, name=None)", _like, (Form("tf.ones_like(input=x, dtype=dtype)"),)),
    Op("paddle.full_like(x, fill_value, dtype=None, name=None)", _like),
    Op(
        "paddle.to_tensor(data, dtype=None, place=None, stop_gradient=True)",
        _to_tensor,
        (Form("data", _is_tensor), Form("tf.cast(x=data, dtype=dtype)", _cast_only)),
    ),
    Op("paddle.arange(start=0, end=None, step=1, dtype=None, name=None)", _arange),
    Op("paddle.assign(x, output=None)", same, methods=("clone", "detach")),
    Op("paddle.tril(x, diagonal=0, name=None)", same, methods=("tril",)),
    Op("paddle.triu(x, diagonal=0, name=None)", same, methods=("triu",)),
    Op("paddle.normal(mean=0.0, std=1.0, shape=None, name=None)", _drawn),
    Op("paddle.randn(shape, dtype=None, name=None)", _filled("float32")),
    Op("paddle.uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None)", _filled("float32")),
    Op("paddle.randint(low=0, high=None, shape=[1], dtype=None, name=None)", _filled("int64")),
    Op("paddle.randperm(n, dtype='int64', name=None)", _permuted),
    Op("paddle.rand(shape, dtype=None, name=None)", _filled("float32")),
)
