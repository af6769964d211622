"""`tf.contrib`, which TensorFlow 2 has no more: `add` makes it importable, with the layers that programs use of it.

Variables have contrib's names, so that checkpoints of TensorFlow 1 fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.compat import absent
from runtime.compat.changes import Changes

__all__ = ["add", "batch_norm", "fully_connected", "l1_regularizer", "l2_regularizer", "xavier_initializer"]

v1: Any = tf.compat.v1
_CONTRIB = "tensorflow.contrib"
_UPDATES: str = v1.GraphKeys.UPDATE_OPS


def add(changes: Changes, own: Mapping[str, Mapping[str, Any]], facade: str) -> None:
    """Make `tensorflow.contrib` importable, with the names here and those of a façade: contents by module names."""
    layers = {name: globals()[name] for name in __all__ if name != "add"}
    modules = {_CONTRIB: {}, **own, f"{_CONTRIB}.layers": {**layers, **own.get(f"{_CONTRIB}.layers", {})}}
    complete = {name: {**contents, "__getattr__": absent.lacking(name, facade)} for name, contents in modules.items()}
    changes.add_modules(complete, below="tensorflow")
    for module in (tf, v1):
        changes.set(module, "contrib", sys.modules[_CONTRIB])


def l1_regularizer(scale: float, scope: str | None = None) -> Callable[..., Any]:
    """Return a function of a weight: `scale` times the sum of its absolute values.

    Raises:
        ValueError: the scale is no float, or negative.
    """
    return _regularizer(scale, scope or "l1_regularizer", lambda weights: tf.reduce_sum(tf.abs(weights)))


def l2_regularizer(scale: float, scope: str | None = None) -> Callable[..., Any]:
    """Return a function of a weight: `scale` times half the sum of its squares.

    Raises:
        ValueError: the scale is no float, or negative.
    """
    return _regularizer(scale, scope or "l2_regularizer", tf.nn.l2_loss)


def _regularizer(scale: Any, scope: str, norm: Callable[[Any], tf.Tensor]) -> Callable[..., Any]:
    if not isinstance(scale, float) or scale < 0:
        raise ValueError(f"`scale` of {scope} must be a float of at least 0: got {scale!r}")

    def regularize(weights: Any, name: str | None = None) -> tf.Tensor | None:
        with v1.name_scope(None, scope, [weights]) as own:
            return tf.multiply(tf.cast(scale, weights.dtype.base_dtype), norm(weights), name=name or own)

    return regularize if scale else lambda weights, name=None: None


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = tf.float32) -> Any:
    """Return an initializer of variance 2 / (inputs + outputs); normal values are cut off at two deviations."""
    if uniform:
        return v1.initializers.glorot_uniform(seed, dtype)
    cut = 0.87962566103423978  # what the cut leaves of the deviation, for which TensorFlow's own initializer makes up
    return v1.initializers.variance_scaling(1.3 * cut**2, "fan_avg", "truncated_normal", seed, dtype)


def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = v1.zeros_initializer,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tf.Tensor:
    """Return the inputs [..., width] times `weights` plus `biases`, activated: [..., num_outputs].

    Weights begin with `xavier_initializer()`. A `normalizer_fn`, called with the product and `normalizer_params`, or
    `biases_initializer=None` leaves out the biases.

    Raises:
        ValueError: `num_outputs` is not a positive int, or the inputs have fewer than two dimensions or no known width.
    """
    _validation.integer("num_outputs", num_outputs, 1)
    with v1.variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as own:
        inputs = tf.convert_to_tensor(inputs)
        if inputs.shape.rank is None or inputs.shape.rank < 2 or inputs.shape[-1] is None:
            raise ValueError(f"fully_connected needs inputs [..., width] of a known width: got shape {inputs.shape}")
        make = _maker(inputs.dtype, trainable, variables_collections)
        weights = make(
            "weights",
            [int(inputs.shape[-1]), num_outputs],
            weights_initializer or xavier_initializer(),
            weights_regularizer,
        )
        outputs = tf.matmul(inputs, weights) if inputs.shape.rank == 2 else tf.tensordot(inputs, weights, [[-1], [0]])
        outputs.set_shape([*inputs.shape[:-1], num_outputs])
        if normalizer_fn is not None:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        elif biases_initializer is not None:
            outputs = tf.nn.bias_add(outputs, make("biases", [num_outputs], biases_initializer, biases_regularizer))
        return _collected(outputs if activation_fn is None else activation_fn(outputs), own, outputs_collections)


def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: Any = _UPDATES,
    is_training: Any = True,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    **renorm: Any,
) -> tf.Tensor:
    """Return the inputs [..., width] normalized over all dimensions but the last.

    In training by mean and variance of the batch, which move `moving_mean` and `moving_variance` in ops of
    `updates_collections` (None: before the result), else by these. As contrib's fused form, inputs of two or four
    dimensions move the unbiased variance.

    Raises:
        ValueError: the width is not known, or an argument is given that would change the result in another way.
    """
    other = {"batch_weights": batch_weights, "zero_debias_moving_mean": zero_debias_moving_mean, **renorm}
    _refuse_given(other if data_format == "NHWC" else {**other, "data_format": data_format})
    with v1.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as own:
        inputs = tf.convert_to_tensor(inputs)
        width = [_width(inputs)]
        initial = {"beta": v1.zeros_initializer(), "gamma": v1.ones_initializer(), **(param_initializers or {})}
        regularizers = param_regularizers or {}
        make = _maker(inputs.dtype, trainable, variables_collections)
        kept = _maker(inputs.dtype, False, variables_collections)
        beta = make("beta", width, initial["beta"], regularizers.get("beta")) if center else None
        gamma = make("gamma", width, initial["gamma"], regularizers.get("gamma")) if scale else None
        moving = [
            kept("moving_mean", width, initial.get("moving_mean", v1.zeros_initializer()), None),
            kept("moving_variance", width, initial.get("moving_variance", v1.ones_initializer()), None),
        ]
        bessel = inputs.shape.rank in (2, 4) and fused is not False
        used, moved = _statistics(inputs, moving, is_training, decay, bessel)
        if moved is not None and updates_collections is not None:
            v1.add_to_collections(updates_collections, moved)
        with tf.control_dependencies([moved] if moved is not None and updates_collections is None else []):
            outputs = tf.nn.batch_normalization(inputs, *used, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return _collected(outputs if activation_fn is None else activation_fn(outputs), own, outputs_collections)


def _width(inputs: tf.Tensor) -> int:
    if inputs.shape.rank is None or inputs.shape[-1] is None:
        raise ValueError(f"batch_norm needs inputs [..., width] of a known width: got shape {inputs.shape}")
    return int(inputs.shape[-1])


def _refuse_given(arguments: Mapping[str, Any]) -> None:
    refused = sorted(name for name, given in arguments.items() if given not in (None, False))
    if refused:
        raise ValueError(f"batch_norm does not support {', '.join(refused)}: leave it out")


def _statistics(
    inputs: tf.Tensor, moving: list[Any], is_training: Any, decay: float, bessel: bool
) -> tuple[list[tf.Tensor], tf.Operation | None]:
    """Return the mean and the variance to normalize by, and the op that moves the running ones, if training may."""
    train = tf.get_static_value(is_training) if tf.is_tensor(is_training) else is_training

    def of_batch() -> list[tf.Tensor]:
        return list(tf.nn.moments(inputs, list(range(inputs.shape.rank - 1))))

    def running() -> list[tf.Tensor]:
        return [variable.read_value() for variable in moving]

    def updates(used: list[tf.Tensor]) -> tf.Operation:
        count = tf.cast(tf.size(inputs) // _width(inputs), inputs.dtype)
        return _moved(moving, used[0], used[1] * count / tf.maximum(count - 1, 1) if bessel else used[1], decay)

    if train is None:
        used = tf.cond(is_training, of_batch, running)
        return used, tf.cond(is_training, lambda: updates(used), tf.no_op)
    used = of_batch() if train else running()
    return used, updates(used) if train else None


def _moved(moving: list[Any], mean: tf.Tensor, variance: tf.Tensor, decay: float) -> tf.Operation:
    """Move the mean and the variance by those of a batch."""
    new = zip(moving, (mean, variance), strict=True)
    return tf.group(*(one.assign_sub((one - value) * (1 - decay)) for one, value in new))


def _maker(dtype: tf.DType, trainable: bool, collections: Any) -> Callable[..., Any]:
    """Return what creates a variable in the current scope: its name, shape, initializer and regularizer are given."""

    def make(name: str, shape: list[int], initializer: Any, regularizer: Any) -> Any:
        named = collections.get(name) if isinstance(collections, Mapping) else collections
        into = [v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.MODEL_VARIABLES, *(named or [])]
        return v1.get_variable(name, shape, dtype, initializer, regularizer, trainable, list(dict.fromkeys(into)))

    return make


def _collected(outputs: tf.Tensor, scope: Any, collections: Any) -> tf.Tensor:
    if collections is not None:
        named = tf.identity(outputs, name=f"{scope.original_name_scope}output")
        v1.add_to_collections(collections, named)
    return outputs
