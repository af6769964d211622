"""Explains one tensor: the table that it is looked up from or updates, or why its variable is not replaced."""

from __future__ import annotations

from rewriter.analysis.candidates import VARIABLES
from rewriter.graph.view import GraphView, Tensor
from rewriter.plan.planner import make_plan


def explain(view: GraphView, name: str) -> str:
    """Return what happens to the variable nearest to a tensor (`ops/name:0`, or the op's name), and why.

    Raises:
        ValueError: the graph has no such tensor.
    """
    op = name.partition(":")[0]
    if op not in view:
        raise ValueError(f"the graph has no tensor `{name}`: give the name of an op or of one of its outputs")
    variable = nearest_variable(view, op)
    if variable is None:
        return f"`{name}` is not computed from a variable: there is nothing to replace"
    way = " → ".join(view.path(variable, op))
    plan = make_plan(view, [variable])
    verdict = plan.summary()
    return f"`{name}` comes from the variable `{variable}` ({way}).\n{verdict}" if way else verdict


def nearest_variable(view: GraphView, op: str) -> str | None:
    """Return the variable with the fewest ops between it and `op`; `op` itself if it is a variable."""
    types = set(VARIABLES)
    ancestors = view.ancestors([Tensor(op)], stop=lambda one: view.type(one) in types)
    return next((one for one in ancestors if view.type(one) in types), None)
