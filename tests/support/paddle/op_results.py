"""Runs the examples of the ops in Paddle, and, rewritten, in TensorFlow: all in one graph and one session."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.emission.files import facts_of
from migrate.source.paddle.emission.rewriter import rewrite
from tests.support.paddle.op_examples import Example, Execution, Refused, drawn, dtype_of, leaves, shape_of

v1 = tf.compat.v1


@dataclass
class Computed:
    """What an example gives: its results, and for each float operand the gradient of a weighted sum of them."""

    values: list[Any]
    gradients: dict[str, np.ndarray] = field(default_factory=dict)


def floats(example: Example) -> list[str]:
    """Return the operands that may have gradients."""
    return [name for name in example.operands if dtype_of(name).startswith("float")]


def in_paddle(example: Example, rough: bool) -> Computed:
    """Run an example in Paddle."""
    import paddle

    operands = {
        name: paddle.to_tensor(drawn(name, example.text, rough), stop_gradient=name not in floats(example))
        for name in example.operands
    }
    result = eval(example.text, {"paddle": paddle, "numpy": np}, operands)
    outputs = list(leaves(result))
    total = None
    for place, value in enumerate(outputs):
        if isinstance(value, paddle.Tensor) and not value.stop_gradient and "float" in str(value.dtype):
            weights = np.cos(np.arange(value.size) + place).reshape(value.shape).astype(_kind(value))
            part = (value * paddle.to_tensor(weights)).sum().astype("float64")
            total = part if total is None else total + part
    if total is not None:
        total.backward()
    gradients = {name: operands[name].grad for name in floats(example)}
    return Computed(
        [value.numpy() if isinstance(value, paddle.Tensor) else value for value in outputs],
        {
            name: np.zeros(shape_of(name)) if gradient is None else gradient.numpy()
            for name, gradient in gradients.items()
        },
    )


def _kind(value: Any) -> str:
    return str(value.dtype).removeprefix("paddle.")


class Graph:
    """The rewritten examples of several executions, built in one graph."""

    def __init__(self) -> None:
        """Begin with an empty graph."""
        self._graph = tf.Graph()
        self._built: dict[tuple[bool, int], tuple[list[Any], dict[str, Any]]] = {}
        self._fed: list[tuple[Any, str, str]] = []
        self.static: dict[tuple[bool, int], list[Any]] = {}  #: shapes of results that TensorFlow knows before

    def add(
        self, examples: list[Example], execution: Execution, open_batch: bool, wanted: Callable[[int], bool]
    ) -> None:
        """Build the examples for which `wanted` is true and which are not refused."""
        functions = functions_of(execution)
        with self._graph.as_default():
            for index, example in enumerate(examples):
                if wanted(index) and not isinstance(execution.results[index], Refused):
                    self._build(index, example, open_batch, functions[f"example_{index}"])

    def _build(self, index: int, example: Example, open_batch: bool, function: Callable[..., Any]) -> None:
        operands = {}
        for name in example.operands:
            shape: tuple[int | None, ...] = shape_of(name)
            if open_batch and shape and shape[0] != 1:
                shape = (None, *shape[1:])
            operands[name] = v1.placeholder(dtype_of(name), shape)
            self._fed.append((operands[name], name, example.text))
        try:
            outputs = list(leaves(function(*operands.values())))
        except Exception as error:
            raise AssertionError(f"{example.text}: the rewritten text fails: {error}") from error
        parts = [
            tf.cast(tf.reduce_sum(value * _weights(value, place)), tf.float64)
            for place, value in enumerate(outputs)
            if isinstance(value, tf.Tensor) and value.dtype.is_floating
        ]
        names = floats(example)
        made = (
            tf.gradients(builtins.sum(parts[1:], parts[0]), [operands[name] for name in names])
            if parts and names
            else []
        )
        gradients = {name: tf.convert_to_tensor(g) for name, g in zip(names, made, strict=False) if g is not None}
        self._built[open_batch, index] = outputs, gradients
        self.static[open_batch, index] = [getattr(value, "shape", None) for value in outputs]

    def run(self, rough: bool) -> dict[tuple[bool, int], Computed]:
        """Run all in one session; values that are no tensors are as they are."""
        fetched = {
            key: ([value for value in outputs if isinstance(value, tf.Tensor)], gradients)
            for key, (outputs, gradients) in self._built.items()
        }
        with v1.Session(graph=self._graph) as session:
            got = session.run(fetched, {holder: drawn(name, text, rough) for holder, name, text in self._fed})
        results = {}
        for key, (values, gradients) in got.items():
            left = iter(values)
            outputs = self._built[key][0]
            results[key] = Computed(
                [next(left) if isinstance(value, tf.Tensor) else value for value in outputs], gradients
            )
        return results


def functions_of(execution: Execution) -> dict[str, Callable[..., Any]]:
    """Return the functions of the rewritten program."""
    names: dict[str, Any] = {}
    exec(text_of(execution), names)
    return names


@functools.cache
def text_of(execution: Execution) -> str:
    """Return the rewritten program with its imports."""
    facts = facts_of(Program(execution.run, execution.module), execution.module)
    code = rewrite(execution.module.text, facts).code
    return f"import tensorflow.compat.v1 as {facts.names.tensorflow}\nfrom runtime import nn, ranks\n{code}"


def lines_of(execution: Execution) -> list[str]:
    """Return the rewritten expression of each example."""
    return [line.strip() for line in text_of(execution).split("\n") if line.startswith("    return ")]


def _weights(value: tf.Tensor, place: int) -> tf.Tensor:
    angles = tf.cast(tf.range(tf.size(value)) + place, tf.float64)
    return tf.cast(tf.reshape(tf.cos(angles), tf.shape(value)), value.dtype)
