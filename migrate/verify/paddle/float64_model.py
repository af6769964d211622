"""Patches Paddle functions that do not support float64 (runs in the Paddle process of the float64 reference)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle.base.layer_helper_base import LayerHelperBase

_SINGLE = ("float32", paddle.float32)
#: Functions whose results are float32 where their arguments or their defaults say so.
_MADE = {
    paddle: (
        *("to_tensor", "assign", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like"),
        *("arange", "linspace", "eye"),
    ),
    F: ("one_hot", "sequence_mask"),
}


def complete() -> None:
    """Let a program compute in float64 where it says float32; call this before importing the source."""
    for owner, name, function in patches():
        setattr(owner, name, function)


def patches() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Yield what is replaced: the owner, the name, and the function that is put there.

    Functions that have only float32 kernels are replaced by their formulas. Casts to float32, which trainers make of
    their batches, become casts to float64; so do tensors that are made as float32. Weights that are made as float32,
    such as by `paddle.create_parameter`, are made as float64, as the float64 weights could not be set otherwise.
    """
    yield F, "log_loss", log_loss
    yield paddle.nn.clip, "clip_by_norm", clip_by_norm
    for module, names in _MADE.items():
        for name in names:
            yield module, name, _wide(getattr(module, name))
    for owner, name in ((paddle, "cast"), (paddle.Tensor, "astype"), (paddle.Tensor, "cast")):
        yield owner, name, _renamed(getattr(owner, name))
    yield LayerHelperBase, "create_parameter", _widened(LayerHelperBase.create_parameter)


def _wide(stock: Callable[..., Any]) -> Callable[..., Any]:
    def made(*arguments: Any, **keywords: Any) -> Any:
        result = stock(*arguments, **keywords)
        return result.astype("float64") if result.dtype == paddle.float32 else result

    return made


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
