"""Lets Paddle's optimizers compute their formulas where kernels for the CPU and sparse gradients do not.

Measured with Paddle 2.6.2: for gradients of chosen rows (`Embedding(sparse=True)`) the kernel multiplies the powers of
the betas before it uses them, so that its first step has the correction of the second; and for rows without a gradient
it does not correct the epsilon. Kernels for dense gradients do neither, nor does `runtime.nn.optimizer.Adam`: an Adam
that moves all rows is given dense gradients (`is_dense`), with which it moves the same rows.

The kernels of Momentum and RMSProp move all rows, and look each one up among the gradient's by halving. They sort
these only where one repeats: of distinct rows in another order some are not found, and move as if they had no gradient.
So rows are given in order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import paddle
import paddle.nn.functional as F


def trained_by(optimizer: Any) -> list[Any]:
    """Return the parameters that an optimizer has been given, those of its groups as well."""
    groups = optimizer._parameter_list or ()
    return [parameter for one in groups for parameter in (one["params"] if isinstance(one, dict) else [one])]


def is_dense(optimizer: Any) -> bool:
    """Return whether an optimizer must be given dense gradients."""
    return isinstance(optimizer, paddle.optimizer.Adam) and not optimizer._lazy_mode


def of_rows(parameter: Any) -> bool:
    """Return whether the gradient of a parameter is one of chosen rows."""
    return parameter.grad is not None and bool(parameter.grad.is_selected_rows())


@contextlib.contextmanager
def textbook(is_of_rows: Callable[[Any], bool] = of_rows) -> Iterator[None]:
    """Let an Adam of chosen rows begin inside with powers of 1: multiplied once, they are those of the first step."""
    stock = paddle.optimizer.Adam._add_accumulator

    def add(self: Any, name: str, param: Any, *given: Any, **named: Any) -> Any:
        plain = getattr(param, "regularizer", None) is None and self.regularization is None  # else the sum is dense
        if name in {"beta1_pow_acc", "beta2_pow_acc"} and plain and is_of_rows(param):
            named["fill_value"] = 1.0
        return stock(self, name, param, *given, **named)

    with mock.patch.object(paddle.optimizer.Adam, "_add_accumulator", add):
        yield


def rows_term(parameter: Any, rows: Any, values: Any) -> Any:
    """Return a scalar whose gradient for the parameter is these rows, in order: `[n]` numbers and `[n, ...]` values."""
    order = np.argsort(rows, kind="stable")
    looked_up = F.embedding(paddle.to_tensor(rows[order].astype(np.int64)), parameter, sparse=True)
    return (looked_up * paddle.to_tensor(values[order].astype(str(parameter.dtype).rpartition(".")[2]))).sum()
