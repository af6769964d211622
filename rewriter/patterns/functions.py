"""Functions with a variable as argument: those of tf.function, v2 control flow (If, While, Case) and datasets."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from rewriter.graph.bodies import Body, body_of_function, body_of_graph, called
from rewriter.graph.view import GraphView, Use
from rewriter.patterns.branches import READS

_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


@dataclass(frozen=True)
class InnerUse:
    """An op in a function's body that reads an argument of the function at data input `input`."""

    function: str
    op: str
    type: str
    input: int


def inner_uses(view: GraphView, use: Use) -> Iterator[InnerUse]:
    """Yield the uses of a tensor in the functions that an op calls, and in the functions that these call, once each."""
    pending = list(_arguments(view, body_of_graph(view), use))
    known = set(pending)
    while pending:
        function, argument = pending.pop()
        body = body_of_function(view.functions[function], view.functions)
        for inner in _readers(body, argument):
            further = list(_arguments(view, body, inner))
            pending += [one for one in further if one not in known]
            known.update(further)
            if not further:
                yield InnerUse(function, inner.op, body.type(inner.op), inner.input)


def why_not_entered(view: GraphView, use: Use, lookups: Container[str]) -> str:
    """Return why a variable passed to functions is not replaced: how it is used there, and the remedy."""
    kind = view.type(use.op)
    uses = sorted(inner_uses(view, use), key=lambda inner_use: inner_use.type in lookups)
    if not uses:
        return f"{kind} `{use.op}` passes it to functions, in which no use of it was found"
    first = uses[0]
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


def _arguments(view: GraphView, body: Body, use: Use) -> Iterator[tuple[str, str]]:
    """Yield (function, argument) pairs that get an input of an op; leading inputs (If's condition) are its own."""
    for name in called(body, use.op, view.functions):
        arguments = view.functions[name].signature.input_arg
        place = use.input - len(body.inputs(use.op)) + len(arguments)
        if 0 <= place < len(arguments):
            yield name, arguments[place].name


def _readers(body: Body, argument: str) -> Iterator[Use]:
    """Yield the uses of an argument, also through reads of it."""
    pending = list(body.users(argument))
    while pending:
        use = pending.pop(0)
        if body.type(use.op) in READS and use.input == 0:
            pending += body.users(use.op)
        else:
            yield use
