"""Optimizers of tables, one module each with Rec SDK's `create_hash_optimizer`."""

from runtime.optimizers import adagrad, gradient_descent, lazy_adam

__all__ = ["adagrad", "gradient_descent", "lazy_adam"]
