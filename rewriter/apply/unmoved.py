"""The definition of a rewritten graph with its variables back in place of the tables."""

from __future__ import annotations

from typing import Any

from rewriter.analysis.already_moved import SCOPE
from rewriter.plan.plan import Plan

__all__ = ["unmoved"]


def unmoved(definition: Any, plan: Plan) -> Any:
    """Return a GraphDef in which the edits of the plan are taken back; what the rewrite added is there, unused."""
    made = type(definition)()
    made.CopyFrom(definition)
    nodes = {node.name: node for node in made.node}
    for node in made.node:
        kept = [name for name in node.input if not name.startswith(f"^{SCOPE}")]
        if len(kept) < len(node.input) and not node.name.startswith(SCOPE):
            node.ClearField("input")
            node.input.extend(kept)
    for edit in plan.inputs:
        if edit.use.op in nodes:
            nodes[edit.use.op].input[edit.use.input] = edit.old.removesuffix(":0")
    for wait in plan.controls:
        if wait.op in nodes:
            nodes[wait.op].input.extend(f"^{op}" for op in wait.old)
    return made
