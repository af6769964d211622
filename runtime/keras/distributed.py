"""Keras over ranks: an optimizer that reduces gradients, copies that begin alike, and metrics of all ranks.

Rows of tables are shared by the lookup itself; what `fit` lacks is the rest of what `runtime.ranks` does by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation, ranks
from runtime.keras.adapters import tensorflow_variable
from runtime.ranks.gradients import of_table

_Callback: Any = tf.keras.callbacks.Callback
_CLIPPING = ("clipnorm", "global_clipnorm", "clipvalue")


def DistributedOptimizer(optimizer: Any, operation: str = "mean") -> Any:
    """Return the Keras optimizer, which from now on reduces gradients over ranks before it applies them.

    It serves `compile` and `fit`, `minimize` and `apply_gradients`; every rank makes as many steps. See
    `runtime.ranks.reduced_gradients`, which is not to be called as well.

    Args:
        optimizer: of Keras 2 or Keras 3; with one rank alone it stays as it is in effect.
        operation: "mean" where each rank's loss is the mean over its own batch, as Keras' losses are; all batches are
            then to have as many samples. "sum" where each rank divides by the size of all batches together.

    Raises:
        TypeError: no optimizer of Keras, or one around another (a loss scale).
        ValueError: an unknown operation, or the optimizer reduces gradients already.
    """
    _validation.option("operation", operation, ("sum", "mean"))
    stock: Any = type(optimizer)
    if not hasattr(optimizer, "iterations") or not hasattr(optimizer, "apply_gradients"):
        raise TypeError(
            f"DistributedOptimizer takes an optimizer of Keras: got {stock.__name__}; for others reduce the gradients "
            "with runtime.ranks.reduced_gradients"
        )
    if hasattr(optimizer, "inner_optimizer") or hasattr(optimizer, "_inner_optimizers"):
        raise TypeError(
            f"DistributedOptimizer cannot reduce for {stock.__name__}, whose decision to leave a step out each rank "
            "would take for itself: train in float32 or bfloat16 with the optimizer that is inside"
        )
    if hasattr(stock, "reduces_over_ranks"):
        raise ValueError(f"this {stock.__name__} reduces gradients over ranks already: wrap it once")

    class Reducing(stock):  # type: ignore[misc]
        """The optimizer with gradients of all ranks."""

        reduces_over_ranks = True

        if hasattr(stock, "apply"):  # Keras 3, where apply_gradients calls it

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
    given = list(pairs)
    inner = [(gradient, tensorflow_variable(variable)) for gradient, variable in given]
    if ranks.size() > 1 and any(of_table(variable) for _, variable in inner):
        _refuse_clipping(optimizer)
    reduced = ranks.reduced_gradients(inner, operation)
    return [(gradient, variable) for (gradient, _), (_, variable) in zip(reduced, given, strict=True)]


def _refuse_clipping(optimizer: Any) -> None:
    for name in _CLIPPING:
        if getattr(optimizer, name, None):
            raise ranks.RanksError(
                f"Keras {type(optimizer).__name__} with {name} would clip by the rows that each of {ranks.size()} "
                "ranks has: leave it out, or clip in the training step, each rank's gradients before they are reduced"
            )


def refuse_drift(model: Any, stock_step: Any) -> None:
    """Refuse to fit a model with tables over several ranks where nothing reduces the gradients of its other variables.

    Raises:
        RanksError: it is so; a `train_step` of one's own is taken to do it.
    """
    optimizer = getattr(model, "optimizer", None)
    if ranks.size() == 1 or optimizer is None or type(model).train_step is not stock_step:
        return
    reduces = any(hasattr(optimizer, name) for name in ("reduces_over_ranks", "register_local_var"))  # Horovod's
    if not reduces and any(_has_table(layer) for layer in model._flatten_layers()):
        raise ranks.RanksError(
            f"`fit` would let the copies of the variables of `{model.name}` that {ranks.size()} ranks have drift apart:"
            " compile the model with runtime.keras.DistributedOptimizer(optimizer)"
        )


def _has_table(layer: Any) -> bool:
    weights = [*getattr(layer, "_trainable_weights", ()), *getattr(layer, "_trainable_variables", ())]
    return hasattr(layer, "shares_rows") or any(of_table(tensorflow_variable(one)) for one in weights)


class BroadcastCallback(_Callback):  # type: ignore[misc]
    """Gives all ranks the weights that rank 0 has when `fit` begins; tables, whose rows are shared, are left out."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Exchange them.

        Raises:
            RanksError: the model has no weights yet.
        """
        if ranks.size() == 1:
            return
        if not self.model.built:
            raise ranks.RanksError(
                f"the model `{self.model.name}` has no weights that ranks could begin with alike: give it an Input, "
                "or call it on a batch, on every rank, before `fit`"
            )
        weights = [tensorflow_variable(one) for one in self.model.weights]
        ranks.broadcast(one for one in weights if one.dtype.base_dtype in (tf.float32, tf.float64, tf.int32, tf.int64))


class MetricAverageCallback(_Callback):  # type: ignore[misc]
    """Puts the means over ranks in place of each rank's losses and metrics at the end of an epoch.

    Callbacks behind it that stop the training or change the learning rate then decide the same on all ranks.
    """

    def on_epoch_end(self, epoch: int, logs: MutableMapping[str, Any] | None = None) -> None:
        """Exchange what `logs` holds, on all ranks the same names."""
        if ranks.size() == 1 or not logs:
            return
        values = {name: np.asarray(logs[name], np.float64) for name in sorted(logs)}
        total = ranks.current().all_reduce(tf.constant(np.concatenate([one.ravel() for one in values.values()])))
        means = np.split(total.numpy() / ranks.size(), np.cumsum([one.size for one in values.values()])[:-1])
        for (name, one), mean in zip(values.items(), means, strict=True):
            logs[name] = mean.reshape(one.shape) if one.shape else float(mean[0])
