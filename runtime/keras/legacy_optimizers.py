"""Lets `keras.optimizers.legacy` of Keras 2 update tables by native forms; equal ids are summed before the update.

SGD and Adagrad move the rows of the batch alone, Adam moves every row at every step, as they do it on a variable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.keras.stock_files import StockMatrix
from runtime.keras.whole_variable import WholeSlot, WholeVariable, created_as
from runtime.optimizers._base import RuleOptimizer, TableOptimizer
from runtime.optimizers.keras_adam import KerasAdamTableOptimizer
from runtime.table.eager_anchor import EagerAnchor

_REMEDY = "use SGD, Adagrad or Adam of keras.optimizers.legacy, or SGD, Adagrad, Adam or AdamW of keras.optimizers"
#: The slots of a variable, by the rule of the native form, in the order of a row.
SLOTS: Mapping[str, Sequence[str]] = {"momentum": ("momentum",), "adagrad": ("accumulator",), "keras_adam": ("m", "v")}
#: What the update of a class may be overridden by.
_STEPS = ("_resource_apply_sparse", "_resource_apply_sparse_duplicate_indices")


def _sgd(optimizer: Any) -> tuple[TableOptimizer, bool]:
    if not optimizer._momentum:
        return RuleOptimizer("sgd", [0.0], (), 0.0, False, "SGD"), False
    # Keras' slot has the learning rate in it, which may vary: gradients have it, too, and the rate is then 1.
    settings = (_number(optimizer, "momentum"), float(optimizer.nesterov))
    return RuleOptimizer("momentum", settings, (0.0,), 1.0, False, "SGD"), True


def _adagrad(optimizer: Any) -> tuple[TableOptimizer, bool]:
    start = float(optimizer._initial_accumulator_value)
    return RuleOptimizer("adagrad", [float(optimizer.epsilon)], (start,), 0.0, False, "Adagrad"), False


def _adam(optimizer: Any) -> tuple[TableOptimizer, bool]:
    if optimizer.amsgrad:
        raise TypeError("Keras Adam with amsgrad cannot update tables: leave amsgrad out")
    settings = (_number(optimizer, "beta_1"), _number(optimizer, "beta_2"), float(optimizer.epsilon))
    native = KerasAdamTableOptimizer(0.0, settings, "Adam", "error")
    native.counted_elsewhere = optimizer.iterations
    return native, False


#: For each class, by name: a function from an instance to its native form, and whether gradients have the rate in them.
NATIVE: Mapping[str, Callable[[Any], tuple[TableOptimizer, bool]]] = {"SGD": _sgd, "Adagrad": _adagrad, "Adam": _adam}


def creating(stock_create: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer's `_create_all_weights` that makes no slots for tables, whose rows have them.

    It refuses an optimizer that cannot update a table before that changes any variable.
    """

    def create_all_weights(self: Any, var_list: Any) -> Any:
        anchors = [one for one in var_list if isinstance(one, EagerAnchor)]
        done = stock_create(self, [in_their_place(self, one) for one in var_list if getattr(one, "whole", True)])
        for anchor in anchors:
            if not trains_shadow(self, anchor):
                _native(self, anchor)
        return done

    return create_all_weights


def trains_shadow(optimizer: Any, anchor: EagerAnchor) -> bool:
    """Whether the stock code of an optimizer trains the shadow of a `WholeVariable`, as it has no native form."""
    if not isinstance(anchor, WholeVariable):
        return False
    try:
        _native(optimizer, anchor)
    except TypeError:
        return True
    return not anchor.free_for(optimizer)


def in_their_place(optimizer: Any, variable: Any) -> Any:
    """Return the variable that an optimizer makes slots for."""
    if not isinstance(variable, WholeVariable):
        return variable
    if trains_shadow(optimizer, variable):
        variable.trained_by(type(optimizer).__name__, True)
        return variable.shadow
    variable.own_by(optimizer)
    return variable


def adding(stock_add: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer's `add_slot`, which lets the slots of a `WholeVariable` lie in the rows of its table."""

    def add_slot(self: Any, var: Any, slot_name: str, *args: Any, **kwargs: Any) -> Any:
        slot = _slot(self, var, slot_name) if isinstance(var, WholeVariable) else None
        if slot is None:
            return stock_add(self, var, slot_name, *args, **kwargs)
        number, native, sign = slot

        def in_rows(stock: tf.Variable) -> WholeSlot:
            return WholeSlot(var, self, number, stock, native, native.starts[number], sign)

        with created_as(in_rows):
            return stock_add(self, var, slot_name, *args, **kwargs)

    return add_slot


def restoring(stock_restore: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer's `_create_or_restore_slot_variable`, by which slots in a checkpoint get into the rows."""

    def create_or_restore(self: Any, slot_variable_position: Any, slot_name: str, variable: Any) -> Any:
        matrix = getattr(variable, "original", variable)
        if isinstance(matrix, StockMatrix):
            slot = _slot(self, matrix, slot_name)
            return None if slot is None else matrix.slot(*slot)
        trained = in_their_place(self, variable)
        return stock_restore(self, slot_variable_position=slot_variable_position, slot_name=slot_name, variable=trained)

    return create_or_restore


def getting(stock_get: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer's `get_slot`, which finds the slots of a shadow by its variable, as a checkpoint asks."""

    def get_slot(self: Any, var: Any, slot_name: str) -> Any:
        shadowed = isinstance(var, WholeVariable) and trains_shadow(self, var)
        return stock_get(self, var.shadow if shadowed else var, slot_name)

    return get_slot


def _slot(optimizer: Any, variable: EagerAnchor | StockMatrix, name: str) -> tuple[int, TableOptimizer, float] | None:
    """Return the number of a slot in a row, the native form, and the sign of Keras' slot; None if it has no such slot.

    Keras' momentum is what is added to the variable, and that of the native form what is taken off.
    """
    native, has_rate = _native(optimizer, variable)
    names = SLOTS.get(native.rule, ())
    return (names.index(name), native, -1.0 if has_rate else 1.0) if name in names else None


def applying(begin: Callable[[Any, EagerAnchor], None], stock_apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer's `_distributed_apply` that updates tables; `begin` tells one which optimizer it is."""

    def distributed_apply(self: Any, distribution: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = list(grads_and_vars)
        with contextlib.ExitStack() as shadows:
            others = []
            for gradient, anchor in pairs:
                if not isinstance(anchor, EagerAnchor):
                    others.append((gradient, anchor))
                elif trains_shadow(self, anchor):
                    others.append((gradient, shadows.enter_context(anchor.in_shadow())))
                else:
                    begin(self, anchor)
                    _update(self, anchor, gradient)
            return stock_apply(self, distribution, others, *args, **kwargs)

    return distributed_apply


def _update(optimizer: Any, anchor: EagerAnchor, gradient: Any) -> None:
    native, has_rate = _native(optimizer, anchor)
    gradient = rows_of(anchor, gradient)
    native.trainer = None  # `begin` has told the table
    rate = optimizer._decayed_lr(tf.float32)
    if has_rate:
        gradient = tf.IndexedSlices(gradient.values * rate, gradient.indices, gradient.dense_shape)
    native.update_table(anchor.table, gradient, 1.0 if has_rate else rate)


def _native(optimizer: Any, anchor: EagerAnchor | StockMatrix) -> tuple[TableOptimizer, bool]:
    """Return the native form of an optimizer, and whether its gradients are to have the rate in them."""
    kind = next(one for one in type(optimizer).__mro__ if any(step in vars(one) for step in _STEPS))
    if kind.__name__ not in NATIVE or not kind.__module__.startswith(("keras.", "tf_keras.")):
        raise TypeError(
            f"Keras' legacy {type(optimizer).__name__} cannot update the table `{anchor.table.table_name}` sparsely: "
            f"{_REMEDY}"
        )
    return NATIVE[kind.__name__](optimizer)


def rows_of(anchor: EagerAnchor, gradient: Any) -> Any:
    """Return the gradient of a table by rows.

    Raises:
        TypeError: it is dense.
    """
    if anchor.whole and isinstance(gradient, tf.Tensor):
        return tf.IndexedSlices(gradient, tf.range(tf.shape(gradient)[0]), tf.shape(gradient))
    if not isinstance(gradient, tf.IndexedSlices):
        raise TypeError(
            f"the gradient of the table `{anchor.table.table_name}` is a dense tensor, not tf.IndexedSlices: "
            "remove the op that makes it dense, or change its `.values` and keep its `.indices`"
        )
    return gradient


def _number(optimizer: Any, name: str) -> float:
    """Return a setting as the float32 number with which the class computes."""
    with tf.init_scope():
        return float(np.float32(tf.keras.backend.get_value(optimizer._get_hyper(name))))
