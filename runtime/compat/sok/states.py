"""Slots of optimizers, of variables and of tables, under the names in SOK's files."""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from runtime import native
from runtime.compat.sok import forms
from runtime.compat.sok.optimizers import OptimizerWrapper
from runtime.optimizers import stock
from runtime.optimizers.stock import Form

v1: Any = tf.compat.v1
#: For each optimizer, by SOK's name: its slots in the order of a table's row, and where Keras 2 and 3 store them.
_SLOTS: dict[str, dict[str, str]] = {
    "SGD": {"momentum": "momentums"},
    "Adamax": {"m": "_m", "v": "_u"},
    "Adadelta": {"accum_grad": "_accumulated_grads", "accum_var": "_accumulated_delta_vars"},
    "Adagrad": {"accumulator": "_accumulators"},
    "Ftrl": {"accumulator": "_accumulators", "linear": "_linears"},
    "Adam": {"m": "_momentums", "v": "_velocities"},
}
#: Other names of TensorFlow 1.
_V1_SLOTS = {
    ("Adadelta", "accum_grad"): "accum",
    ("Adadelta", "accum_var"): "accum_update",
    ("Ftrl", "accumulator"): "accum",
}
_V1_NAMES = {"GradientDescentOptimizer": "SGD", "MomentumOptimizer": "SGD"}


def name_of(optimizer: Any) -> str:
    """Return SOK's name of an optimizer; "None" if there is none.

    Raises:
        TypeError: SOK's files do not support it.
    """
    if optimizer is None:
        return "None"
    for kind in type(_inner(optimizer)).__mro__:
        name = _V1_NAMES.get(kind.__name__, kind.__name__.removesuffix("Optimizer"))
        if name in _SLOTS:
            return name
    raise TypeError(
        f"sok.dump and sok.load do not support the slots of {type(_inner(optimizer)).__name__}: leave `optimizer` "
        f"out, or use {', '.join(_SLOTS)}"
    )


def names_in_files() -> list[str]:
    """Return the suffixes of all slot files, after the variable's name."""
    return [f"{kind}-{slot}" for kind, slots in _SLOTS.items() for slot in slots]


def slots_of(optimizer: Any) -> tuple[str, ...]:
    """Return the names of an optimizer's slots, in the order of a table's row."""
    if optimizer is None:
        return ()
    inner, name = _inner(optimizer), name_of(optimizer)
    if name == "SGD" and not _has_momentum(inner):
        return ()
    return tuple(_SLOTS[name])


def of_variable(optimizer: Any, variable: Any, slot: str) -> Any:
    """Return the slot of a variable, itself a variable; created if the optimizer has made no step yet.

    Raises:
        ValueError: a Keras optimizer was not built with the variable.
    """
    inner, name = _inner(optimizer), name_of(optimizer)
    if isinstance(inner, v1.train.Optimizer):
        with _counting(optimizer):
            inner._create_slots([variable])
        return inner.get_slot(variable, _V1_SLOTS.get((name, slot), slot))
    if hasattr(inner, "_get_hyper"):
        inner._create_all_weights([variable])
        return inner.get_slot(variable, slot)
    try:
        index = (
            inner._get_variable_index(variable)
            if hasattr(inner, "_get_variable_index")
            else inner._index_dict[inner._var_key(variable)]
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(
            f"the optimizer has no slots of `{variable.name}` yet: call build(...) of the Keras optimizer with all "
            "variables that it will train, then dump or load"
        ) from error
    return getattr(inner, _SLOTS[name][slot])[index]


def of_table(variable: Any, optimizer: Any, slot: int) -> tf.Tensor:
    """Return slot number `slot` of the rows of a DynamicVariable, [n, dim]; its initial value before any update."""
    dim = variable.table.dim
    keys, _, slots, _ = variable.table.snapshot()
    if slots.shape[1] == 0:
        return tf.fill([keys.shape[0], dim], tf.constant(_form(optimizer, variable).starts[slot], tf.float32))
    return slots[:, slot * dim : (slot + 1) * dim]


def import_with_slots(variable: Any, optimizer: Any, keys: Any, values: Any, slots: list[Any]) -> None:
    """Replace all rows of a DynamicVariable by these, with the slots of an optimizer."""
    form, table = _form(optimizer, variable), variable.table
    zeros, none = tf.zeros_like(keys), tf.zeros([0], tf.int64)
    with tf.device("/device:CPU:0"), table.written():
        native.ops().rec_import_rows(
            table.handle,
            tf.constant(table.seed, tf.int64),
            keys,
            zeros,
            zeros,
            values,
            *(none, none, none, none),
            tf.zeros([0], tf.uint8),
            slot_keys=[keys] * len(slots),
            slot_values=slots,
            optimizer=form.rule,
            starts=form.starts,
        )


def _form(optimizer: Any, variable: Any) -> Form:
    inner = _inner(optimizer)
    if isinstance(inner, v1.train.Optimizer):
        inner._prepare()
        return stock.form_of(inner, variable)
    return forms.form_of(inner)


def _inner(optimizer: Any) -> Any:
    return optimizer.optimizer if isinstance(optimizer, OptimizerWrapper) else optimizer


def _counting(optimizer: Any) -> contextlib.AbstractContextManager[None]:
    """Let variables of an optimizer besides slots, such as Adam's powers, be the wrapper's if it is wrapped."""
    return optimizer.counting() if isinstance(optimizer, OptimizerWrapper) else contextlib.nullcontext()


def _has_momentum(optimizer: Any) -> bool:
    if isinstance(optimizer, v1.train.Optimizer):
        return isinstance(optimizer, v1.train.MomentumOptimizer)
    return bool(optimizer._momentum if hasattr(optimizer, "_get_hyper") else optimizer.momentum)
