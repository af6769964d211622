"""`fc`: a layer that is made where it is called."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from runtime.nn.functional.activation import softmax
from runtime.nn.functional.matrix import with_bias
from runtime.nn.static.program import Program, current
from runtime.nn.weights.creation import parameter

_ACTIVATIONS: dict[str | None, Any] = {
    None: tf.identity,
    "relu": tf.nn.relu,
    "sigmoid": tf.sigmoid,
    "tanh": tf.tanh,
    "softmax": softmax,
}


def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return x times a weight, plus a bias: [..., size].

    Args:
        x: a tensor, of which all sizes from `num_flatten_dims` on are known and count as one.
        size: number of values of the result.
        num_flatten_dims: how many sizes the result keeps.
        weight_attr: of the weight [product of the sizes, size].
        bias_attr: of the bias; False: there is none.
        activation: "relu", "sigmoid", "tanh", "softmax" or None.
        name: begin of the weights' names, `fc_0` by default.

    Raises:
        ValueError: there is no program, a size is not known, or the activation is another one.
    """
    program, x = current(), tf.convert_to_tensor(x)
    if program is None:
        raise ValueError("fc makes weights, which a program holds: build it in `with nn.static.Program():`")
    inner = x.shape[num_flatten_dims:].as_list()
    if None in inner:
        raise ValueError(f"fc got the shape {x.shape}: the sizes from dimension {num_flatten_dims} on must be known")
    if activation not in _ACTIVATIONS:
        raise ValueError(f"fc got activation={activation!r}: give relu, sigmoid, tanh, softmax or None")
    kind = name or program.numbered("fc")
    flat = tf.reshape(x, [-1, math.prod(inner)])
    weight = _held(program, parameter([math.prod(inner), int(size)], weight_attr), f"{kind}.w_0")
    bias = _held(program, parameter([int(size)], bias_attr, is_bias=True), f"{kind}.b_0")
    result = tf.matmul(flat, weight.variable)
    result = result if bias is None else with_bias(result, bias.variable)
    outer = tf.shape(x)[:num_flatten_dims]
    shaped = tf.reshape(result, tf.concat([outer, [size]], 0))
    shaped.set_shape([*x.shape[:num_flatten_dims], size])
    return _ACTIVATIONS[activation](shaped)


def _held(program: Program, weight: Any, name: str) -> Any:
    if weight is not None:
        program.hold(weight, weight.attr.name or name)
    return weight
