"""`scale`, which can apply an activation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional import activation, unary
from runtime.nn.functional.tensors import is_number, number, tensor


def scale(
    x: Any,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return x · scale + bias, or (x + bias) · scale, with the dtype of x: the numbers are cast to it.

    Args:
        x: tensor.
        scale: a number, or a tensor of one element, which gets no gradient.
        bias: a number.
        bias_after_scale: False adds before scaling.
        act: name of an activation without arguments, applied to the result.
        name: not used.
    """
    x = tensor(x)
    factor = tensor(scale, x.dtype) if not is_number(scale) else number(scale, x.dtype)
    factor = tf.stop_gradient(tf.reshape(factor, ()))
    shift = number(bias, x.dtype)
    y = x * factor + shift if bias_after_scale else (x + shift) * factor
    if act is None:
        return y
    return (getattr(activation, act, None) or getattr(unary, act))(y)


__all__ = [
    "scale",
]
