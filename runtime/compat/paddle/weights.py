"""What weights have in eager programs: the methods and operators of tensors, changes in place, and copies."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.compat.paddle import recording
from runtime.compat.paddle.files import values_of
from runtime.compat.paddle.tensor import METHODS, OPERATORS, Tensor, applied, plain, wrapped
from runtime.compat.paddle.wide_ids import frees
from runtime.nn.initializer import Assign
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Parameter, Weight

#: What tensors have that weights have not, or have otherwise.
_OF_TENSORS = (
    *("item", "tolist", "astype", "detach", "backward", "cpu", "T", "size", "place", "dim"),
    *("ndimension", "gradient", "is_leaf", "to", "element_size"),
)
#: What changes a tensor in place, and has no function.
_IN_PLACE = ("copy_", "fill_", "normal_", "uniform_", "zero_")
#: What reads the values of a weight, without gradients.
_VALUES = ("numpy", "detach", "tolist", "item", "__array__")
#: What the elements of a weight are compared with.
_NUMBERS = (Tensor, tf.Tensor, np.ndarray, np.generic, bool, int, float)
_copies = itertools.count()


def methods() -> Iterator[tuple[type[Weight], str, Any]]:
    """Yield what weights have while the façade is installed: the class, the name, and the method."""
    for name, function in METHODS.items():
        if not hasattr(Weight, name):
            yield Weight, name, _method(function)
    for name in (*_IN_PLACE, *(f"{name}_" for name in METHODS)):
        if not hasattr(Weight, name):
            yield Weight, name, _in_place(name)
    for name in _OF_TENSORS:
        yield Weight, name, _of_weight(name)
    for name, operator in OPERATORS.items():
        yield Weight, name, _compared(operator) if name in ("__eq__", "__ne__") else operator
    yield Weight, "__getitem__", lambda self, index: _tensor(self)[index]
    yield Weight, "__iter__", lambda self: iter(_tensor(self))
    yield Weight, "__deepcopy__", _copied
    yield Weight, "grad", property(_gradient, _set_gradient)
    for name in _VALUES:
        yield TableWeight, name, _values(name)
    yield TableWeight, "tensor", _whole(TableWeight.tensor)


def gradient_of(weight: Weight) -> Tensor:
    """Return the sum of the gradients of a weight that has one, of all declared rows of a table."""
    gradient = weight.accumulated
    if isinstance(gradient, tf.IndexedSlices):
        rows = weight.declared_shape[0]
        gradient = tf.math.unsorted_segment_sum(gradient.values, gradient.indices, rows)
    return Tensor(tf.convert_to_tensor(gradient))


def _gradient(self: Weight) -> Tensor | None:
    return None if self.accumulated is None else gradient_of(self)


def _set_gradient(self: Weight, gradient: Any) -> None:
    self.accumulated = plain(gradient)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Weight, *positional: Any, **named: Any) -> Any:
        return applied(function)(self, *positional, **named)

    return method


def _compared(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return how a weight is compared with numbers; two weights are the same one or not, as lists of them ask."""
    return lambda self, other: operator(self, other) if isinstance(other, _NUMBERS) else NotImplemented


def _in_place(name: str) -> Callable[..., Any]:
    """Return a method that changes a weight as the method of tensors changes its values."""

    def method(self: Weight, *positional: Any, **named: Any) -> Weight:
        values = Tensor(tf.constant(values_of(self)))
        getattr(values, name)(*positional, **named)
        self.set_value(values.numpy())
        return self

    return method


def _of_weight(name: str) -> Any:
    own = getattr(Tensor, name)
    if isinstance(own, property):
        return property(lambda self: getattr(_tensor(self), name))
    return lambda self, *positional, **named: own(_tensor(self), *positional, **named)


def _tensor(weight: Weight) -> Tensor:
    tensor: Tensor = wrapped(plain(weight).tensor())
    return tensor


def _values(name: str) -> Callable[..., Any]:
    """Return a method that gives a table's values, through which no gradient goes: it stays a table."""
    return lambda self, *positional, **named: getattr(Tensor(tf.constant(values_of(self))), name)(*positional, **named)


def _whole(of_variable: Callable[[TableWeight], tf.Tensor]) -> Callable[[TableWeight], tf.Tensor]:
    """Return how a table is read as a whole: where gradients are wanted, it becomes a variable for that."""
    return lambda self: of_variable(self) if recording.recording() else tf.constant(values_of(self))


def _copied(self: Weight, memo: dict[int, Any]) -> Weight:
    """Return a weight that begins with the values of this one; it exists from its first use on.

    Rows of a table with ids beyond `num_embeddings` are not copied.

    Raises:
        ValueError: ids of the table have given up their buckets.
    """
    if isinstance(self, TableWeight) and self.built and frees(self) and len(self.own_rows()[0]):
        raise ValueError(
            f"the embedding `{self.name}` has rows of single ids in place of buckets, and a deep copy would "
            "lack them: load the state_dict of the model into a newly created model"
        )
    copied = copy.copy(self)
    memo[id(self)] = copied
    copied.accumulated, copied.attr, copied.generated = (
        None,
        copy.copy(self.attr),
        f"{self.name}_deepcopy_{next(_copies)}",
    )
    copied.attr.name = None
    if self.built:
        copied.initializer = Assign(values_of(self))
        if isinstance(copied, TableWeight):
            copied._table = None
        elif isinstance(copied, Parameter):
            copied._variable = None
    return copied
