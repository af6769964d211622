"""Functions of many ops in eager code: one kernel computes what they do, and another one the gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import tensorflow as tf

from runtime import _tf_private_functions, _tf_private_tapes

Function = TypeVar("Function", bound=Callable[..., Any])

#: How many kernels a function has at most, and of how many forms of arguments it is counted how often they come.
_MOST, _COUNTED = 8, 256


def eager_kernel(function: Function) -> Function:
    """Return a function that computes the same bits, in eager code by one kernel if it is called as once before.

    Ten eager ops and their gradients take half a millisecond beside what they compute. What the function does must
    follow from the forms of its arguments: it draws no numbers, keeps nothing, and looks at no element.
    """
    kernels: dict[Hashable, _Kernel | None] = {}

    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        form = _form(positional, named) if tf.executing_eagerly() else None
        if form is None:
            return function(*positional, **named)
        if form not in kernels:
            if len(kernels) < _COUNTED:
                kernels[form] = None
            return function(*positional, **named)
        kernel = kernels[form]
        if kernel is None:
            if sum(known is not None for known in kernels.values()) == _MOST:
                return function(*positional, **named)
            kernel = kernels[form] = _Kernel(function, positional, named)
        return kernel(positional, named)

    return call  # type: ignore[return-value]


class _Kernel:
    """A function for arguments of one form."""

    def __init__(self, function: Callable[..., Any], positional: Sequence[Any], named: Mapping[str, Any]) -> None:
        tensors = _tensors(positional, named)
        self._name = function.__name__
        self._learns = [number for number, tensor in enumerate(tensors) if tensor.dtype.is_floating]
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors]

        def forward(*parts: tf.Tensor) -> Any:
            left = iter(parts)
            own = [next(left) if isinstance(value, tf.Tensor) else value for value in positional]
            return function(*own, **{k: next(left) if isinstance(v, tf.Tensor) else v for k, v in named.items()})

        def backward(*parts: tf.Tensor) -> Any:
            inputs = [parts[number] for number in self._learns]
            with tf.GradientTape() as tape:
                for each in inputs:
                    tape.watch(each)
                outputs = tf.nest.flatten(forward(*parts[: len(specs)]))
            return tape.gradient(outputs, inputs, list(parts[len(specs) :]))

        self._forward = _traced(forward, specs)
        outputs = tf.nest.flatten(self._forward.structured_outputs)
        self._backward = _traced(backward, [*specs, *(tf.TensorSpec(output.shape, output.dtype) for output in outputs)])

    def __call__(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Return what the function does."""
        tensors = _tensors(positional, named)
        with _tf_private_functions.called_as_written(), _tf_private_tapes.unrecorded():
            result = self._forward(*tensors)

        def gradients(*of_outputs: Any) -> Any:
            with _tf_private_functions.called_as_written():
                return self._backward(*tensors, *map(tf.convert_to_tensor, of_outputs))

        inputs = [tensors[number] for number in self._learns]
        _tf_private_tapes.record(self._name, tf.nest.flatten(result), inputs, gradients)
        return result


def _traced(function: Callable[..., Any], specs: Sequence[tf.TensorSpec]) -> Any:
    return tf.function(function, autograph=False).get_concrete_function(*specs)


def _tensors(positional: Sequence[Any], named: Mapping[str, Any]) -> list[tf.Tensor]:
    return [value for value in (*positional, *named.values()) if isinstance(value, tf.Tensor)]


def _form(positional: Sequence[Any], named: Mapping[str, Any]) -> Hashable | None:
    """Return what the ops of a call depend on; None where it has arguments other than tensors and plain values."""
    parts: list[Hashable] = [*named]
    for value in (*positional, *named.values()):
        if isinstance(value, tf.Tensor):
            parts.append((*value.shape, value.dtype))
        elif value is None or isinstance(value, bool | int | float | str):
            parts.append((type(value), value))
        else:
            return None
    return tuple(parts)
