"""Rec SDK's optimizers, with its arguments and ranges, over the optimizers of the runtime."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.compat.mx_rec.state import ConfigInitializer, state_of
from runtime.optimizers import adagrad, adagrad_by_addr, ftrl, gradient_descent, lazy_adam
from runtime.optimizers._base import INCOMPATIBLE
from runtime.optimizers._by_address import AddressOptimizer, RuleAddressOptimizer
from runtime.optimizers.lazy_adam_by_addr import LazyAdamAddressOptimizer

_SMALLEST = 1e-38


class _Paired(AddressOptimizer):
    """Also accepts `[gradient, addresses]` and `[gradients, addresses]`, as in Rec SDK's guides, besides pairs."""

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> tf.Operation:
        """Return the op that updates the rows at addresses; see `runtime.optimizers.lazy_adam_by_addr`."""
        return super().apply_gradients(_pairs(grads_and_vars), global_step, name)


class LazyAdamByAddress(_Paired, LazyAdamAddressOptimizer):
    """See `mx_rec.optimizers.lazy_adam_by_addr`."""


class RuleByAddress(_Paired, RuleAddressOptimizer):
    """See `mx_rec.optimizers.adagrad_by_addr` and `mx_rec.optimizers.gradient_descent_by_addr`."""


def _pairs(gradients: Any) -> Any:
    """Return pairs (gradient, addresses), whether given as such, as a single pair, or as two lists."""
    if not isinstance(gradients, (list, tuple)):
        return (
            list(gradients) if isinstance(gradients, Iterable) and not isinstance(gradients, tf.Tensor) else gradients
        )
    if len(gradients) == 2 and _are_addresses(gradients[1]) and not isinstance(gradients[0], (list, tuple)):
        return [(gradients[0], gradients[1])]
    if (
        len(gradients) == 2
        and all(isinstance(part, (list, tuple)) for part in gradients)
        and all(map(_are_addresses, gradients[1]))
    ):
        return list(zip(*gradients, strict=True))
    return gradients


def _are_addresses(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and value.dtype == tf.int64


def _real(name: str, value: Any, low: float, high: float) -> None:
    _validation.real(name, value, low, high)


def _above_0(name: str, value: Any, high: float) -> None:
    _validation.real(name, value, _SMALLEST, high)


def _rate(value: Any) -> None:
    if not isinstance(value, (tf.Tensor, tf.Variable)):
        _validation.real("learning_rate", value, 0, 10)


def _made(module: str, name: str, expands: bool, create: Callable[[str], Any]) -> Any:
    """Create an optimizer of `mx_rec.optimizers.<module>` with a numbered name, and make it the current one.

    Its settings are those of the module's `ConfigInitializer`, which tests of Rec SDK replace.

    Raises:
        ValueError: it does not fit the mode of `init`.
    """
    instance = getattr(
        sys.modules.get(f"mx_rec.optimizers.{module}"), "ConfigInitializer", ConfigInitializer
    ).get_instance()
    _validation.text("name", name, 200)
    if instance.use_dynamic_expansion is not expands:
        by = "create_hash_optimizer_by_address" if instance.use_dynamic_expansion else "create_hash_optimizer"
        raise ValueError(f"{INCOMPATIBLE} {name}: use {by} with init(use_dynamic_expansion={not expands})")
    optimizer = create(state_of().numbered(name))
    optimizer.get_slot_init_values = lambda: list(optimizer.starts)
    instance.optimizer_config.optimizer_instance = optimizer
    return optimizer


def _betas(beta1: Any, beta2: Any, epsilon: Any) -> None:
    _above_0("beta1", beta1, 1)
    _real("beta2", beta2, 0, 1)
    _above_0("epsilon", epsilon, 1)
    lazy_adam.checked(beta1, beta2, epsilon)


def _lazy_adam(
    learning_rate: Any = 0.001,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    epsilon: Any = 1e-8,
    name: str = "LazyAdam",
    use_fusion_optim: bool = False,
) -> Any:
    """Create LazyAdam, whose moments move for touched rows only.

    Raises:
        ValueError: a type or range is wrong: beta1 in (0, 1), beta2 in [0, 1], epsilon in (0, 1]; or dynamic expansion
            is on.
    """
    _rate(learning_rate)
    _betas(beta1, beta2, epsilon)
    _validation.boolean("use_fusion_optim", use_fusion_optim)
    return _made(
        "lazy_adam",
        name,
        False,
        lambda own: lazy_adam.create_hash_optimizer(learning_rate, beta1, beta2, epsilon, own),
    )


def _lazy_adam_by_address(
    learning_rate: Any = 0.001,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    epsilon: Any = 1e-8,
    name: str = "LazyAdamByAddress",
) -> Any:
    """Create LazyAdam by address.

    Raises:
        ValueError: as LazyAdam, or dynamic expansion is off.
    """
    _rate(learning_rate)
    _betas(beta1, beta2, epsilon)
    return _made(
        "lazy_adam_by_addr",
        name,
        True,
        lambda own: LazyAdamByAddress(learning_rate, beta1, beta2, epsilon, own, "error"),
    )


def _adagrad(
    learning_rate: Any = 0.001, initial_accumulator_value: Any = 0.9, use_locking: bool = False, name: str = "Adagrad"
) -> Any:
    """Create Adagrad.

    Raises:
        ValueError: a type or range is wrong: the accumulator must be in (0, 1]; or dynamic expansion is on.
    """
    _rate(learning_rate)
    _above_0("initial_accumulator_value", initial_accumulator_value, 1)
    return _made(
        "adagrad",
        name,
        False,
        lambda own: adagrad.create_hash_optimizer(learning_rate, initial_accumulator_value, use_locking, own),
    )


def _adagrad_by_address(learning_rate: Any = 0.001, initial_accumulator_value: Any = 0.9, name: str = "Adagrad") -> Any:
    """Create Adagrad by address.

    Raises:
        ValueError: as Adagrad, or dynamic expansion is off.
    """
    _rate(learning_rate)
    _above_0("initial_accumulator_value", initial_accumulator_value, 1)
    epsilon = adagrad_by_addr._EPSILON
    return _made(
        "adagrad_by_addr",
        name,
        True,
        lambda own: RuleByAddress("adagrad_inside", [epsilon], (initial_accumulator_value,), learning_rate, False, own),
    )


_FTRL: MappingProxyType[str, tuple[float, float, float]] = MappingProxyType(
    {  # default, minimum and maximum
        "learning_rate_power": (-0.5, -_validation.MAX_INT32, 0),
        "initial_accumulator_value": (0.1, _SMALLEST, 1),
        "l1_regularization_strength": (0.0, 0, 1e4),
        "l2_regularization_strength": (0.0, 0, 1e4),
        "l2_shrinkage_regularization_strength": (0.0, 0, 1e4),
    }
)


def _ftrl(learning_rate: Any, use_locking: bool = False, name: str = "Ftrl", **kwargs: Any) -> Any:
    """Create FTRL, with the rule of `tf.compat.v1.train.FtrlOptimizer`.

    Raises:
        ValueError: a type or range is wrong, or dynamic expansion is on.
        TypeError: a keyword is unknown.
    """
    for argument in ("accum_name", "linear_name"):
        if (text := kwargs.pop(argument, None)) is not None:
            _validation.text(argument, text)
    unknown = sorted(set(kwargs) - {*_FTRL})
    if unknown:
        raise TypeError(f"create_hash_optimizer() got an unexpected keyword argument {unknown[0]!r}")
    _rate(learning_rate)
    for argument, (_, low, high) in _FTRL.items():
        if argument in kwargs:
            _validation.real(argument, kwargs[argument], low, high, whole=True)
    return _made("ftrl", name, False, lambda own: ftrl.create_hash_optimizer(learning_rate, use_locking, own, **kwargs))


def _gradient_descent(
    learning_rate: Any,
    use_locking: bool = False,
    name: str = "GradientDescent",
    use_fusion_optim: bool = False,
    weight_decay: Any = None,
) -> Any:
    """Create gradient descent.

    Raises:
        ValueError: a type or range is wrong: the decay must be None or in [1e-5, 1e-2]; or dynamic expansion is on.
    """
    _rate(learning_rate)
    _validation.boolean("use_fusion_optim", use_fusion_optim)
    return _made(
        "gradient_descent",
        name,
        False,
        lambda own: gradient_descent.create_hash_optimizer(learning_rate, use_locking, own, weight_decay),
    )


def _gradient_descent_by_addr(
    learning_rate: Any, weight_decay: Any = 0.0001, use_locking: bool = False, name: str = "GradientDescentByAddr"
) -> Any:
    """Create gradient descent by address; the default `weight_decay` is not 0.

    Raises:
        ValueError: a type or range is wrong: the decay must be in [0, 1]; or dynamic expansion is off.
    """
    _rate(learning_rate)
    decay = _validation.real("weight_decay", weight_decay, 0, 1, whole=True)
    return _made(
        "gradient_descent_by_addr",
        name,
        True,
        lambda own: RuleByAddress("sgd", [decay], (), learning_rate, use_locking, own),
    )


_BY_ADDRESS = ("create_hash_optimizer_by_address", "create_hash_optimizer_by_addr")
#: The functions of each module of `mx_rec.optimizers`.
FACTORIES: dict[str, dict[str, Callable[..., Any]]] = {
    "adagrad": {"create_hash_optimizer": _adagrad},
    "adagrad_by_addr": dict.fromkeys(_BY_ADDRESS, _adagrad_by_address),
    "ftrl": {"create_hash_optimizer": _ftrl},
    "gradient_descent": {"create_hash_optimizer": _gradient_descent},
    "gradient_descent_by_addr": dict.fromkeys(_BY_ADDRESS, _gradient_descent_by_addr),
    "lazy_adam": {"create_hash_optimizer": _lazy_adam},
    "lazy_adam_by_addr": dict.fromkeys(_BY_ADDRESS, _lazy_adam_by_address),
}
