"""Normalizations as functions."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.shapes import same_float
from migrate.source.paddle.ops.spec import Arguments, Op

_F = "paddle.nn.functional"


def _over_last(bound: Arguments) -> Tensor:
    x, given = same_float(bound), bound["normalized_shape"]
    sizes = list(given) if isinstance(given, list | tuple) else [given]
    if x.shape is not None:
        last = x.shape[max(len(x.shape) - len(sizes), 0) :]
        if len(last) < len(sizes) or any(a not in (None, b) for a, b in zip(last, sizes, strict=True)):
            raise Refuse(f"a normalization over {sizes} gets the shape {list(x.shape)}")
    return x


def _by_channel(bound: Arguments) -> Tensor:
    x = same_float(bound)
    if x.shape is not None and len(x.shape) < 2:
        raise Refuse(f"a normalization by channel gets the shape {list(x.shape)}")
    return x


OPS: tuple[Op, ...] = (
    Op(
        f"{_F}.layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None)",
        _over_last,
        examples=(
            f"{_F}.layer_norm(f_2_3, 3)",
            f"{_F}.layer_norm(x=f_2_3_4, normalized_shape=[3, 4], weight=f_12, bias=f_12, epsilon=0.001)",
        ),
    ),
    Op(
        f"{_F}.batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.9, "
        "epsilon=1e-05, data_format='NCHW', use_global_stats=None, name=None)",
        _by_channel,
        examples=(
            f"{_F}.batch_norm(f_2_3, paddle.zeros([3]), paddle.ones([3]) * 2, f_3 + 1, f_3 * 2)",
            f"{_F}.batch_norm(x=f_2_3_4, running_mean=paddle.ones([3]), running_var=paddle.ones([3]), epsilon=0.1, "
            "data_format='NCL')",
        ),
    ),
    Op(
        f"{_F}.instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
        "momentum=0.9, eps=1e-05, data_format='NCHW', name=None)",
        _by_channel,
        examples=(f"{_F}.instance_norm(f_2_3_4)", f"{_F}.instance_norm(x=f_2_3_4, weight=f_3, bias=f_3, eps=0.1)"),
    ),
)
