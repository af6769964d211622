"""What must hold after a rewrite; a rewrite for which it does not is taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.plan.plan import ControlEdit, InputEdit

__all__ = ["Edits", "RewriteError", "check", "check_acyclic"]


class Edits(Protocol):
    """A plan, as far as it is checked."""

    @property
    def inputs(self) -> Sequence[InputEdit]: ...

    @property
    def controls(self) -> Sequence[ControlEdit]: ...


class RewriteError(RuntimeError):
    """A rewritten graph breaks a post-condition; the rewrite was taken back."""


def check(before: GraphView, after: GraphView, plan: Edits) -> None:
    """Compare the graph after a rewrite with the one before: the plan's edits are there and nothing else changed.

    Dangling edges are refused when `after` is indexed.

    Raises:
        RewriteError: names the first op at fault.
    """
    _check_edges(before, after, plan)
    _check_untouched(before, after, plan)
    _check_other_edges(before, after, plan)
    _check_groups(after)
    check_acyclic(after, [*(edit.use.op for edit in plan.inputs), *(wait.op for wait in plan.controls)])


def _check_edges(before: GraphView, after: GraphView, plan: Edits) -> None:
    for edit in plan.inputs:
        new = after.inputs(edit.use.op)[edit.use.input]
        op, _, output = edit.old.partition(":")
        old = Tensor(op, int(output))
        if new == old:
            raise RewriteError(f"`{edit.use.op}` still reads `{edit.old}` at input {edit.use.input}")
        had, has = before.shape(old), after.shape(new)
        if edit.same_shape and not has.is_compatible_with(had):
            raise RewriteError(f"`{edit.use.op}` read {had} and would read {has} at input {edit.use.input}")
    for wait in plan.controls:
        left = set(wait.old) & set(after.controls(wait.op))
        if left:
            raise RewriteError(f"`{wait.op}` still waits for `{min(left)}`")


def _check_untouched(before: GraphView, after: GraphView, plan: Edits) -> None:
    edited = {edit.use.op for edit in plan.inputs} | {wait.op for wait in plan.controls}
    for name, node in before.nodes.items():
        if name not in after:
            raise RewriteError(f"`{name}` is gone")
        if name not in edited and after.nodes[name] != node:
            raise RewriteError(f"`{name}` changed, which no edit asked for")
        if name in edited and _but_inputs(after.nodes[name]) != _but_inputs(node):
            raise RewriteError(f"`{name}` has another device, group or attribute than before, not other inputs alone")


def _but_inputs(node: Any) -> Any:
    """Return a copy of a node without its inputs, and without shapes, which follow from them."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.ClearField("input")
    copy.attr.pop("_output_shapes", None)
    return copy


def _check_other_edges(before: GraphView, after: GraphView, plan: Edits) -> None:
    """Check of the edited ops what no edit asked for: their other inputs, and whom they wait for."""
    inputs = {edit.use for edit in plan.inputs}
    for op in dict.fromkeys(edit.use.op for edit in plan.inputs):
        for number, tensor in enumerate(before.inputs(op)):
            if Use(op, number) not in inputs and after.inputs(op)[number] != tensor:
                raise RewriteError(f"`{op}` reads `{after.inputs(op)[number]}` at {number}, which no edit asked for")
    left: dict[str, set[str]] = {}
    for wait in plan.controls:
        left.setdefault(wait.op, set(before.controls(wait.op))).difference_update(wait.old)
    for op, waited in left.items():
        if waited - set(after.controls(op)):
            raise RewriteError(f"`{op}` waits no more for `{min(waited - set(after.controls(op)))}`")


def _check_groups(after: GraphView) -> None:
    """Check that whom ops are colocated with is there."""
    for name, node in after.nodes.items():
        for group in node.attr["_class"].list.s if "_class" in node.attr else ():
            leader = group.decode().removeprefix("loc:@")
            if group.startswith(b"loc:@") and leader not in after:
                raise RewriteError(f"`{name}` is colocated with `{leader}`, which is not there")


def check_acyclic(view: GraphView, edited: Iterable[str] | None = None) -> None:
    """Look for cycles, which go through one of the `edited` ops: there was none before, and new ops read older ones.

    Of what comes after them (of all ops when it is not said which were edited), ops are taken away whose inputs are all
    away (Kahn's algorithm). Loops of tf.while_loop are cut at NextIteration.

    Raises:
        RewriteError: names an op that is left.
    """
    starts = view.nodes if edited is None else edited
    missing = dict.fromkeys(view.descendants(starts, stop=lambda op: view.type(op) == "NextIteration"), 0)
    for op in missing:
        for user in _next(view, op):
            missing[user] += 1
    ready = deque(op for op, count in missing.items() if count == 0)
    while ready:
        for user in _next(view, ready.popleft()):
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    stuck = next((op for op, count in missing.items() if count > 0), None)
    if stuck:
        raise RewriteError(f"`{stuck}` would depend on itself")


def _next(view: GraphView, op: str) -> Iterator[str]:
    """Yield who reads `op` or waits for it, once for each edge."""
    if view.type(op) != "NextIteration":
        yield from (use.op for use in view.users(op))
        yield from view.waiting(op)
