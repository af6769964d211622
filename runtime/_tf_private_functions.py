"""Private parts of TensorFlow that make a `tf.function`'s trace a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorflow.python.eager.polymorphic_function import attributes, concrete_function

__all__ = ["compile_but"]


def compile_but(is_left_out: Callable[[str, list[Any]], bool]) -> None:
    """Let XLA compile no function of which this is true, given its name and the tensors that it captures."""
    original = concrete_function.ConcreteFunction.from_func_graph

    @functools.wraps(original)
    def from_func_graph(graph: Any, function_type: Any, attrs: Any, *arguments: Any, **named: Any) -> Any:
        compiled = attrs and attrs.get(attributes.XLA_COMPILE)
        if compiled and is_left_out(graph.name, [outside for outside, _ in graph.captures]):
            attrs = {**attrs, attributes.XLA_COMPILE: False}
        return original(graph, function_type, attrs, *arguments, **named)

    concrete_function.ConcreteFunction.from_func_graph = from_func_graph
