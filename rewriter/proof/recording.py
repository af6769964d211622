"""A recording: the inputs of each step, so that it can run again without iterators, queues and Python functions.

What a run needs, and what may not run in it, is told of a graph by its edges.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter._tf_private_sessions import elements_of
from rewriter.flow.varying import GIVERS
from rewriter.graph.view import GraphView, Tensor

__all__ = [
    "GIVERS", "Recording", "Sources", "Step", "alive", "fed_values", "fetch_names", "maybe_dead", "needed", "op_of",
    "tensor_of",
]  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One run: names of its fetches (ops, or tensors `op:0`), and the values of all inputs, by tensor."""

    fetches: tuple[str, ...]
    feeds: Mapping[str, Any]
    looks_up: bool = True  #: whether it looks rows up, as a step does; a read of the global step does not


@dataclass(frozen=True)
class Recording:
    """The runs of a training in order; all of them run again, since each may write variables."""

    steps: tuple[Step, ...]


class Sources:
    """Finds the tensors of a graph that must be recorded for a run of given fetches."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._found: dict[tuple[frozenset[str], frozenset[str]], tuple[str, ...]] = {}

    def of(self, fetches: Iterable[str], fed: Collection[str]) -> tuple[str, ...]:
        """Return the tensors to record, besides those that are fed; fetches that are not in the graph are ignored.

        Raises:
            ValueError: one is in a branch or loop, where it cannot be fetched.
        """
        key = frozenset(one for one in fetches if op_of(one) in self._view), frozenset(fed)
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def _search(self, fetches: Collection[str], fed: Collection[str]) -> tuple[str, ...]:
        ops = needed(self._view, fetches, fed)
        sources: dict[str, None] = {}
        for op in (one for one in ops if self._gives(one)):
            for tensor in self._read(op, ops):
                if str(tensor) not in fed:
                    sources[str(tensor)] = None
        # A source that depends on another recorded one does not run again: its inputs need not be recorded.
        reached = needed(self._view, fetches, {*fed, *sources})
        kept = tuple(name for name in sources if any(use.op in reached for use in self._uses(name)))
        for name in kept:
            if name.partition(":")[0] in self._dead:
                raise ValueError(
                    f"`{name}` reads data inside a branch or loop of the graph: read it outside, before the branch "
                    "or loop"
                )
        return kept

    def _uses(self, name: str) -> Iterable[Any]:
        op, _, output = name.partition(":")
        return self._view.uses(Tensor(op, int(output)))

    def _read(self, op: str, ops: Collection[str]) -> Iterable[Tensor]:
        """Return the outputs of a source that the ops read; if one is not an array, the results of its readers."""
        for use in self._view.users(op):
            if use.op not in ops:
                continue
            tensor = self._view.inputs(use.op)[use.input]
            if self._opaque(tensor):
                yield from self._read(use.op, ops)
            else:
                yield tensor

    def _opaque(self, tensor: Tensor) -> bool:
        types = self._view.attribute(tensor.op, "output_types").list.type
        types = types or self._view.attribute(tensor.op, "component_types").list.type
        kind = types[tensor.output] if tensor.output < len(types) else 0
        return kind in (tf.variant.as_datatype_enum, tf.resource.as_datatype_enum)

    def _gives(self, op: str) -> bool:
        if self._view.type(op) in GIVERS:
            return True
        value = self._view.nodes[op].attr
        return any(name in self._giving for one in value.values() for name in _functions(one))

    @functools.cached_property
    def _giving(self) -> set[str]:
        """The functions that run a source, or call a function that does."""
        functions = self._view.functions
        nodes = {name: list(one.node_def) for name, one in functions.items()}
        giving = {name for name, body in nodes.items() if any(node.op in GIVERS for node in body)}
        while True:
            more = {
                name
                for name, body in nodes.items()
                if any(called in giving for node in body for one in node.attr.values() for called in _functions(one))
            }
            if more <= giving:
                return giving
            giving |= more

    @functools.cached_property
    def _dead(self) -> set[str]:
        return maybe_dead(self._view)


def _functions(value: Any) -> list[str]:
    return [one.name for one in (value.func, *value.list.func) if one.name]


def fetch_names(graph: tf.Graph, fetches: Any) -> tuple[str, ...]:
    """Return the names of the ops and tensors that a session computes for a structure of fetches.

    Raises:
        ValueError, TypeError: a session refuses one.
    """
    return tuple(dict.fromkeys(element.name for element in elements_of(graph, fetches)))


def fed_values(feeds: Mapping[Any, Any] | None) -> dict[str, Any]:
    """Return the values of a feed_dict by tensor name; sparse and ragged values are split into their tensors."""
    fed: dict[str, Any] = {}
    for key, value in (feeds or {}).items():
        tensors = tf.nest.flatten(key, expand_composites=True)
        if isinstance(key, tf.SparseTensor):
            values = [*value]  # its parts may be lists
        else:
            values = [value] if len(tensors) == 1 else tf.nest.flatten(value, expand_composites=True)
        for tensor, part in zip(tensors, values, strict=True):
            name = tensor if isinstance(tensor, str) else tensor.name
            fed[name if ":" in name else f"{name}:0"] = np.asarray(part)
    return fed


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
    ops: dict[str, None] = {}
    pending = deque(op_of(name) for name in names if name not in fed)
    while pending:
        op = pending.popleft()
        if op in ops:
            continue
        ops[op] = None
        pending.extend(tensor.op for tensor in view.inputs(op) if str(tensor) not in fed)
        pending.extend(view.controls(op))
    return ops


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
