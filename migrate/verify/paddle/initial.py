"""Records the distribution of each parameter's initial values (runs in the Paddle process)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import paddle
from numpy.typing import NDArray

from migrate.verify.laws import Law

#: Op of `paddle._C_ops` -> function from its arguments to the distribution.
_DRAWS: dict[str, Callable[..., Law]] = {
    "uniform": lambda shape, dtype, low, high, *_: Law("uniform", float(low), float(high)),
    "gaussian": lambda shape, mean, std, *_: Law("normal", float(mean), float(std)),
    "truncated_gaussian_random": lambda shape, mean, std, *_: Law("truncated_normal", float(mean), float(std)),
}


@contextlib.contextmanager
def watched_laws() -> Iterator[dict[str, tuple[Law, NDArray[Any]]]]:
    """Yield a dictionary that is filled with parameter name -> distribution and values while a model is built.

    Constants are not included.
    """
    laws: dict[str, tuple[Law, NDArray[Any]]] = {}
    drawn: list[Law] = []
    kind = paddle.nn.initializer.Initializer
    stock, ops = kind.__call__, {name: getattr(paddle._C_ops, name) for name in _DRAWS}

    def initialise(self: Any, parameter: Any, block: Any = None) -> Any:
        drawn.clear()
        result = stock(self, parameter, block)
        if drawn:
            laws[parameter.name] = drawn[-1], parameter.numpy()
        return result

    def watch(name: str) -> Callable[..., Any]:
        def op(*arguments: Any) -> Any:
            drawn.append(_DRAWS[name](*arguments))
            return ops[name](*arguments)

        return op

    kind.__call__ = initialise
    for name in _DRAWS:
        setattr(paddle._C_ops, name, watch(name))
    try:
        yield laws
    finally:
        kind.__call__ = stock
        for name, op in ops.items():
            setattr(paddle._C_ops, name, op)
