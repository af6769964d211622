"""Optimizers of tables, one module each, with Rec SDK's `create_hash_optimizer`; `_by_addr`: for dynamic expansion."""

from runtime.optimizers import (
    adadelta,
    adagrad,
    adagrad_by_addr,
    adagrad_decay,
    adam,
    adamw,
    ftrl,
    gradient_descent,
    gradient_descent_by_addr,
    keras_adam,
    keras_adamw,
    keras_sgd,
    lazy_adam,
    lazy_adam_by_addr,
    momentum,
    proximal_adagrad,
    rmsprop,
)
from runtime.optimizers import synchronized as _synchronized  # noqa: F401 - importing extends SyncReplicasOptimizer

__all__ = [
    "adadelta",
    "adagrad",
    "adagrad_by_addr",
    "adagrad_decay",
    "adam",
    "adamw",
    "ftrl",
    "gradient_descent",
    "gradient_descent_by_addr",
    "keras_adam",
    "keras_adamw",
    "keras_sgd",
    "lazy_adam",
    "lazy_adam_by_addr",
    "momentum",
    "proximal_adagrad",
    "rmsprop",
]
