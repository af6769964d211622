"""Convolutions and poolings as functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.values import Refuse, Tensor, Value
from migrate.source.paddle.ops.shapes import same_float, tensor
from migrate.source.paddle.ops.spec import Arguments, Op

_F = "paddle.nn.functional"


def listed(value: Value, count: int) -> list[int]:
    """Return a number for each dimension."""
    items = list(value) if isinstance(value, (list, tuple)) else [value] * count
    items = items * count if len(items) == 1 else items
    if len(items) != count or not all(isinstance(item, (int, np.integer)) for item in items):
        raise Refuse(f"{value!r} is not a list of {count} numbers")
    return [int(item) for item in items]


def spatial(
    sizes: list[int | None], bound: Arguments, kernel: list[int], steps: Callable[[int, int], int]
) -> list[int | None]:
    """Return the sizes after windows of sizes `kernel` with `stride`, `padding` and `dilation` have moved over them.

    `steps` tells how many steps of a size fit into what a window leaves free; -1 if the window itself does not fit.
    """
    count = len(sizes)
    stride = listed(kernel if bound["stride"] is None else bound["stride"], count)
    dilation = listed(bound.get("dilation", 1), count)
    padding = bound["padding"]
    if isinstance(padding, str) and padding.upper() == "SAME":
        return [None if size is None else -(-size // step) for size, step in zip(sizes, stride, strict=True)]
    around = _around(padding, count)
    return [
        None if size is None else _windows(size + sum(pair) - d * (k - 1) - 1, s, k, steps)
        for size, k, s, pair, d in zip(sizes, kernel, stride, around, dilation, strict=True)
    ]


def _around(padding: Value, count: int) -> list[tuple[int, int]]:
    """Return what is added before and behind, for each dimension."""
    if isinstance(padding, str):
        if padding.upper() != "VALID":
            raise Refuse(f"the padding {padding!r} is neither SAME nor VALID")
        return [(0, 0)] * count
    if isinstance(padding, (list, tuple)) and all(isinstance(item, (list, tuple)) for item in padding):
        pairs = [(int(before), int(behind)) for before, behind in padding]
        spread = [pair for pair in pairs if pair != (0, 0)] if len(pairs) != count else pairs
        if len(pairs) == count + 2:  # with the batch and the channels, which are not padded
            spread = pairs[2:] if pairs[1] == (0, 0) else pairs[1:-1]
        if len(spread) != count:
            raise Refuse(f"{padding!r} is not the padding of {count} dimensions")
        return spread
    flat = list(padding) if isinstance(padding, (list, tuple)) else [padding]
    if len(flat) == 2 * count:
        return list(zip(flat[::2], flat[1::2], strict=True))
    return [(size, size) for size in listed(flat, count)]


def _windows(free: int, stride: int, kernel: int, steps: Callable[[int, int], int]) -> int:
    moves = steps(free, stride)
    if moves < 0:
        raise Refuse(f"a window of {kernel} is larger than what it moves over")
    return moves + 1


def _whole(free: int, stride: int) -> int:
    """Steps of a convolution, whose windows must fit."""
    return free // stride


def _cut(free: int, stride: int) -> int:
    """Steps of a pooling. Paddle's quotient is cut towards zero: one window may be larger, by less than a step."""
    return free // stride if free >= 0 else -(-free // stride)


def _covering(free: int, stride: int) -> int:
    """Steps of a pooling with `ceil_mode`, the last of which may go beyond the end."""
    return _cut(free + stride - 1, stride)


def _moved(x: Tensor, count: int, layout: str) -> tuple[bool, list[int | None]]:
    """Return whether channels are the last dimension, and the sizes that windows move over."""
    shape = x.shape or ()
    if len(shape) != count + 2:
        raise Refuse(f"the input has {len(shape)} dimensions, and this takes {count + 2}")
    last = layout.endswith("C")
    return last, list(shape[1:-1] if last else shape[2:])


def _placed(x: Tensor, sizes: list[int | None], last: bool, channels: int | None, dtype: str | None) -> Tensor:
    batch = (x.shape or (None,))[0]
    return Tensor((batch, *sizes, channels) if last else (batch, channels, *sizes), dtype)


def convolved(x: Tensor, weight: Tensor, bound: Arguments, count: int) -> Tensor:
    """The result of a convolution with a weight [out, in / groups, *kernel]; raises `Refuse` if shapes do not fit."""
    if x.shape is None:
        return Tensor(None, x.dtype)
    last, sizes = _moved(x, count, str(bound["data_format"]))
    channels = x.shape[-1 if last else 1]
    if weight.shape is None or None in weight.shape or channels is None:
        raise Refuse("the weight's sizes or the channels of this convolution are known only when the model runs")
    outputs, inputs, *kernel = [size for size in weight.shape if size is not None]
    if len(kernel) != count or channels != inputs * bound["groups"]:
        raise Refuse(
            f"a convolution with a weight {list(weight.shape)} gets the shape {list(x.shape)}, which does not fit"
        )
    return _placed(x, spatial(sizes, bound, kernel, _whole), last, outputs, x.dtype)


def _conv(count: int) -> Callable[[Arguments], Tensor]:
    return lambda bound: convolved(tensor(bound["x"]), tensor(bound["weight"]), bound, count)


def _input(bound: Arguments) -> Tensor:
    if bound.get("return_mask"):
        raise Refuse("the positions of the largest elements are not supported; leave `return_mask` out")
    return same_float(bound)


def pooled(count: int, adapts: bool = False) -> Callable[[Arguments], Value]:
    """The result of a pooling over `count` dimensions, or to given sizes, of which None keeps a size."""

    def result(bound: Arguments) -> Value:
        x = _input(bound)
        if x.shape is None:
            return x
        last, sizes = _moved(x, count, str(bound.get("data_format", "")))
        if adapts:
            wanted = bound["output_size"]
            wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted] * count
            sizes = [size if one is None else listed([one], 1)[0] for one, size in zip(wanted, sizes, strict=True)]
        else:
            kernel, steps = listed(bound["kernel_size"], count), _covering if bound["ceil_mode"] else _cut
            sizes = spatial(sizes, bound, kernel, steps)
        return _placed(x, sizes, last, x.shape[-1 if last else 1], x.dtype)

    return result


_CONV = "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1"
OPS: tuple[Op, ...] = (
    Op(f"{_F}.conv1d({_CONV}, data_format='NCL', name=None)", _conv(1)),
    Op(f"{_F}.conv2d({_CONV}, data_format='NCHW', name=None)", _conv(2)),
    Op(
        f"{_F}.max_pool1d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None)",
        pooled(1),
    ),
    Op(
        f"{_F}.max_pool2d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, "
        "data_format='NCHW', name=None)",
        pooled(2),
    ),
    Op(
        f"{_F}.avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None)",
        pooled(1),
    ),
    Op(
        f"{_F}.avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, "
        "divisor_override=None, data_format='NCHW', name=None)",
        pooled(2),
    ),
    Op(f"{_F}.adaptive_max_pool1d(x, output_size, return_mask=False, name=None)", pooled(1, adapts=True)),
    Op(f"{_F}.adaptive_avg_pool1d(x, output_size, name=None)", pooled(1, adapts=True)),
    Op(f"{_F}.adaptive_max_pool2d(x, output_size, return_mask=False, name=None)", pooled(2, adapts=True)),
    Op(f"{_F}.adaptive_avg_pool2d(x, output_size, data_format='NCHW', name=None)", pooled(2, adapts=True)),
)
