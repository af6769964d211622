"""Private parts of TensorFlow that make a `tf.function`'s trace a function, and its ops that train variables."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes, concrete_function
from tensorflow.python.ops import gen_training_ops


@contextlib.contextmanager
def called_as_written() -> Iterator[None]:
    """Let functions that are called in the block, and nowhere else, run as written, on the thread that calls them.

    Their ops are neither replaced by others, which would round otherwise, nor handed to threads, which takes longer
    than what many of them compute, above all on a machine that is busy. A GPU has threads of its own.
    """
    own, before = context.context(), context.context().function_call_options
    own.function_call_options = _as_written()
    try:
        yield
    finally:
        own.function_call_options = before


@functools.cache
def _as_written() -> Any:
    settings = config_pb2.ConfigProto(allow_soft_placement=True)
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    executor = None if tf.config.list_logical_devices("GPU") else "SINGLE_THREADED_EXECUTOR"
    return context.FunctionCallOptions(executor, settings)


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


def refuse_in_training_ops(refusal: Callable[[Any], str | None]) -> None:
    """Let ops by which optimizers train a variable raise what is said of one of their arguments."""

    def refusing(original: Any) -> Any:
        @functools.wraps(original)
        def op(*arguments: Any, **named: Any) -> Any:
            for said in filter(None, map(refusal, (*arguments, *named.values()))):
                raise tf.errors.InvalidArgumentError(None, None, f"{original.__name__} got {said}")
            # A function knows no more of its arguments; their shape, read first, is an error that says the same.
            passed = filter(_is_resource_argument, (*arguments, *named.values()))
            with tf.control_dependencies([tf.raw_ops.VariableShape(input=resource) for resource in passed]):
                return original(*arguments, **named)

        return op

    for module in (gen_training_ops, tf.raw_ops):
        for name in dir(module):
            if re.match("Resource(Sparse)?Apply|resource_(sparse_)?apply(?!.*_fallback)", name):
                setattr(module, name, refusing(getattr(module, name)))


def _is_resource_argument(value: Any) -> bool:
    """Whether a resource is an argument of the function that is traced."""
    # What a function captures is an eager tensor there, which has no graph.
    traced = isinstance(value, tf.Tensor) and hasattr(getattr(value, "graph", None), "captures")
    return traced and value.dtype == tf.resource and value.op.type == "Placeholder"
