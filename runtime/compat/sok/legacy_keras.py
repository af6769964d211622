"""Lets Keras' legacy optimizers train the variables of layers with hash tables, as NVIDIA's guide of SOK 1.x has it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.compat.sok import dynamic, forms

_METHOD = "_resource_apply_sparse_duplicate_indices"


def adapt(keras: Any) -> None:
    """Adapt the legacy optimizers of a Keras 2 module; idempotent. Keras 3 has none."""
    legacy = getattr(keras.optimizers, "legacy", keras.optimizers)
    for kind in vars(legacy).values():
        for one in getattr(kind, "__mro__", ()):
            stock = vars(one).get(_METHOD)
            if (
                stock is not None
                and not hasattr(stock, "of_tables")
                and not issubclass(one, tf.compat.v1.train.Optimizer)
            ):
                setattr(one, _METHOD, _adapted(stock))


def _adapted(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def apply(self: Any, grad: Any, handle: Any, indices: Any, **kwargs: Any) -> Any:
        if not isinstance(handle, dynamic.DynamicVariable):
            return stock(self, grad, handle, indices, **kwargs)
        return dynamic.update(self, handle, tf.IndexedSlices(grad, indices), forms.form_of(self))

    apply.of_tables = True  # type: ignore[attr-defined]
    return apply
