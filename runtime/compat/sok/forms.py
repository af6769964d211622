"""Maps Keras optimizers to the native update of a DynamicVariable, on the rows of the batch only, as in SOK.

Those of `tf.compat.v1.train` are in runtime.optimizers.stock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.optimizers.stock import Form

_MIXED = ("clipnorm", "clipvalue", "global_clipnorm")


def _sgd(optimizer: Any, rate: tf.Tensor, name: str) -> Form:
    factor = _number(optimizer, "momentum") if getattr(optimizer, "_momentum", True) else 0.0
    if isinstance(factor, float) and factor == 0:
        return Form("sgd", [rate, 0.0])
    # The slot is Keras' divided by the learning rate, so a varying rate would change the momentum.
    _require_constant_rate(optimizer, name)
    return Form("momentum", [rate, factor, float(optimizer.nesterov)], (0.0,))


def _adagrad(optimizer: Any, rate: tf.Tensor, name: str) -> Form:
    start = float(_own(optimizer, "initial_accumulator_value"))
    rule = "adagrad" if _legacy(optimizer) else "adagrad_inside"
    return Form(rule, [rate, float(optimizer.epsilon)], (start,))


def _adam(optimizer: Any, rate: tf.Tensor, name: str) -> Form:
    if optimizer.amsgrad:
        raise TypeError(f"Keras {name} with amsgrad cannot train DynamicVariables: leave amsgrad out")
    betas = [_number(optimizer, beta) for beta in ("beta_1", "beta_2")]
    step = tf.cast(steps_of(optimizer) + 1, tf.float32)
    powers = [tf.pow(tf.cast(beta, tf.float32), step) for beta in betas]
    # Keras uses 0.001 for 1 - beta_2, the rule the float32 number 1 - 0.999; its slot is larger by that ratio.
    larger = 1.0 if _legacy(optimizer) else float((np.float32(1) - np.float32(betas[1])) / (1 - betas[1])) ** 0.5
    return Form("lazy_adam", [rate * larger, *powers, *betas, float(optimizer.epsilon) * larger], (0.0, 0.0))


def _adamax(optimizer: Any, rate: tf.Tensor, name: str) -> Form:
    betas = [_number(optimizer, beta) for beta in ("beta_1", "beta_2")]
    power = tf.pow(tf.cast(betas[0], tf.float32), tf.cast(steps_of(optimizer) + 1, tf.float32))
    return Form("adamax", [rate, power, *betas, float(optimizer.epsilon)], (0.0, 0.0))


def _adadelta(optimizer: Any, rate: tf.Tensor, name: str) -> Form:
    return Form("adadelta", [rate, _number(optimizer, "rho"), float(optimizer.epsilon)], (0.0, 0.0))


def _ftrl(optimizer: Any, rate: tf.Tensor, name: str) -> Form:
    numbers = [
        _number(optimizer, "l1_regularization_strength"),
        _number(optimizer, "l2_regularization_strength"),
        float(_own(optimizer, "l2_shrinkage_regularization_strength")),
        _number(optimizer, "learning_rate_power"),
        _number(optimizer, "beta"),
    ]
    return Form("ftrl", [rate, *numbers], (float(_own(optimizer, "initial_accumulator_value")), 0.0))


#: For each Keras class, by name: a function from the optimizer, its rate and its name to the form for this step.
FORMS: Mapping[str, Callable[[Any, tf.Tensor, str], Form]] = {
    "SGD": _sgd,
    "Adagrad": _adagrad,
    "Adam": _adam,
    "Adamax": _adamax,
    "Adadelta": _adadelta,
    "Ftrl": _ftrl,
}


def form_of(optimizer: Any) -> Form:
    """Return the form of a Keras optimizer (legacy, Keras 2 or Keras 3) for its next step.

    Raises:
        TypeError: it has none.
    """
    name = next((one.__name__ for one in type(optimizer).__mro__ if one.__name__ in FORMS), None)
    if name is None:
        raise TypeError(
            f"sok.OptimizerWrapper cannot train a DynamicVariable by {type(optimizer).__name__}: wrap Keras' "
            f"{', '.join(FORMS)}, or an optimizer of tf.compat.v1.train"
        )
    if _legacy(optimizer):
        with tf.init_scope():
            optimizer._create_hypers()
    for setting in (*_MIXED, "weight_decay", "use_ema", "gradient_accumulation_steps"):
        if getattr(optimizer, setting, None):
            raise TypeError(
                f"Keras {name} with {setting} cannot train DynamicVariables: leave it out"
                + (", and clip the gradients yourself" if setting in _MIXED else "")
            )
    return FORMS[name](optimizer, _rate(optimizer), name)


def steps_of(optimizer: Any) -> tf.Tensor:
    """Return the number of steps that a Keras optimizer made, an int64 scalar."""
    return tf.cast(tf.convert_to_tensor(optimizer.iterations), tf.int64)


def _legacy(optimizer: Any) -> bool:
    return hasattr(optimizer, "_get_hyper")


def _rate(optimizer: Any) -> tf.Tensor:
    """Return the learning rate of this step, a float32 scalar."""
    rate = _given_rate(optimizer)
    if hasattr(rate, "get_config"):
        rate = rate(steps_of(optimizer))
    elif callable(rate):
        rate = rate()
    rate = tf.cast(tf.convert_to_tensor(rate), tf.float32)
    if _legacy(optimizer) and optimizer._initial_decay:
        rate = rate / (1.0 + _number(optimizer, "decay") * tf.cast(steps_of(optimizer), tf.float32))
    return rate


def _given_rate(optimizer: Any) -> Any:
    """Return the rate as given: a schedule, a callable, a variable or a number."""
    rate = getattr(optimizer, "_learning_rate", None)
    return optimizer.learning_rate if rate is None else rate


def _require_constant_rate(optimizer: Any, name: str) -> None:
    if hasattr(_given_rate(optimizer), "get_config") or getattr(optimizer, "_initial_decay", None):
        raise TypeError(
            f"Keras {name} with momentum and a varying learning rate cannot train DynamicVariables: give it a "
            "constant rate, or wrap tf.compat.v1.train.MomentumOptimizer"
        )


def _own(optimizer: Any, name: str) -> Any:
    """Return a setting that legacy optimizers store under a private name."""
    return getattr(optimizer, f"_{name}" if hasattr(optimizer, f"_{name}") else name)


def _number(optimizer: Any, name: str) -> Any:
    """Return a setting as a number; for legacy optimizers, which store it in a variable, as a float32 scalar."""
    if _legacy(optimizer):
        return tf.cast(tf.convert_to_tensor(optimizer._get_hyper(name)), tf.float32)
    return float(_own(optimizer, name))
