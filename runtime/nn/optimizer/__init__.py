"""Optimizers with Paddle's names, arguments and formulas, for dense weights and for embedding tables."""

from __future__ import annotations

from runtime.nn.optimizer import lr
from runtime.nn.optimizer.adam import Adam, AdamW
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.optimizer.descent import SGD, Adagrad, Momentum

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Momentum", "Optimizer", "lr"]
