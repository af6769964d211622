"""What Paddle 3 adds for names and arguments of PyTorch: other names of functions and arguments, `paddle.compat`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from runtime.nn import functional
from runtime.nn.functional.tensors import axis_of, rank, tensor

#: Other names of functions of `paddle`, and of methods of tensors.
NAMES = {
    **{"cat": "concat", "clamp": "clip", "absolute": "abs", "ger": "outer", "swapdims": "transpose"},
    **{"sub": "subtract", "mul": "multiply", "div": "divide", "true_divide": "divide"},
    **{"eq": "equal", "ne": "not_equal", "lt": "less_than", "le": "less_equal"},
    **{"gt": "greater_than", "ge": "greater_equal"},
}
#: Other names of arguments, where a function has no argument of that name itself.
_ARGUMENTS = {
    **{"input": "x", "tensors": "x", "other": "y", "dim": "axis", "keepdims": "keepdim", "size": "shape"},
    "eps": "epsilon",
}
#: Functions whose sizes may be given one by one -> the place of the first.
_SIZES = {
    **dict.fromkeys(("zeros", "ones", "empty", "rand", "randn"), 0),
    **dict.fromkeys(("reshape", "expand", "tile", "transpose", "view"), 1),
}


def arguments(
    function: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call by the names that the function has, and sizes as a list."""
    place = _SIZES.get(function.__name__, len(positional))
    if len(positional) - place > 1 and all(type(size) is int for size in positional[place:]):
        positional = (*positional[:place], list(positional[place:]))
    if not named:
        return positional, named
    known = _parameters(function)
    return positional, {name if name in known else _known(name, known): value for name, value in named.items()}


@functools.cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _known(name: str, known: frozenset[str]) -> str:
    other = _ARGUMENTS.get(name, name)
    return other if other in known else name


class Along(NamedTuple):
    """What a function of `paddle.compat` returns that looks for elements along a dimension."""

    values: tf.Tensor
    indices: tf.Tensor


def _extreme(name: str) -> Callable[..., Any]:
    """Return `max` or `min` of all elements, along a dimension with the indices, or of two tensors."""
    chosen = {"max": functional.argmax, "min": functional.argmin}[name]

    def extreme(input: Any, *others: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
        first, keepdim = others[0] if others else other, others[1] if len(others) > 1 else keepdim
        if first is None and dim is None:
            return getattr(functional, name)(input)
        if dim is None and not isinstance(first, int):
            return getattr(functional, f"{name}imum")(input, first)
        axis = axis_of(first if dim is None else dim, rank(tensor(input)))
        # The gradient goes to that element alone; that of `paddle.max` is shared by equal ones.
        indices = chosen(input, axis, True)
        values = functional.take_along_axis(input, indices, axis)
        return Along(values, indices) if keepdim else Along(tf.squeeze(values, axis), tf.squeeze(indices, axis))

    extreme.__name__ = name
    return extreme


def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Return whether all elements are as close as the tolerances say."""
    return bool(functional.allclose(input, other, rtol, atol, equal_nan))


def equal(input: Any, other: Any) -> bool:
    """Return whether shapes and elements are the same."""
    first, second = functional.promoted(input, other)
    return first.shape == second.shape and bool(tf.reduce_all(first == second))


def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Along:
    """Return the elements in order along a dimension, and where they were."""
    del stable  # equal elements keep their order in any case
    order = functional.argsort(input, dim, descending)
    return Along(functional.take_along_axis(input, order, dim), order)


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[tf.Tensor, ...]:
    """Return parts along a dimension: of a size, the last of which may be smaller, or of each of several sizes."""
    size, sections = int(tensor.shape[dim]), split_size_or_sections
    if isinstance(sections, int):
        sections = [min(sections, size - start) for start in range(0, size, sections)]
    return tuple(functional.split(tensor, list(sections), dim))


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """Return the different elements, or parts along a dimension; which of them each element is; and how often."""
    del sorted  # they are
    from runtime.compat.paddle import functions

    different = functions.unique(input, False, return_inverse, return_counts, dim)
    if not return_inverse or dim is not None:
        return different
    parts = list(different)
    parts[1] = tf.reshape(parts[1], tensor(input).shape)
    return tuple(parts)


#: The functions of `paddle.compat`.
COMPAT: dict[str, Callable[..., Any]] = {
    "allclose": allclose,
    "equal": equal,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "sort": sort,
    "split": split,
    "unique": unique,
}
