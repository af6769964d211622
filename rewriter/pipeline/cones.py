"""Finds the ops that ids of lookups are computed from, and which of them a dataset can compute instead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from rewriter.graph.bodies import reached
from rewriter.graph.iterators import GETTERS
from rewriter.graph.view import GraphView, Tensor

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
#: Op types that pass a tensor into a v1 branch or loop.
ENTRANCES = ("Switch", "RefSwitch", "Enter", "RefEnter")
# Stateful by declaration, but equivalent in a dataset: assertions, and hash tables that are filled once.
_MOVABLE = frozenset(
    {"Assert", "HashTable", "HashTableV2", "LookupTableFind", "LookupTableFindV2", "LookupTableSizeV2"}
)
#: Op types that stay in the graph and are captured by a dataset's function.
CAPTURED = ("HashTableV2", "HashTable")


@dataclass(frozen=True)
class Origin:
    """Where ids come from: ops that read elements, or why a dataset cannot compute them, with the path to that op."""

    getters: frozenset[str]
    reason: str = ""
    path: tuple[str, ...] = ()


@dataclass
class Cone:
    """All ops that some tensors are computed from, back to elements of iterators, including control edges.

    `types_run` returns the types of the stateful ops that run when an op runs; `in_branch` says whether an op is inside
    a v1 tf.cond or tf.while_loop.
    """

    view: GraphView
    types_run: Callable[[str], set[str]]
    in_branch: Callable[[str], bool]
    _reasons: dict[str, tuple[str, str]] = field(default_factory=dict)  # op -> reason, and the op that prevents it
    _before: dict[str, str] = field(default_factory=dict)  # op -> the next op on the path to that one
    _getters: dict[str, frozenset[str]] = field(default_factory=dict)

    def explore(self, tensors: Iterable[Tensor]) -> None:
        """Walk back from tensors, visiting each op once, and find what reaches which op."""
        ops = self._ancestors(tensors)
        within = set(ops)
        faults = [(op, reason) for op in ops if (reason := self._fault(op))]
        for op, reason in faults:
            self._reasons.setdefault(op, (reason, op))
        for op, user in self._forward([op for op, _ in faults], within):
            if user not in self._reasons:
                self._reasons[user], self._before[user] = self._reasons[op], op
        for getter in (op for op in ops if self.view.type(op) in GETTERS):
            own = frozenset([getter])
            self._getters[getter] = own
            for _, user in self._forward([getter], within):
                self._getters[user] = self._getters.get(user, frozenset()) | own

    def origin(self, tensor: Tensor) -> Origin:
        """Return where an explored tensor comes from."""
        getters = self._getters.get(tensor.op, frozenset())
        if tensor.op not in self._reasons:
            return Origin(getters)
        reason, _ = self._reasons[tensor.op]
        return Origin(getters, reason, tuple(self._way(tensor.op)))

    def movable(self, op: str) -> bool:
        """Whether a dataset can compute `op` from its element and constants."""
        getters = self._getters.get(op, frozenset())
        return op not in self._reasons and len(getters) == 1 and self.view.type(op) not in GETTERS

    def computed(self, tensors: Iterable[Tensor]) -> list[str]:
        """Return the movable ops that explored tensors are computed from, nearest first."""
        ancestors = self._ancestors(tensors)
        return [op for op in ancestors if self.movable(op)]

    def behind(self, tensor: Tensor) -> list[str]:
        """Return all ops that an explored tensor is computed from."""
        return self._ancestors([tensor])

    def calls(self, op: str) -> bool:
        """Whether an op calls a function, or is a branch or loop in which one is called."""
        node, functions = self.view.nodes[op], self.view.functions
        inside = (one.op for name in reached([node], functions) for one in functions[name].node_def)
        return node.op in _CALLS or any(kind in _CALLS for kind in inside)

    def _ancestors(self, tensors: Iterable[Tensor]) -> list[str]:
        return self.view.ancestors(tensors, lambda op: self.view.type(op) in GETTERS, controls=True)

    def _forward(self, starts: Iterable[str], within: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield (op, op computed from it) breadth first, from `starts`; each op is reached once."""
        reached = dict.fromkeys(starts)
        pending = deque(reached)
        while pending:
            op = pending.popleft()
            for user in (*(use.op for use in self.view.users(op)), *self.view.waiting(op)):
                if user in within and user not in reached:
                    reached[user] = None
                    pending.append(user)
                    yield op, user

    def _fault(self, op: str) -> str:
        kind = self.view.type(op)
        if kind in GETTERS:
            return ""
        if kind in _PLACEHOLDERS:
            return f"`{op}` is fed, so its value is only known in the step"
        if self.in_branch(op):
            return f"`{op}` is inside a branch or loop of TensorFlow 1"
        stateful = sorted(self.types_run(op) - _MOVABLE)
        return f"{stateful[0]} `{op}` is stateful or random" if stateful else ""

    def _way(self, op: str) -> Iterator[str]:
        way = [op]
        while op in self._before:
            op = self._before[op]
            way.append(op)
        return reversed(way)
