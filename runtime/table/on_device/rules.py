"""Update rules as TensorFlow ops, with the operations and the order of the engine's (runtime/native/store/rules).

A rule takes the hyperparameters in the engine's order, a function that reads the rows, and the slots and the summed
gradients of these rows, each float32 [n, dim]. It returns what is subtracted from the rows, or for those in `REPLACING`
the new rows, and the new slots.

No op contracts a product and a sum, so the results have the engine's bits where the device rounds roots and quotients
correctly, as a CPU does. Grappler changes bits where it may, so nothing here is of a form that it knows: it makes
`c * (g * g)` to `(c * g) * g`, but leaves a square, `x / sqrt(y)` to `x * rsqrt(y)`, but not `x / abs(sqrt(y))`, and
`x / 3` to `x * (1 / 3)`, but not `xdivy(x, 3)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

#: Float32 scalars: numbers of numpy where they are known when the graph is built, else tensors.
_Numbers = Sequence[Any]
_Rows = Callable[[], tf.Tensor]
_Slots = Sequence[tf.Tensor]
Rule = Callable[[_Numbers, _Rows, _Slots, tf.Tensor], tuple[tf.Tensor, list[tf.Tensor]]]

_ONE = np.float32(1)
_TWO = np.float32(2)


def _root(x: tf.Tensor) -> tf.Tensor:
    return tf.abs(tf.sqrt(x))


def _sgd(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    rate, decay = numbers
    return rate * (g if isinstance(decay, np.float32) and decay == 0 else g + decay * rows()), []


def _adagrad(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    rate, epsilon = numbers
    total = slots[0] + tf.square(g)
    return rate * g / (_root(total) + epsilon), [total]


def _adagrad_inside(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    rate, epsilon = numbers
    total = slots[0] + tf.square(g)
    return rate * g / _root(total + epsilon), [total]


def _lazy_adam(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    rate, power1, power2, beta1, beta2, epsilon = numbers
    step = rate * tf.sqrt(_ONE - power2) / (_ONE - power1)
    mean = beta1 * slots[0] + (_ONE - beta1) * g
    square = beta2 * slots[1] + (_ONE - beta2) * tf.square(g)
    return step * mean / (_root(tf.abs(square)) + epsilon), [mean, square]


def _momentum(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    rate, factor, nesterov = numbers
    pace = factor * slots[0] + g
    return (rate * pace if nesterov == 0 else rate * g + rate * factor * pace), [pace]


def _rmsprop(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    rate, decay, momentum, epsilon = numbers
    square = slots[0] + (tf.square(g) - slots[0]) * (_ONE - decay)
    pace = slots[1] * momentum + rate * g / _root(square + epsilon)
    return pace, [square, pace]


def _ftrl_sums(
    numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
    """Return l1, the factor of the quadratic term, and the new slots."""
    rate, l1, l2, shrinkage, power, beta = numbers
    sums, linear = slots
    known = tf.get_static_value(power)
    grown = sums + tf.square(g)
    before, after = (_root(n) if known == -0.5 else tf.pow(n, -power) for n in (sums, grown))
    w = rows()
    moved = linear + ((g + (_TWO * shrinkage) * w) - tf.math.xdivy(after - before, rate) * w)
    quadratic = tf.math.xdivy(after, rate) + _TWO * (l2 + beta / (_TWO * rate))
    return l1, quadratic, [grown, moved]


def _ftrl(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    l1, quadratic, after = _ftrl_sums(numbers, rows, slots, g)
    z = after[1]
    return tf.where(tf.abs(z) > l1, (tf.where(z < 0, -l1, l1) - z) / quadratic, tf.zeros_like(z)), after


def _group_ftrl(numbers: _Numbers, rows: _Rows, slots: _Slots, g: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    l1, quadratic, after = _ftrl_sums(numbers, rows, slots, g)
    z = after[1]
    # The engine sums squares one by one: wide rows may have other bits here.
    norm = _root(tf.reduce_sum(tf.square(z), 1, keepdims=True))
    return tf.where(norm > l1, tf.math.xdivy(-z, quadratic) * (_ONE - tf.math.xdivy(l1, norm)), tf.zeros_like(z)), after


#: The rules by the engine's names. Those that also move rows outside of the batch are not among them.
RULES: Mapping[str, Rule] = {
    "sgd": _sgd,
    "adagrad": _adagrad,
    "adagrad_inside": _adagrad_inside,
    "lazy_adam": _lazy_adam,
    "momentum": _momentum,
    "rmsprop": _rmsprop,
    "ftrl": _ftrl,
    "group_ftrl": _group_ftrl,
}
#: Those that compute a row from its slots alone.
REPLACING = frozenset({"ftrl", "group_ftrl"})
