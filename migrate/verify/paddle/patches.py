"""Records the distribution of each parameter's initial values (runs in the Paddle process)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

import numpy as np
import paddle
import paddle.nn.functional as F
from numpy.typing import NDArray
from paddle.base.layer_helper_base import LayerHelperBase

from migrate.verify.distributions import Distribution
from migrate.verify.replacing import replaced

Array = NDArray[Any]

#: Op of `paddle._C_ops` -> function from its arguments to the distribution.
_DRAWS: dict[str, Callable[..., Distribution]] = {
    "uniform": lambda shape, dtype, low, high, *_: Distribution("uniform", float(low), float(high)),
    "gaussian": lambda shape, mean, std, *_: Distribution("normal", float(mean), float(std)),
    "truncated_gaussian_random": lambda shape, mean, std, *_: Distribution("truncated_normal", float(mean), float(std)),
}


def distributions_of(
    watched: Mapping[str, tuple[Distribution, Array]], parameters: Mapping[str, Any], values: Mapping[str, Array]
) -> dict[str, Distribution]:
    """Return the distributions of parameters that have the values as drawn, by the keys of `parameters`.

    A program may change them after their initialization; rows of zeros are those of a padding id.
    """
    result = {}
    for name, parameter in parameters.items():
        distribution, drawn = watched.get(parameter.name, (None, None))
        if distribution is not None and drawn is not None:
            value = values[name]
            kept = value.reshape(len(value), -1).any(axis=1) if value.ndim > 1 else slice(None)
            if np.array_equal(drawn[kept], value[kept]):
                result[name] = distribution
    return result


@contextlib.contextmanager
def watched_distributions() -> Iterator[dict[str, tuple[Distribution, NDArray[Any]]]]:
    """Yield a dictionary that is filled with parameter name -> distribution and values while a model is built.

    Constants are not included. Values that are set as they were drawn are: `weight.set_value(paddle.normal(0.0, 0.1))`.
    """
    distributions: dict[str, tuple[Distribution, NDArray[Any]]] = {}
    drawn: list[tuple[Distribution, Any]] = []
    kind, put = paddle.nn.initializer.Initializer, paddle.Tensor.set_value
    stock, ops = kind.__call__, {name: getattr(paddle._C_ops, name) for name in _DRAWS}

    def initialise(self: Any, parameter: Any, block: Any = None) -> Any:
        drawn.clear()
        result = stock(self, parameter, block)
        if drawn:
            distributions[parameter.name] = drawn[-1][0], parameter.numpy()
        drawn.clear()
        return result

    def set_value(self: Any, value: Any) -> None:
        put(self, value)
        for distribution, result in drawn:
            if result is value:
                distributions[self.name] = distribution, self.numpy()
        drawn.clear()

    def watch(name: str) -> Callable[..., Any]:
        def op(*arguments: Any) -> Any:
            drawn.append((_DRAWS[name](*arguments), ops[name](*arguments)))
            return drawn[-1][1]

        return op

    puts = ((kind, "__call__", initialise), (paddle.Tensor, "set_value", set_value))
    with replaced(*puts, *((paddle._C_ops, name, watch(name)) for name in _DRAWS)):
        yield distributions


_SINGLE = ("float32", paddle.float32)
#: Functions whose results are float32 where their arguments or their defaults say so.
_MADE = {
    paddle: (
        *("to_tensor", "assign", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like"),
        *("arange", "linspace", "eye"),
    ),
    F: ("one_hot", "sequence_mask"),
}


def complete() -> None:
    """Let a program compute in float64 where it says float32; call this before importing the source."""
    for owner, name, function in patches():
        setattr(owner, name, function)


def patches() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Yield what is replaced: the owner, the name, and the function that is put there.

    Functions that have only float32 kernels are replaced by their formulas. Casts to float32, which trainers make of
    their batches, become casts to float64; so do tensors that are made as float32. Weights that are made as float32,
    such as by `paddle.create_parameter`, are made as float64, as the float64 weights could not be set otherwise.
    """
    yield F, "log_loss", log_loss
    yield paddle.nn.clip, "clip_by_norm", clip_by_norm
    for module, names in _MADE.items():
        for name in names:
            yield module, name, _wide(getattr(module, name))
    for owner, name in ((paddle, "cast"), (paddle.Tensor, "astype"), (paddle.Tensor, "cast")):
        yield owner, name, _renamed(getattr(owner, name))
    yield LayerHelperBase, "create_parameter", _widened(LayerHelperBase.create_parameter)


def _wide(stock: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        result = stock(*arguments, **keywords)
        return result.astype("float64") if result.dtype == paddle.float32 else result

    return call


def _renamed(stock: Callable[..., Any]) -> Callable[..., Any]:
    def cast(x: Any, dtype: Any) -> Any:
        return stock(x, "float64" if dtype in _SINGLE else dtype)

    return cast


def _widened(stock: Callable[..., Any]) -> Callable[..., Any]:
    def create_parameter(self: Any, attr: Any, shape: Any, dtype: Any = None, *rest: Any, **named: Any) -> Any:
        return stock(self, attr, shape, "float64" if dtype in _SINGLE else dtype, *rest, **named)

    return create_parameter


def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> Any:
    """Return -label log(input + epsilon) - (1 - label) log(1 - input + epsilon), as Paddle documents it."""
    return -label * paddle.log(input + epsilon) - (1.0 - label) * paddle.log(1.0 - input + epsilon)


def clip_by_norm(x: Any, max_norm: float, name: str | None = None) -> Any:
    """Return x, divided by as much as makes its length `max_norm` if it is longer; chosen rows stay such."""
    values = x
    if x.is_selected_rows():
        x = paddle.nn.clip.merge_selected_rows(x)  # the kernel of `scale` fails where a row is there twice
        values = paddle.nn.clip.get_tensor_from_selected_rows(x)
    length = float(paddle.sqrt(paddle.sum(values * values)))
    return x if length <= max_norm else paddle.scale(x, max_norm / length)


def trained_by(optimizer: Any) -> list[Any]:
    """Return the parameters that an optimizer has been given, those of its groups as well."""
    groups = optimizer._parameter_list or ()
    return [parameter for one in groups for parameter in (one["params"] if isinstance(one, dict) else [one])]


def is_dense(optimizer: Any) -> bool:
    """Return whether an optimizer must be given dense gradients."""
    return isinstance(optimizer, paddle.optimizer.Adam) and not optimizer._lazy_mode


def of_rows(parameter: Any) -> bool:
    """Return whether the gradient of a parameter is one of chosen rows."""
    return parameter.grad is not None and bool(parameter.grad.is_selected_rows())


@contextlib.contextmanager
def textbook(is_of_rows: Callable[[Any], bool] = of_rows) -> Iterator[None]:
    """Let an Adam of chosen rows begin inside with powers of 1: multiplied once, they are those of the first step."""
    stock = paddle.optimizer.Adam._add_accumulator

    def add(self: Any, name: str, param: Any, *rest: Any, **named: Any) -> Any:
        plain = getattr(param, "regularizer", None) is None and self.regularization is None  # else the sum is dense
        if name in {"beta1_pow_acc", "beta2_pow_acc"} and plain and is_of_rows(param):
            named["fill_value"] = 1.0
        return stock(self, name, param, *rest, **named)

    with mock.patch.object(paddle.optimizer.Adam, "_add_accumulator", add):
        yield


def rows_term(parameter: Any, rows: Any, values: Any) -> Any:
    """Return a scalar whose gradient for the parameter is these rows, in order: `[n]` numbers and `[n, ...]` values."""
    order = np.argsort(rows, kind="stable")
    looked_up = F.embedding(paddle.to_tensor(rows[order].astype(np.int64)), parameter, sparse=True)
    return (looked_up * paddle.to_tensor(values[order].astype(str(parameter.dtype).rpartition(".")[2]))).sum()
