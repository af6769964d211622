"""Keras on several ranks: an optimizer that reduces gradients, equal initial weights, and metrics of all ranks.

Rows of tables are exchanged by the lookup itself; this module does for `fit` the rest of what `runtime.ranks` offers.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation, ranks
from runtime.keras.whole_layers import tensorflow_variable
from runtime.ranks.gradients import of_table

_Callback: Any = tf.keras.callbacks.Callback
_CLIPPING = ("clipnorm", "global_clipnorm", "clipvalue")


def DistributedOptimizer(optimizer: Any, operation: str = "mean") -> Any:
    """Make a Keras optimizer reduce gradients over ranks before it applies them, and return it.

    It works with `compile` and `fit`, `minimize` and `apply_gradients`; all ranks must make equally many steps. Do not
    call `runtime.ranks.reduced_gradients` as well.

    Args:
        optimizer: of Keras 2 or Keras 3; with a single rank it works as before.
        operation: "mean" if each rank's loss is the mean over its own batch, as Keras' losses are; all batches must
            then have equally many samples. "sum" if each rank divides by the size of all batches together.

    Raises:
        TypeError: it is not a Keras optimizer, or it wraps another one (loss scaling).
        ValueError: the operation is unknown, or the optimizer reduces gradients already.
    """
    _validation.option("operation", operation, ("sum", "mean"))
    stock: Any = type(optimizer)
    if not hasattr(optimizer, "iterations") or not hasattr(optimizer, "apply_gradients"):
        raise TypeError(
            f"DistributedOptimizer needs a Keras optimizer: got {stock.__name__}; for other optimizers reduce the "
            "gradients with runtime.ranks.reduced_gradients"
        )
    if hasattr(optimizer, "inner_optimizer") or hasattr(optimizer, "_inner_optimizers"):
        raise TypeError(
            f"DistributedOptimizer cannot wrap {stock.__name__}, because with a loss scale each rank would "
            "decide for itself to skip a step: train in float32 or bfloat16 with the inner optimizer"
        )
    if hasattr(stock, "reduces_over_ranks"):
        raise ValueError(f"this {stock.__name__} reduces gradients over ranks already: wrap it once")

    class Reducing(stock):  # type: ignore[misc]
        """The optimizer, with reduced gradients."""

        reduces_over_ranks = True

        if hasattr(stock, "apply"):  # Keras 3, whose apply_gradients calls it

            def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> Any:
                variables = self._trainable_variables if trainable_variables is None else list(trainable_variables)
                pairs = _reduced(self, zip(grads, variables, strict=True), operation)
                return super().apply([gradient for gradient, _ in pairs], variables)

        else:

            def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], *args: Any, **kwargs: Any) -> Any:
                return super().apply_gradients(_reduced(self, grads_and_vars, operation), *args, **kwargs)

    Reducing.__name__, Reducing.__qualname__ = stock.__name__, stock.__qualname__
    Reducing.__module__ = stock.__module__
    object.__setattr__(optimizer, "__class__", Reducing)
    return optimizer


def _reduced(optimizer: Any, pairs: Iterable[tuple[Any, Any]], operation: str) -> list[tuple[Any, Any]]:
    listed = list(pairs)
    inner = [(gradient, tensorflow_variable(variable)) for gradient, variable in listed]
    if ranks.size() > 1 and any(of_table(variable) for _, variable in inner):
        _refuse_clipping(optimizer)
    reduced = ranks.reduced_gradients(inner, operation)
    return [(gradient, variable) for (gradient, _), (_, variable) in zip(reduced, listed, strict=True)]


def _refuse_clipping(optimizer: Any) -> None:
    for name in _CLIPPING:
        if getattr(optimizer, name, None):
            raise ranks.RanksError(
                f"Keras {type(optimizer).__name__} with {name} would clip by the rows of each of {ranks.size()} ranks "
                "separately: leave it out, or clip each rank's gradients in the training step, before they are reduced"
            )


def refuse_drift(model: Any, stock_step: Any) -> None:
    """Refuse to fit a model with tables on several ranks if the gradients of its other variables are not reduced.

    Raises:
        RanksError: they are not; a custom `train_step` is assumed to reduce them.
    """
    optimizer = getattr(model, "optimizer", None)
    if ranks.size() == 1 or optimizer is None or type(model).train_step is not stock_step:
        return
    reduces = any(hasattr(optimizer, name) for name in ("reduces_over_ranks", "register_local_var"))  # ours, Horovod's
    if not reduces and any(_has_table(layer) for layer in model._flatten_layers()):
        raise ranks.RanksError(
            f"`fit` would let the copies of the variables of `{model.name}` on {ranks.size()} ranks diverge:"
            " compile the model with runtime.keras.DistributedOptimizer(optimizer)"
        )


def _has_table(layer: Any) -> bool:
    weights = [*getattr(layer, "_trainable_weights", ()), *getattr(layer, "_trainable_variables", ())]
    return hasattr(layer, "shares_rows") or any(of_table(tensorflow_variable(one)) for one in weights)


class BroadcastCallback(_Callback):  # type: ignore[misc]
    """Copies rank 0's weights to all ranks when `fit` begins; tables, whose rows are shared anyway, are left out."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Exchange the weights.

        Raises:
            RanksError: the model has no weights yet.
        """
        if ranks.size() == 1:
            return
        if not self.model.built:
            raise ranks.RanksError(
                f"the model `{self.model.name}` has no weights to copy to other ranks: give it an Input, or call it "
                "on a batch, on every rank, before `fit`"
            )
        weights = [tensorflow_variable(one) for one in self.model.weights]
        ranks.broadcast(one for one in weights if one.dtype.base_dtype in (tf.float32, tf.float64, tf.int32, tf.int64))


class MetricAverageCallback(_Callback):  # type: ignore[misc]
    """Replaces each rank's losses and metrics by their means over ranks at the end of an epoch.

    Later callbacks that stop the training or change the learning rate then decide the same on all ranks.
    """

    def on_epoch_end(self, epoch: int, logs: MutableMapping[str, Any] | None = None) -> None:
        """Average the values of `logs`, which must have the same names on all ranks."""
        if ranks.size() == 1 or not logs:
            return
        values = {name: np.asarray(logs[name], np.float64) for name in sorted(logs)}
        total = ranks.current().all_reduce(tf.constant(np.concatenate([one.ravel() for one in values.values()])))
        means = np.split(total.numpy() / ranks.size(), np.cumsum([one.size for one in values.values()])[:-1])
        for (name, value), mean in zip(values.items(), means, strict=True):
            logs[name] = mean.reshape(value.shape) if value.shape else float(mean[0])
