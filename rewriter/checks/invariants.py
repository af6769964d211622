"""Post-conditions of a rewrite; if one fails, the rewrite is undone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.plan.plan import ControlEdit, InputEdit


class Edits(Protocol):
    """The part of a plan that is checked."""

    @property
    def inputs(self) -> Sequence[InputEdit]: ...

    @property
    def controls(self) -> Sequence[ControlEdit]: ...


class RewriteError(RuntimeError):
    """The rewritten graph violates a post-condition; the rewrite was undone."""


def check(before: GraphView, after: GraphView, plan: Edits) -> None:
    """Check that all edits of the plan were made and that nothing else changed.

    Dangling edges are found when `after` is indexed.

    Raises:
        RewriteError: names the first op that violates this.
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
            raise RewriteError(f"input {edit.use.input} of `{edit.use.op}` still reads `{edit.old}`")
        had, has = before.shape(old), after.shape(new)
        if edit.same_shape and not has.is_compatible_with(had):
            raise RewriteError(f"input {edit.use.input} of `{edit.use.op}` had shape {had} and would have {has}")
    for wait in plan.controls:
        left = set(wait.old) & set(after.controls(wait.op))
        if left:
            raise RewriteError(f"`{wait.op}` still waits for `{min(left)}`")


def _check_untouched(before: GraphView, after: GraphView, plan: Edits) -> None:
    edited = {edit.use.op for edit in plan.inputs} | {wait.op for wait in plan.controls}
    for name, node in before.nodes.items():
        if name not in after:
            raise RewriteError(f"`{name}` is missing")
        if name not in edited and after.nodes[name] != node:
            raise RewriteError(f"`{name}` changed, but the plan has no such edit")
        if name in edited and _but_inputs(after.nodes[name]) != _but_inputs(node):
            raise RewriteError(f"`{name}` changed in its device, colocation or attributes, not only in its inputs")


def _but_inputs(node: Any) -> Any:
    """Return a copy of a node without its inputs and without output shapes, which depend on the inputs."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.ClearField("input")
    copy.attr.pop("_output_shapes", None)
    return copy


def _check_other_edges(before: GraphView, after: GraphView, plan: Edits) -> None:
    """Check that edited ops kept the other inputs and control inputs."""
    inputs = {edit.use for edit in plan.inputs}
    for op in dict.fromkeys(edit.use.op for edit in plan.inputs):
        for number, tensor in enumerate(before.inputs(op)):
            if Use(op, number) not in inputs and after.inputs(op)[number] != tensor:
                raise RewriteError(f"the plan has no edit for input {number} of `{op}`, `{after.inputs(op)[number]}`")
    left: dict[str, set[str]] = {}
    for wait in plan.controls:
        left.setdefault(wait.op, set(before.controls(wait.op))).difference_update(wait.old)
    for op, waited in left.items():
        if waited - set(after.controls(op)):
            raise RewriteError(f"`{op}` no longer waits for `{min(waited - set(after.controls(op)))}`")


def _check_groups(after: GraphView) -> None:
    """Check that ops which others are colocated with exist."""
    for name, node in after.nodes.items():
        for group in node.attr["_class"].list.s if "_class" in node.attr else ():
            leader = group.decode().removeprefix("loc:@")
            if group.startswith(b"loc:@") and leader not in after:
                raise RewriteError(f"`{name}` is colocated with `{leader}`, which does not exist")


def check_acyclic(view: GraphView, edited: Iterable[str] | None = None) -> None:
    """Check that there is no cycle. It would go through one of the `edited` ops, as new ops only read older ones.

    Of the ops that follow the edited ones (all ops if `edited` is None), those whose inputs are all removed are removed
    repeatedly (Kahn's algorithm). Loops of tf.while_loop are cut at NextIteration.

    Raises:
        RewriteError: names an op that remains.
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
    """Yield the ops that read `op` or wait for it, once per edge."""
    if view.type(op) != "NextIteration":
        yield from (use.op for use in view.users(op))
        yield from view.waiting(op)
