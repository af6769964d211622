"""Ops on sequences of different lengths."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.shapes import dtype_name, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Op

_F = "paddle.nn.functional"


def _mask(bound: Arguments) -> Tensor:
    x, most = tensor(bound["x"]), bound["maxlen"]
    size = None if most is None else sizes_of(most)[0]
    return Tensor(None if x.shape is None else (*x.shape, size), dtype_name(bound["dtype"]))


def _padded(bound: Arguments) -> Tensor:
    x, amounts = tensor(bound["x"]), sizes_of(bound["pad"])
    if x.shape is None:
        return Tensor(None, x.dtype)
    rank = len(x.shape)
    if bound["mode"] == "constant" and len(amounts) == 2 * rank:
        pairs = [tuple(amounts[2 * i : 2 * i + 2]) for i in range(rank)]
    else:
        first = 1 if str(bound["data_format"]).endswith("C") else 2
        if len(amounts) != 2 * (rank - 2):
            raise Refuse(f"`pad` needs two numbers for each of {rank - 2} dimensions, or for each of all {rank}")
        pairs = [(0, 0)] * rank
        for i in range(rank - 2):
            pairs[first + rank - 3 - i] = tuple(amounts[2 * i : 2 * i + 2])
    return Tensor(tuple(_more(size, pair) for size, pair in zip(x.shape, pairs, strict=True)), x.dtype)


def _more(size: int | None, pair: tuple[int | None, ...]) -> int | None:
    total = 0
    for part in (size, *pair):
        if part is None:
            return None
        total += part
    return total


OPS: tuple[Op, ...] = (
    Op(f"{_F}.sequence_mask(x, maxlen=None, dtype='int64', name=None)", _mask),
    Op(f"{_F}.pad(x, pad, mode='constant', value=0.0, data_format='NCHW', name=None)", _padded),
)
