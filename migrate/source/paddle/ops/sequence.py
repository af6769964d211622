"""Ops on sequences."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.shapes import dtype_name, tensor
from migrate.source.paddle.ops.spec import Arguments, Op


def _mask(bound: Arguments) -> Tensor:
    x, most = tensor(bound["x"]), bound["maxlen"]
    size = most if isinstance(most, int) else None
    return Tensor(None if x.shape is None else (*x.shape, size), dtype_name(bound["dtype"]))


OPS: tuple[Op, ...] = (Op("paddle.nn.functional.sequence_mask(x, maxlen=None, dtype='int64', name=None)", _mask),)
