"""Patches Paddle functions that do not support float64 (runs in the Paddle process of the float64 reference)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle.base.layer_helper_base import LayerHelperBase

_SINGLE = ("float32", paddle.float32)


def complete() -> None:
    """Replace functions that have only float32 kernels by their formulas; call this before importing the source.

    Casts to float32, which trainers make of their batches, become casts to float64; weights that are made as float32,
    such as by `paddle.create_parameter`, are made as float64, as the float64 weights could not be set otherwise.
    """
    F.log_loss = log_loss
    paddle.nn.functional.log_loss = log_loss
    paddle.nn.clip.clip_by_norm = clip_by_norm
    F.one_hot = _wide(F.one_hot)
    paddle.to_tensor = _wide(paddle.to_tensor)
    for owner, name in ((paddle, "cast"), (paddle.Tensor, "astype"), (paddle.Tensor, "cast")):
        setattr(owner, name, _renamed(getattr(owner, name)))
    LayerHelperBase.create_parameter = _widened(LayerHelperBase.create_parameter)


def _wide(stock: Callable[..., Any]) -> Callable[..., Any]:
    def widened(*arguments: Any, **keywords: Any) -> Any:
        made = stock(*arguments, **keywords)
        return made.astype("float64") if made.dtype == paddle.float32 else made

    return widened


def _renamed(stock: Callable[..., Any]) -> Callable[..., Any]:
    def cast(x: Any, dtype: Any) -> Any:
        return stock(x, "float64" if dtype in _SINGLE else dtype)

    return cast


def _widened(stock: Callable[..., Any]) -> Callable[..., Any]:
    def create_parameter(self: Any, attr: Any, shape: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        return stock(self, attr, shape, "float64" if dtype in _SINGLE else dtype, *given, **named)

    return create_parameter


def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> Any:
    """Return -label log(input + epsilon) - (1 - label) log(1 - input + epsilon), as Paddle documents it."""
    return -label * paddle.log(input + epsilon) - (1.0 - label) * paddle.log(1.0 - input + epsilon)


def clip_by_norm(x: Any, max_norm: float, name: str | None = None) -> Any:
    """Return x, divided by as much as makes its length `max_norm` if it is longer; chosen rows stay such."""
    values = x
    if x.is_selected_rows():
        x = paddle.nn.clip.merge_selected_rows(x)  # the kernel of `scale` fails where a row is there twice
        values = paddle.nn.clip.get_tensor_from_selected_rows(x)
    length = float(paddle.sqrt(paddle.sum(values * values)))
    return x if length <= max_norm else paddle.scale(x, max_norm / length)
