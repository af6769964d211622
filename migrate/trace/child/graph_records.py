"""Makes the record of graphs: their variables, and the ops that use each, as JSON would have them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from .graph_files import write_graph
from .program import Program

_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
#: Ops that hand a variable on: its handle, its reference, or the value that was read.
_PASSES = frozenset(
    {
        *("Identity", "RefIdentity", "StopGradient", "ReadVariableOp", "Merge", "RefMerge"),
        *(f"{ref}{kind}" for ref in ("", "Ref") for kind in ("Enter", "Exit", "NextIteration", "Switch")),
    }
)


def graph_records(graphs: Iterable[Any], program: Program, folder: str) -> list[dict[str, Any]]:
    """Return the records of graphs that have variables, and write these graphs to a folder.

    Of graphs with the same variables, as an Estimator makes one for each evaluation, there is one.
    """
    records: dict[str, tuple[list[dict[str, Any]], Any]] = {}
    for graph in graphs:
        variables = list(_variables(graph, program))
        if variables:
            records.setdefault(repr(variables), (variables, graph))
    return [
        {"variables": variables, "graph": write_graph(graph, folder, f"{os.getpid()}-{number}")}
        for number, (variables, graph) in enumerate(records.values())
    ]


def _variables(graph: Any, program: Program) -> Iterator[dict[str, Any]]:
    for op in graph.get_operations():
        if op.type in _VARIABLES:
            shape = op.get_attr("shape")
            uses = [{"op": use.type, "name": use.name, "at": _lines(use, program)} for use in _uses(op)]
            yield {
                "name": op.name,
                "shape": [] if shape.unknown_rank else [None if one.size < 0 else int(one.size) for one in shape.dim],
                "dtype": op.get_attr("dtype").name,
                "created": _lines(op, program),
                "uses": uses,
            }


def _uses(variable: Any) -> list[Any]:
    """Return the ops that use a variable, in the order of their names."""
    known, pending = {variable.name: variable}, [variable]
    while pending:
        for tensor in pending.pop().outputs:
            for op in tensor.consumers():
                if op.name not in known:
                    known[op.name] = op
                    pending += [op] if op.type in _PASSES else []
    return [op for name, op in sorted(known.items()) if op.type not in _PASSES and op is not variable]


def _lines(op: Any, program: Program) -> list[tuple[str, int]]:
    """Return the program's lines of the stack by which an op was made, the innermost first."""
    trace = op.traceback
    return program.lines((frame.filename, frame.lineno) for frame in ([] if trace is None else trace))
