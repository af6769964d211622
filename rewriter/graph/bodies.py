"""The graph and the functions of its library in one form: ops, their inputs and their users."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.graph.view import GraphView, Tensor, Use

__all__ = [
    *("CALLS", "LOOPS", "Body", "body_of_function", "body_of_graph", "called", "functions_of", "gives_results"),
    *("is_condition", "reached"),
]

LOOPS = ("While", "StatelessWhile")
#: Op types that output the results of the functions that they call.
CALLS = ("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase", *LOOPS)


@dataclass(frozen=True)
class Body:
    """Ops by name. `arguments` and `results` belong to a function; the main graph has the name "" and neither."""

    name: str
    nodes: dict[str, Any]
    inputs: Callable[[str], Sequence[Tensor]]
    users: Callable[[str], Sequence[Use]]
    shape: Callable[[Tensor], tf.TensorShape]
    arguments: tuple[str, ...] = ()
    results: tuple[Tensor, ...] = ()

    def type(self, op: str) -> str:
        """Return the type of an op; an empty string for an argument."""
        return str(self.nodes[op].op) if op in self.nodes else ""


def body_of_graph(view: GraphView) -> Body:
    """Return the graph as a body."""
    return Body("", view.nodes, view.inputs, view.users, view.shape)


def body_of_function(function: Any, functions: dict[str, Any]) -> Body:
    """Return a FunctionDef as a body; tensors are numbered like the outputs of calls."""
    nodes = {node.name: node for node in function.node_def}
    arguments = [one.name for one in function.signature.input_arg]
    number = functools.partial(_tensor, nodes=nodes, functions=functions)
    inputs = {
        name: tuple(number(text) for text in node.input if not text.startswith("^")) for name, node in nodes.items()
    }
    users: dict[str, list[Use]] = {}
    for name, tensors in inputs.items():
        for place, tensor in enumerate(tensors):
            users.setdefault(tensor.op, []).append(Use(name, place))
    results = tuple(number(function.ret[one.name]) for one in function.signature.output_arg)
    shape = functools.partial(_shape, nodes)
    name, readers = function.signature.name, functools.partial(_users, users)
    return Body(name, nodes, inputs.__getitem__, readers, shape, tuple(arguments), results)


def functions_of(node: Any, functions: Container[str]) -> list[str]:
    """Return the names of the functions that a node calls, of which `functions` may lack some."""
    own = [node.op] if node.op in functions else []
    return own + [one.name for value in node.attr.values() for one in (value.func, *value.list.func) if one.name]


def called(body: Body, op: str, functions: Container[str]) -> list[str]:
    """Return the names of the functions that an op calls."""
    return [name for name in functions_of(body.nodes[op], functions) if name in functions]


def reached(nodes: Iterable[Any], functions: Mapping[str, Any]) -> list[str]:
    """Return the names of the functions that nodes call, and of those that these call, once each."""
    names, pending = dict[str, None](), list(nodes)
    while pending:
        for name in functions_of(pending.pop(), functions):
            if name in functions and name not in names:
                names[name] = None
                pending.extend(functions[name].node_def)
    return list(names)


def gives_results(body: Body, op: str, function: str, functions: dict[str, Any]) -> bool:
    """Whether the outputs of an op are the results of this function; not true of a loop's condition."""
    kind = body.type(op)
    return kind in functions or (kind in CALLS and not (kind in LOOPS and is_condition(body, op, function)))


def is_condition(body: Body, op: str, function: str) -> bool:
    """Whether a function is the condition of a loop."""
    return bool(body.nodes[op].attr["cond"].func.name == function)


def _tensor(text: str, nodes: dict[str, Any], functions: dict[str, Any]) -> Tensor:
    """Parse `argument`, `op:output` or `op:output:number`; the number counts the tensors of one output."""
    op, _, rest = text.partition(":")
    output, _, number = rest.partition(":")
    kind = nodes[op].op if op in nodes else ""
    if kind in functions:
        names = [one.name for one in functions[kind].signature.output_arg]
        return Tensor(op, names.index(output) if output in names else 0)
    return Tensor(op, int(number or 0))


def _users(users: dict[str, list[Use]], op: str) -> Sequence[Use]:
    return users.get(op, [])


def _shape(nodes: dict[str, Any], tensor: Tensor) -> tf.TensorShape:
    node = nodes.get(tensor.op)
    shapes = node.attr["_output_shapes"].list.shape if node is not None and "_output_shapes" in node.attr else ()
    return tf.TensorShape(shapes[tensor.output]) if tensor.output < len(shapes) else tf.TensorShape(None)
