"""Lets Paddle's Adam compute its own formula where its kernel for the CPU and sparse gradients computes another.

Measured with Paddle 2.6.2: for gradients of chosen rows (`Embedding(sparse=True)`) the kernel multiplies the powers of
the betas before it uses them, so that its first step has the correction of the second; and for rows without a gradient
it does not correct the epsilon. Kernels for dense gradients do neither, nor does `runtime.nn.optimizer.Adam`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import paddle


@contextlib.contextmanager
def textbook_adam(model: Any, optimizer: Any) -> Iterator[None]:
    """Let the steps inside follow the formula.

    An Adam that moves all rows gets dense gradients, with which it moves the same rows. With `lazy_mode` gradients stay
    sparse, and the powers begin at 1: multiplied once, they are those of the first step.
    """
    adam = isinstance(optimizer, paddle.optimizer.Adam)
    layers = [layer for layer in model.sublayers(include_self=True) if isinstance(layer, paddle.nn.Embedding)]
    chosen = [layer for layer in layers if layer._sparse] if adam and not optimizer._lazy_mode else []
    stock = paddle.optimizer.Adam._add_accumulator

    def add(self: Any, name: str, param: Any, *given: Any, **named: Any) -> Any:
        plain = getattr(param, "regularizer", None) is None and self.regularization is None  # else the sum is dense
        if name in {"beta1_pow_acc", "beta2_pow_acc"} and plain and _of_rows(param):
            named["fill_value"] = 1.0
        return stock(self, name, param, *given, **named)

    for layer in chosen:
        layer._sparse = False
    try:
        with mock.patch.object(paddle.optimizer.Adam, "_add_accumulator", add):
            yield
    finally:
        for layer in chosen:
            layer._sparse = True


def _of_rows(param: Any) -> bool:
    return param.grad is not None and bool(param.grad.is_selected_rows())
