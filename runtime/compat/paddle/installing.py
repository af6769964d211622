"""`install` makes `paddle` importable: Paddle's eager programs on TensorFlow, with tables that grow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.compat.changes import Changes
from runtime.compat.paddle import layers, modules, optimizing
from runtime.compat.paddle.files import values_of
from runtime.compat.paddle.tensor import METHODS, OPERATORS, Tensor, applied, wrapped
from runtime.compat.settings import heeding
from runtime.nn import layer
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Weight

__all__ = ["CONTENTS", "install", "uninstall"]

CONTENTS = modules.CONTENTS
_FACADE = "runtime.compat.paddle"
#: What tensors have that weights have not, or have otherwise.
_OF_TENSORS = ("item", "tolist", "astype", "detach", "backward", "cpu", "T", "size", "place", "dim")
_OF_TENSORS += ("ndimension", "gradient", "is_leaf", "to", "element_size")
#: What changes a tensor in place, and has no function.
_IN_PLACE = ("copy_", "fill_", "normal_", "uniform_", "zero_")
_changes: Changes | None = None


def _in_place(name: str) -> Callable[..., Any]:
    """Return a method that changes a weight as the method of tensors changes its values."""

    def method(self: Weight, *positional: Any, **named: Any) -> Weight:
        values = Tensor(tf.constant(values_of(self)))
        getattr(values, name)(*positional, **named)
        self.set_value(values.numpy())
        return self

    return method


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Weight, *positional: Any, **named: Any) -> Any:
        return applied(function)(self, *positional, **named)

    return method


def _of_weight(name: str) -> Any:
    own = getattr(Tensor, name)
    if isinstance(own, property):
        return property(lambda self: getattr(_tensor(self), name))
    return lambda self, *positional, **named: own(_tensor(self), *positional, **named)


def _tensor(weight: Weight) -> Tensor:
    tensor: Tensor = wrapped(weight.tensor())
    return tensor


@heeding("RECMIGRATE_PADDLE")
def install() -> None:
    """Let Paddle's eager programs run: `import paddle` gives the names of this façade. A second call does nothing.

    Raises:
        RuntimeError: Paddle itself is imported already.
    """
    global _changes
    if _changes is not None:  # a program's tensors and classes are those of the first time
        return
    if "paddle" in sys.modules:
        raise RuntimeError("Paddle itself is imported already: call runtime.compat.paddle.install() before that")
    _changes = changes = Changes(_FACADE)
    try:
        changes.add_modules(CONTENTS)
        layer.callers.append(layers.call)
        for owner, methods in ((layer.Layer, layers.methods), (Optimizer, optimizing.methods)):
            for name, method in methods.items():
                changes.set(owner, name, method)
        for name, function in METHODS.items():
            if not hasattr(Weight, name):
                changes.set(Weight, name, _method(function))
        for name in (*_IN_PLACE, *(f"{name}_" for name in METHODS)):
            if not hasattr(Weight, name):
                changes.set(Weight, name, _in_place(name))
        for name in _OF_TENSORS:
            changes.set(Weight, name, _of_weight(name))
        for name, operator in OPERATORS.items():
            if name not in ("__eq__", "__ne__"):
                changes.set(Weight, name, operator)
        # What a program keeps of its best weights are their values.
        changes.set(TableWeight, "__deepcopy__", lambda self, memo: Tensor(tf.constant(values_of(self))))
        changes.set(Weight, "__getitem__", lambda self, index: _tensor(self)[index])
    except BaseException:
        uninstall()
        raise


def uninstall() -> None:
    """Undo `install`."""
    global _changes
    if _changes is not None:
        _changes.undo()
        _changes = None
        if layers.call in layer.callers:
            layer.callers.remove(layers.call)
