"""Records the distribution of each parameter's initial values (runs in the Paddle process)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

import numpy as np
import paddle
from numpy.typing import NDArray

from migrate.verify.distributions import Distribution

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

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(kind, "__call__", initialise))
        stack.enter_context(mock.patch.object(paddle.Tensor, "set_value", set_value))
        for name in _DRAWS:
            stack.enter_context(mock.patch.object(paddle._C_ops, name, watch(name)))
        yield distributions
