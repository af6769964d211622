"""The definition of a rewritten graph with its variables back in place of the tables."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rewriter.analysis.already_moved import SCOPE
from rewriter.plan.plan import Plan


def unmoved(definition: Any, plan: Plan) -> Any:
    """Return a GraphDef in which the edits of the plan are taken back; what the rewrite added is there, unused."""
    result = type(definition)()
    result.CopyFrom(definition)
    nodes = {node.name: node for node in result.node}
    for node in result.node:
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
    return result


def original(definition: Any, plan: Plan, added: Collection[str], needed: Collection[str]) -> Any:
    """Return `unmoved` without the ops that were `added`, and what the program built on these later.

    None if the ops `needed` are among them.
    """
    whole, gone = unmoved(definition, plan), set(added)
    left = [node for node in whole.node if node.name not in gone]
    while later := [node for node in left if any(_op(name) in gone for name in node.input)]:
        gone.update(node.name for node in later)
        left = [node for node in left if node.name not in gone]
    if not gone.isdisjoint(needed):
        return None
    result = type(definition)(versions=whole.versions, library=whole.library)
    result.node.extend(left)
    for node in result.node:
        _leave_places(node, gone)
    return result


def _leave_places(node: Any, gone: Collection[str]) -> None:
    """Let a node, as a constant of a later gradient, be placed by no op that is gone."""
    if "_class" in node.attr:
        places = [place for place in node.attr["_class"].list.s if place.decode().removeprefix("loc:@") not in gone]
        node.attr["_class"].list.s[:] = places


def _op(name: str) -> str:
    return name.removeprefix("^").partition(":")[0]
