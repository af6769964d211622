"""Lets Paddle's optimizers compute their formulas where kernels for the CPU and sparse gradients do not.

Measured with Paddle 2.6.2: for gradients of chosen rows (`Embedding(sparse=True)`) the kernel multiplies the powers of
the betas before it uses them, so that its first step has the correction of the second; and for rows without a gradient
it does not correct the epsilon. Kernels for dense gradients do neither, nor does `runtime.nn.optimizer.Adam`.

The kernels of Momentum and RMSProp move all rows, and look each one up among the gradient's by halving. They sort
these only where one repeats: of distinct rows in another order some are not found, and move as if they had no gradient.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import paddle
import paddle.nn.functional as F


def trained_by(optimizer: Any) -> list[Any]:
    """Return the parameters that an optimizer has been given, those of its groups as well."""
    groups = optimizer._parameter_list or ()
    return [parameter for one in groups for parameter in (one["params"] if isinstance(one, dict) else [one])]


@contextlib.contextmanager
def textbook(optimizer: Any, model: Any = None) -> Iterator[None]:
    """Let the steps inside follow the formula.

    An Adam that moves all rows gets dense gradients, with which it moves the same rows. With `lazy_mode` gradients stay
    sparse, and the powers begin at 1: multiplied once, they are those of the first step. Momentum and RMSProp
    get rows in order.
    """
    adam = isinstance(optimizer, paddle.optimizer.Adam)
    layers = model.sublayers(include_self=True) if model is not None else []
    layers = [layer for layer in layers if isinstance(layer, paddle.nn.Embedding)]
    chosen = [layer for layer in layers if layer._sparse] if adam and not optimizer._lazy_mode else []
    stock, step = paddle.optimizer.Adam._add_accumulator, paddle.optimizer.Optimizer.step

    def add(self: Any, name: str, param: Any, *given: Any, **named: Any) -> Any:
        plain = getattr(param, "regularizer", None) is None and self.regularization is None  # else the sum is dense
        if name in {"beta1_pow_acc", "beta2_pow_acc"} and plain and _of_rows(param):
            named["fill_value"] = 1.0
        return stock(self, name, param, *given, **named)

    def in_order(self: Any) -> None:
        by_halving = isinstance(self, (paddle.optimizer.Momentum, paddle.optimizer.RMSProp))
        for parameter in trained_by(self) if by_halving else ():
            if _of_rows(parameter):
                rows, values = np.asarray(parameter.grad.rows()), parameter.grad.numpy()
                parameter.clear_gradient(False)
                rows_term(parameter, rows, values).backward()
        step(self)

    for layer in chosen:
        layer._sparse = False
    try:
        with (
            mock.patch.object(paddle.optimizer.Adam, "_add_accumulator", add),
            mock.patch.object(paddle.optimizer.Optimizer, "step", in_order),
        ):
            yield
    finally:
        for layer in chosen:
            layer._sparse = True


def _of_rows(param: Any) -> bool:
    return param.grad is not None and bool(param.grad.is_selected_rows())


def rows_term(parameter: Any, rows: Any, values: Any) -> Any:
    """Return a scalar whose gradient for the parameter is these rows, in order: `[n]` numbers and `[n, ...]` values."""
    order = np.argsort(rows, kind="stable")
    looked_up = F.embedding(paddle.to_tensor(rows[order].astype(np.int64)), parameter, sparse=True)
    return (looked_up * paddle.to_tensor(values[order].astype(str(parameter.dtype).rpartition(".")[2]))).sum()
