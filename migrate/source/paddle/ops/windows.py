"""Convolutions and poolings as functions."""

from __future__ import annotations

from collections.abc import Callable

from migrate.source.paddle.abstract.values import Refuse, Tensor, Value
from migrate.source.paddle.ops.shapes import tensor
from migrate.source.paddle.ops.spec import Arguments, Op

_F = "paddle.nn.functional"


def listed(value: Value, count: int) -> list[int]:
    """Return a number for each dimension."""
    items = list(value) if isinstance(value, list | tuple) else [value] * count
    if len(items) != count or not all(isinstance(item, int) for item in items):
        raise Refuse(f"{value!r} is not a list of {count} numbers")
    return items


def spatial(sizes: list[int | None], bound: Arguments, ceil: bool = False) -> list[int | None]:
    """Return the sizes after a convolution or pooling with `kernel_size`, `stride`, `padding` and `dilation`."""
    count = len(sizes)
    kernel = listed(bound["kernel_size"], count)
    stride = listed(kernel if bound["stride"] is None else bound["stride"], count)
    dilation = listed(bound.get("dilation", 1), count)
    padding = bound["padding"]
    if isinstance(padding, str) and padding.upper() == "SAME":
        return [None if size is None else -(-size // step) for size, step in zip(sizes, stride, strict=True)]
    flat = (
        [0] * count
        if isinstance(padding, str)
        else list(padding)
        if isinstance(padding, list | tuple)
        else [padding] * count
    )
    pairs = [(p, p) for p in flat] if len(flat) == count else list(zip(flat[::2], flat[1::2], strict=True))
    return [
        None if size is None else _steps(size + sum(around) - d * (k - 1) - 1, s, k, ceil)
        for size, k, s, around, d in zip(sizes, kernel, stride, pairs, dilation, strict=True)
    ]


def _steps(free: int, stride: int, kernel: int, ceil: bool) -> int:
    if free < 0:
        raise Refuse(f"a window of {kernel} is larger than what it moves over")
    return (-(-free // stride) if ceil else free // stride) + 1


def pooled(count: int) -> Callable[[Arguments], Tensor]:
    """The result of a pooling over the last `count` dimensions."""

    def result(bound: Arguments) -> Tensor:
        x = tensor(bound["x"])
        if x.shape is None:
            return Tensor(None, x.dtype)
        if len(x.shape) != count + 2 or bound.get("return_mask"):
            raise Refuse(f"this pooling takes {count + 2} dimensions and returns no mask")
        last = str(bound.get("data_format", "")).endswith("C")
        sizes = spatial(list(x.shape[1:-1] if last else x.shape[2:]), bound, bool(bound["ceil_mode"]))
        return Tensor((x.shape[0], *sizes, x.shape[-1]) if last else (*x.shape[:2], *sizes), x.dtype)

    return result


def adapted(count: int) -> Callable[[Arguments], Tensor]:
    """The result of a pooling to given sizes."""

    def result(bound: Arguments) -> Tensor:
        x = tensor(bound["x"])
        return Tensor(None if x.shape is None else (*x.shape[:2], *listed(bound["output_size"], count)), x.dtype)

    return result


OPS: tuple[Op, ...] = (
    Op(
        f"{_F}.max_pool1d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None)",
        pooled(1),
        examples=(f"{_F}.max_pool1d(f_2_3_4, 2)", f"{_F}.max_pool1d(x=f_2_3_5, kernel_size=3, stride=2, padding=1)"),
    ),
    Op(
        f"{_F}.max_pool2d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, "
        "data_format='NCHW', name=None)",
        pooled(2),
        examples=(
            f"{_F}.max_pool2d(f_2_3_4_4, 2)",
            f"{_F}.max_pool2d(x=f_2_3_5_4, kernel_size=[3, 2], stride=1, padding=1)",
        ),
    ),
    Op(
        f"{_F}.avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None)",
        pooled(1),
        examples=(f"{_F}.avg_pool1d(f_2_3_4, 2)", f"{_F}.avg_pool1d(x=f_2_3_5, kernel_size=3, stride=2, padding=1)"),
    ),
    Op(
        f"{_F}.avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, "
        "divisor_override=None, data_format='NCHW', name=None)",
        pooled(2),
        examples=(f"{_F}.avg_pool2d(f_2_3_4_4, 2)", f"{_F}.avg_pool2d(x=f_2_3_5_4, kernel_size=2, ceil_mode=True)"),
    ),
    Op(
        f"{_F}.adaptive_max_pool1d(x, output_size, return_mask=False, name=None)",
        adapted(1),
        examples=(f"{_F}.adaptive_max_pool1d(f_2_3_4, 2)", f"{_F}.adaptive_max_pool1d(x=f_2_3_5, output_size=1)"),
    ),
    Op(
        f"{_F}.adaptive_avg_pool1d(x, output_size, name=None)",
        adapted(1),
        examples=(f"{_F}.adaptive_avg_pool1d(f_2_3_4, 2)", f"{_F}.adaptive_avg_pool1d(x=f_2_3_5, output_size=1)"),
    ),
)
