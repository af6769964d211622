"""Ops that draw tensors by chance; a verifier gives both frameworks the same numbers."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.creation import like
from migrate.source.paddle.ops.shapes import dtype_name, same, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Op


def _drawn(bound: Arguments) -> Tensor:
    return Tensor(tuple(sizes_of(bound["shape"])), dtype_name(bound["dtype"], "float32"))


def _integers(bound: Arguments) -> Tensor:
    return Tensor(tuple(sizes_of(list(bound["shape"]))), dtype_name(bound["dtype"], "int64"))


def _normal(bound: Arguments) -> Tensor:
    for name in ("mean", "std"):
        if isinstance(bound[name], Tensor):
            return Tensor(bound[name].shape, bound[name].dtype)
    return Tensor(tuple(sizes_of([1] if bound["shape"] is None else bound["shape"])), "float32")


def _order(bound: Arguments) -> Tensor:
    sizes = [None] if isinstance(bound["n"], Tensor) else sizes_of(bound["n"])
    return Tensor(tuple(sizes), dtype_name(bound["dtype"], "int64"))


def _multinomial(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(None if x.shape is None else (*x.shape[:-1], bound["num_samples"]), "int64")


OPS: tuple[Op, ...] = (
    *(Op(f"paddle.{name}(shape, dtype=None, name=None)", _drawn) for name in ("rand", "randn", "standard_normal")),
    Op("paddle.uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None)", _drawn),
    Op("paddle.normal(mean=0.0, std=1.0, shape=None, name=None)", _normal),
    Op("paddle.randint(low=0, high=None, shape=[1], dtype=None, name=None)", _integers),
    Op("paddle.randint_like(x, low=0, high=None, dtype=None, name=None)", like),
    Op("paddle.randperm(n, dtype='int64', name=None)", _order),
    Op("paddle.multinomial(x, num_samples=1, replacement=False, name=None)", _multinomial, methods=("multinomial",)),
    Op("paddle.bernoulli(x, name=None)", same),
)
