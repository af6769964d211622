"""A float64 copy of a graph, the reference for rounding differences (runs in a TensorFlow process)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from migrate.verify.tensorflow.measure import Program
from rewriter.graph.view import GraphView
from rewriter.graph.vocabularies import fills_of

v1: Any = tf.compat.v1
_FLOAT, _DOUBLE = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum


@contextlib.contextmanager
def session_of(graph: tf.Graph, program: Program, fed: Sequence[str]) -> Iterator[Any]:
    """Yield a session on a float64 copy of the measured part of a graph; fed tensors keep their names."""
    sources = [graph.get_operation_by_name(name.partition(":")[0]) for name in fed]
    types = {op.name: [tensor.dtype.as_datatype_enum for tensor in op.outputs] for op in sources}
    whole = graph.as_graph_def()
    fills = fills_of(GraphView(whole))
    definition = _cut(whole, [*_wanted(program), *fills], types)
    for node in [*definition.node, *(node for f in definition.library.function for node in f.node_def)]:
        _widen(node.attr)
    for function in definition.library.function:
        for argument in [*function.signature.input_arg, *function.signature.output_arg]:
            argument.type = _DOUBLE if argument.type == _FLOAT else argument.type
    with tf.Graph().as_default() as wide:
        tf.graph_util.import_graph_def(definition, name="")
        with v1.Session(graph=wide) as session:
            session.run(fills)
            yield session


def widened(values: NDArray[Any]) -> NDArray[Any]:
    """Return float32 values as float64; other types are returned unchanged."""
    return values.astype(np.float64) if values.dtype == np.float32 else values


def _wanted(program: Program) -> list[str]:
    names = [*program.losses, *program.train]
    for variable in program.variables.values():
        names += [variable.initializer, variable.assigned, variable.value]
    for gradient in program.gradients.values():
        names += [gradient] if isinstance(gradient, str) else list(gradient)
    names += [name for found in program.lookups.values() for name in found]
    return sorted({name.partition(":")[0] for name in names})


def _cut(definition: Any, wanted: list[str], sources: Mapping[str, Sequence[int]]) -> Any:
    """Return the subgraph that the wanted ops need; ops of `sources`, with output types, become placeholders."""
    for node in definition.node:
        if node.name in sources:
            del node.input[:]
        else:
            kept = [name for name in node.input if not (name.startswith("^") and name[1:] in sources)]
            node.ClearField("input")
            node.input.extend(kept)
    result = v1.graph_util.extract_sub_graph(definition, wanted)
    for node in result.node:
        if node.name in sources:
            _become_placeholder(node, sources[node.name])
    return result


def _become_placeholder(node: Any, types: Sequence[int]) -> None:
    """Replace an op by a placeholder, or by an op without inputs if it has several outputs."""
    if node.op == "Placeholder":
        return
    node.ClearField("attr")
    if len(types) == 1:
        node.op = "Placeholder"
        node.attr["dtype"].type = types[0]
        return
    node.op = "Unstage"  # any op without inputs and with a list of output types; it never runs
    node.attr["dtypes"].list.type.extend(types)
    node.attr["capacity"].i = node.attr["memory_limit"].i = 0


def _widen(attributes: Any) -> None:
    for value in attributes.values():
        kind = value.WhichOneof("value")
        if kind == "type" and value.type == _FLOAT:
            value.type = _DOUBLE
        elif kind == "list":
            types = [_DOUBLE if t == _FLOAT else t for t in value.list.type]
            del value.list.type[:]
            value.list.type.extend(types)
        elif kind == "tensor" and value.tensor.dtype == _FLOAT:
            wide = tf.make_ndarray(value.tensor).astype(np.float64)
            value.tensor.CopyFrom(tf.make_tensor_proto(wide))
