"""Functions with a variable as argument: those of tf.function, v2 control flow (If, While, Case) and datasets."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.graph.view import GraphView, Use
from rewriter.patterns.branches import READS

__all__ = ["InnerUse", "functions_of", "inner_uses", "why_not_entered"]

_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


@dataclass(frozen=True)
class InnerUse:
    """An op in a function's body that reads an argument of the function at data input `input`."""

    function: str
    op: str
    type: str
    input: int


def functions_of(view: GraphView, node: Any) -> list[str]:
    """Return the names of the functions that a node calls."""
    own = [node.op] if node.op in view.functions else []
    return own + [one.name for value in node.attr.values() for one in (value.func, *value.list.func) if one.name]


def inner_uses(view: GraphView, use: Use) -> Iterator[InnerUse]:
    """Yield the uses of a tensor in the functions that an op calls, and in the functions that these call, once each."""
    node = view.nodes[use.op]
    pending = list(_arguments(view, node, use.input, len(view.inputs(use.op))))
    known = set(pending)
    while pending:
        function, argument = pending.pop()
        for node, number in _readers(view.functions[function], argument):
            further = list(_arguments(view, node, number, sum(not text.startswith("^") for text in node.input)))
            pending += [one for one in further if one not in known]
            known.update(further)
            if not further:
                yield InnerUse(function, node.name, node.op, number)


def why_not_entered(view: GraphView, use: Use, lookups: Container[str]) -> str:
    """Return why a variable passed to functions is not replaced: how it is used there, and the remedy."""
    kind = view.type(use.op)
    found = sorted(inner_uses(view, use), key=lambda one: one.type in lookups)
    if not found:
        return f"{kind} `{use.op}` calls functions with it"
    first = found[0]
    where = f"{kind} `{use.op}` passes it to the function `{first.function}`, where {first.type} `{first.op}`"
    if first.type not in lookups:
        return f"{where} uses the whole variable"
    if kind in _BRANCHES:
        remedy = "call tf.compat.v1.disable_control_flow_v2() before the graph is built, or look rows up before it"
    elif kind in _CALLS or kind in view.functions:
        remedy = "look rows up outside of the tf.function"
    else:
        remedy = "look rows up in the graph, not in a dataset's function"
    return f"{where} looks it up, and lookups in this function cannot be replaced: {remedy}"


def _arguments(view: GraphView, node: Any, number: int, inputs: int) -> Iterator[tuple[str, str]]:
    """Yield (function, argument) pairs that get an input of a node; leading inputs (If's condition) are its own."""
    for name in functions_of(view, node):
        if name in view.functions:
            arguments = view.functions[name].signature.input_arg
            place = number - inputs + len(arguments)
            if 0 <= place < len(arguments):
                yield name, arguments[place].name


def _readers(function: Any, argument: str) -> Iterator[tuple[Any, int]]:
    """Yield (node, input) pairs of a body that use an argument, also through reads of it."""
    sources = {argument}
    for node in _inputs_first(function):
        for number, text in enumerate(node.input):
            if text.startswith("^") or text.partition(":")[0] not in sources:
                continue
            if node.op in READS and number == 0:
                sources.add(node.name)
            else:
                yield node, number


def _inputs_first(function: Any) -> Iterator[Any]:
    """Yield the nodes of a body in topological order."""
    nodes = {node.name: node for node in function.node_def}
    done: set[str] = set()
    for name in nodes:
        pending = [name]
        while pending:
            node = nodes[pending[-1]]
            before = [text.partition(":")[0] for text in node.input if not text.startswith("^")]
            missing = [one for one in before if one in nodes and one not in done and one not in pending]
            if missing:
                pending.append(missing[0])
                continue
            pending.pop()
            if node.name not in done:
                done.add(node.name)
                yield node
