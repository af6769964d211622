"""The same layers made with Paddle and with `runtime.nn`, and what they compute from equal weights and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import paddle
import tensorflow as tf
from numpy.typing import NDArray

from runtime import nn

Array = NDArray[Any]
v1 = tf.compat.v1


@dataclass(frozen=True)
class Computed:
    """What one framework computed: outputs, and the gradient of their weighted sum by input number and by path."""

    outputs: list[Array]
    gradients: dict[str, Array | None]


def weights_of(layer: Any, seed: int = 0, scale: float = 1.0) -> dict[str, Array]:
    """Give a Paddle layer random weights and return them by path."""
    random = np.random.default_rng(seed)
    found = {}
    for path, weight in layer.state_dict().items():
        value = random.normal(0.0, scale, weight.shape).astype(str(weight.dtype).rpartition(".")[2])
        if path.endswith("_variance"):
            value = np.abs(value)
        weight.set_value(value)
        found[path] = value
    return found


def by_paddle(layer: Any, inputs: Sequence[Array], constant: Sequence[int] = ()) -> Computed:
    """Call a Paddle layer and differentiate the sum of its outputs, each element times its number."""
    kinds = [n in constant or one.dtype.kind != "f" for n, one in enumerate(inputs)]
    tensors = [paddle.to_tensor(one, stop_gradient=stop) for one, stop in zip(inputs, kinds, strict=True)]
    outputs = _flat(layer(*tensors))
    total = sum((out * paddle.to_tensor(_factors(out.numpy()))).sum() for out in outputs)
    total.backward()
    named = [(str(n), one) for n, one in enumerate(tensors)] + layer.named_parameters_list
    gradients = {name: _gradient(one) for name, one in named if not one.stop_gradient}
    return Computed([out.numpy() for out in outputs], gradients)


def by_runtime(
    layer: Any,
    inputs: Sequence[Array],
    weights: Mapping[str, Array],
    unknown: bool = False,
    constant: Sequence[int] = (),
) -> Computed:
    """Do the same in a graph with a layer of `runtime.nn`, the first size of inputs perhaps unknown."""
    tensors = [v1.placeholder(one.dtype, [None, *one.shape[1:]] if unknown else one.shape) for one in inputs]
    layer.build("model")
    outputs = [tf.convert_to_tensor(out) for out in _flat(layer(*tensors))]
    feeds = dict(zip(tensors, inputs, strict=True))
    named = [(str(n), one) for n, one in enumerate(tensors) if one.dtype.is_floating and n not in constant]
    named += [(path, one.variable) for path, one in layer.named_parameters() if one.trainable]
    # A loop can be differentiated only before it runs.
    factors = [v1.placeholder(out.dtype, out.shape) for out in outputs]
    found = tf.gradients(outputs, [one for _, one in named], factors)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        nn.load_weights(layer, weights, session)
        weighted = dict(zip(factors, map(_factors, session.run(outputs, feeds)), strict=True))
        numbers = session.run([outputs, [one for one in found if one is not None]], feeds | weighted)
    values = iter(numbers[1])
    gradients = {
        name: None if one is None else _dense(next(values), weights.get(name))
        for (name, _), one in zip(named, found, strict=True)
    }
    return Computed(numbers[0], gradients)


def compare(
    make: Callable[[Any], Any],
    *inputs: Array,
    unknown: bool = True,
    training: bool = True,
    padding: Mapping[str, int] = MappingProxyType({}),
    constant: Sequence[int] = (),
    scale: float = 1.0,
) -> None:
    """Demand equal outputs, shapes, dtypes and gradients of the layer that `make(nn)` returns in both frameworks.

    Args:
        make: from `paddle.nn` or `runtime.nn` to a layer.
        inputs: of the layer.
        unknown: whether TensorFlow does not know the first size of the inputs.
        training: whether layers work as in training.
        constant: numbers of inputs by which outputs are not differentiated, as labels.
        padding: path -> row of embeddings whose padding row has a gradient in Paddle, and none in `runtime.nn`.
        scale: standard deviation of the weights.
    """
    theirs = make(paddle.nn)
    with tf.Graph().as_default():
        ours = make(nn)
        for layer in (theirs, ours):
            layer.train() if training else layer.eval()
        weights = weights_of(theirs, scale=scale)
        theirs.named_parameters_list = list(theirs.named_parameters())
        expected = by_paddle(theirs, inputs, constant)
        actual = by_runtime(ours, inputs, weights, unknown, constant)
    assert [(out.shape, out.dtype) for out in actual.outputs] == [(out.shape, out.dtype) for out in expected.outputs]
    for one, other in zip(actual.outputs, expected.outputs, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    assert actual.gradients.keys() == expected.gradients.keys()
    for name, gradient in expected.gradients.items():
        found = actual.gradients[name]
        if name in padding and found is not None and gradient is not None:
            assert gradient[padding[name]].any() and not found[padding[name]].any()
            gradient[padding[name]] = 0
        assert (found is None) == (gradient is None), name
        if gradient is not None:
            np.testing.assert_allclose(found, gradient, rtol=2e-5, atol=2e-6, err_msg=name)


def _gradient(weight: Any) -> Array | None:
    """Return a gradient of Paddle; one of chosen rows, which NumPy does not get, by what a step subtracts."""
    if weight.grad is None or not weight.grad.is_selected_rows():
        return None if weight.grad is None else weight.grad.numpy()
    before = weight.numpy()
    paddle.optimizer.SGD(1.0, parameters=[weight]).step()
    return before - weight.numpy()


def _flat(outputs: Any) -> list[Any]:
    return [one for part in outputs for one in _flat(part)] if isinstance(outputs, list | tuple) else [outputs]


def _factors(values: Array) -> Array:
    return np.linspace(0.5, 1.5, values.size).reshape(values.shape).astype(values.dtype)


def _dense(gradient: Any, values: Array | None) -> Array:
    """Return a gradient with all rows: that of an embedding has the looked up ones."""
    if isinstance(gradient, np.ndarray) or values is None:
        return np.asarray(gradient)
    dense = np.zeros_like(values)
    np.add.at(dense, gradient.indices, gradient.values)
    return dense
