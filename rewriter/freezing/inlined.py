"""Takes lookups out of the functions of a graph: in a function, they could not get the variables of a frozen table."""

from __future__ import annotations

from collections.abc import Collection

from rewriter.apply.inlined_bodies import build_call, can_be_built
from rewriter.freezing.replacing import OURS, Replacing
from rewriter.graph.bodies import reached
from rewriter.graph.view import GraphView

#: Limit for recursive functions; calls in models are not nested deeper.
_DEEPEST = 20


def inline(graph: Replacing, roots: Collection[str]) -> None:
    """Inline every call that the ops `roots` need and that contains an op of ours.

    Raises:
        ValueError: such an op is in a function that cannot be inlined, as a dataset's; the message names both.
    """
    for _ in range(_DEEPEST):
        view = graph.view
        calls = [op for op in graph.needed(roots) if op not in graph.replaced and ours_inside(view, op)]
        if not calls:
            return
        for call in calls:
            inner = ours_inside(view, call)
            if not can_be_built(view, call):
                raise ValueError(
                    f"{view.type(call)} `{call}` has the op {inner} in a function that cannot be inlined: look rows up "
                    "outside of it, and export again"
                )
            with graph.graph.as_default():
                graph.replaced[call] = build_call(view, graph.graph.get_operation_by_name(call))
    raise ValueError(f"`{calls[0]}` calls itself with a lookup inside: look rows up outside of it, and export again")


def ours_inside(view: GraphView, op: str) -> str:
    """Return the type of an op of ours in the functions that an op calls, or in functions that these call; or ''."""
    inside = (node.op for name in reached([view.nodes[op]], view.functions) for node in view.functions[name].node_def)
    return next((str(kind) for kind in inside if kind.startswith(OURS)), "")
