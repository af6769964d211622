"""The optimizers that the steps of every Paddle model are compared with (runs in the Paddle process)."""

from __future__ import annotations

from typing import Any

import paddle

from migrate.verify.paddle.trainer.common import EPSILON


def optimizer(kind: str, rate: float, parameters: Any = None) -> Any:
    """Return the optimizer of a kind of steps; without parameters, that of a static program."""
    if kind == "sgd":
        return paddle.optimizer.SGD(rate, parameters)
    if kind == "adam":
        return paddle.optimizer.Adam(rate, epsilon=EPSILON, parameters=parameters)
    return paddle.optimizer.Adagrad(rate, epsilon=1e-6, parameters=parameters, initial_accumulator_value=0.0)
