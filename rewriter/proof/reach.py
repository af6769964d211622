"""Reachability in a graph: ops that a run needs, and ops that may be dead."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from rewriter.graph.view import GraphView, Tensor

__all__ = ["alive", "maybe_dead", "needed", "op_of", "tensor_of"]

_SWITCHES = ("Switch", "RefSwitch")
_MERGES = ("Merge", "RefMerge")


def op_of(name: str) -> str:
    """Return the op of a fetch, which is `op` or `op:0`."""
    return name.removeprefix("^").partition(":")[0]


def tensor_of(name: str) -> Tensor:
    """Return the tensor with a name such as `op:0`."""
    op, _, output = name.partition(":")
    return Tensor(op, int(output or 0))


def needed(view: GraphView, names: Iterable[str], fed: Collection[str] = ()) -> dict[str, None]:
    """Return the ops that run for `names` (ops or tensors) if the tensors `fed` are fed."""
    found: dict[str, None] = {}
    pending = deque(op_of(name) for name in names if name not in fed)
    while pending:
        op = pending.popleft()
        if op in found:
            continue
        found[op] = None
        pending.extend(tensor.op for tensor in view.inputs(op) if str(tensor) not in fed)
        pending.extend(view.controls(op))
    return found


def maybe_dead(view: GraphView) -> set[str]:
    """Return the ops inside v1 `tf.cond` and `tf.while_loop`: fetching one that does not run is an error."""
    depths: dict[str, int] = {}
    if not view.of_type(*_SWITCHES, "Enter", "RefEnter"):
        return set()
    missing = {
        name: len(view.inputs(name)) + len(view.controls(name)) if view.type(name) != "NextIteration" else 0
        for name in view.nodes
    }
    ready = deque(name for name, count in missing.items() if count == 0)
    while ready:
        op = ready.popleft()
        depths[op] = _depth(view, op, depths)
        for after in (*(use.op for use in view.users(op)), *view.waiting(op)):
            missing[after] -= 1
            if missing[after] == 0 and view.type(after) != "NextIteration":
                ready.append(after)
    return {op for op in view.nodes if depths.get(op, 1) > 0 or view.type(op) == "NextIteration"}


def _depth(view: GraphView, op: str, depths: dict[str, int]) -> int:
    """Return how many branches and loops an op is in; Merge leaves a branch, and `Exit` a loop with its branch."""
    kind = view.type(op)
    before = [*(tensor.op for tensor in view.inputs(op)), *view.controls(op)]
    depth = max((depths.get(one, 0) for one in before), default=0)
    if kind in _SWITCHES or kind in ("Enter", "RefEnter"):
        return depth + 1
    if kind in _MERGES and not any(view.type(one) == "NextIteration" for one in before):
        return depth - 1
    return depth - 2 if kind in ("Exit", "RefExit") else depth


def alive(view: GraphView, tensor: Tensor, dead: Collection[str]) -> Tensor | None:
    """Return the tensor, or the outer tensor that it passes into a branch; None if it is computed inside."""
    while tensor.op in dead:
        if view.type(tensor.op) not in (*_SWITCHES, "Identity", "Cast"):
            return None
        tensor = view.inputs(tensor.op)[0]
    return tensor
