"""Optimizers with Paddle's names, arguments and formulas, for variables and for embeddings that are tables.

`optimizer.minimize(loss)` returns the op of a training step, in place of Paddle's `loss.backward()`,
`optimizer.step()` and `optimizer.clear_grad()`.
"""

from __future__ import annotations

from runtime.nn.optimizer import lr
from runtime.nn.optimizer.adagrad import Adagrad, RMSProp
from runtime.nn.optimizer.adam import Adam, Adamax, AdamW
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.optimizer.scaled import Adadelta, Lamb
from runtime.nn.optimizer.sgd import SGD, Momentum

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lamb",
    "Momentum",
    "Optimizer",
    "RMSProp",
    "lr",
]
