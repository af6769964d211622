"""Finds which values differ from step to step: computed from feeds, dataset elements, queues or random numbers.

Values of variables do not count, nor do shapes: values computed from these alone are the same for the whole batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from rewriter.facts import VARIABLES
from rewriter.graph.bodies import CALLS, LOOPS, Body, called, is_condition
from rewriter.graph.view import Tensor

#: Op types whose output differs between runs, even with a seed that makes two sessions equal.
GIVERS = (
    *("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional"),
    *("QueueDequeue", "QueueDequeueV2", "QueueDequeueMany", "QueueDequeueManyV2", "QueueDequeueUpTo"),
    *("QueueDequeueUpToV2", "ReaderRead", "ReaderReadV2", "ReaderReadUpTo", "ReaderReadUpToV2", "Unstage"),
    *("PyFunc", "EagerPyFunc", "PyFuncStateless", "Timestamp"),
)
#: Op types whose output does not depend on values.
SHAPES = ("Shape", "ShapeN", "Size", "Rank", "VariableShape", "VarIsInitializedOp", "IsVariableInitialized")
_FED = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_DEEPEST = 10


@dataclass
class VaryingIn:
    """The ops of one body whose outputs vary by step, and single varying outputs of calls."""

    ops: set[str] = field(default_factory=set)
    outputs: set[Tensor] = field(default_factory=set)

    def __contains__(self, tensor: Tensor) -> bool:
        return tensor.op in self.ops or tensor in self.outputs


class Varying:
    """Answers which values vary by step, in the graph and in functions, by their varying arguments; with a cache."""

    def __init__(self, bodies: dict[str, Body], functions: dict[str, Any]) -> None:
        """Take the bodies of functions, by name."""
        self._bodies, self._functions = bodies, functions
        self._known: dict[tuple[str, frozenset[str]], VaryingIn] = {}

    def of(self, body: Body, arguments: Collection[str] = (), depth: int = 0) -> VaryingIn:
        """Return what varies in a body if these of its arguments do."""
        key = body.name, frozenset(arguments)
        if key not in self._known:
            self._known[key] = VaryingIn(set(arguments))  # ends the recursion of a function that calls itself
            self._known[key] = self._spread(body, arguments, depth)
        return self._known[key]

    def arguments(self, body: Body, op: str, function: Body, varying: VaryingIn) -> list[str]:
        """Return which arguments vary of a function that `op` calls.

        A dataset passes elements to its function, and a loop passes the values of the previous iteration.
        """
        inputs, kind = body.inputs(op), body.type(op)
        first = len(inputs) - len(function.arguments)
        own, loops = kind in CALLS or kind in self._functions, kind in LOOPS
        return [
            name
            for number, name in enumerate(function.arguments)
            if (not own if number + first < 0 else inputs[number + first] in varying)
            or (loops and Tensor(op, number) in varying)
        ]

    def _spread(self, body: Body, arguments: Collection[str], depth: int) -> VaryingIn:
        varying = VaryingIn(set(arguments))
        calls = [op for op in body.nodes if self._calls(body, op)]
        pending = deque([*arguments, *(op for op in body.nodes if _gives(body, op))])
        varying.ops.update(pending)
        pending.extend(op for op in calls if self._call(body, op, varying, depth))
        while pending:
            op = pending.popleft()
            for use in body.users(op):
                if (
                    body.inputs(use.op)[use.input] not in varying
                    or use.op in varying.ops
                    or body.type(use.op) in SHAPES
                ):
                    continue
                if self._calls(body, use.op):
                    if self._call(body, use.op, varying, depth):
                        pending.append(use.op)
                else:
                    varying.ops.add(use.op)
                    pending.append(use.op)
        return varying

    def _calls(self, body: Body, op: str) -> bool:
        kind = body.type(op)
        return (kind in CALLS or kind in self._functions) and bool(called(body, op, self._functions))

    def _call(self, body: Body, op: str, varying: VaryingIn, depth: int) -> bool:
        """Add the varying outputs of a call; return whether any is new. A loop may add more at each iteration."""
        before, size = len(varying.outputs), -1
        while size != len(varying.outputs):
            size = len(varying.outputs)
            for name in called(body, op, self._functions):
                varying.outputs |= {Tensor(op, number) for number in self._results(body, op, name, varying, depth)}
            if body.type(op) not in LOOPS:
                break
        return len(varying.outputs) > before

    def _results(self, body: Body, op: str, name: str, varying: VaryingIn, depth: int) -> Iterable[int]:
        """Return the numbers of a call's outputs that vary because of one of its functions."""
        function, loops = self._bodies[name], body.type(op) in LOOPS
        if loops and is_condition(body, op, name):
            return ()
        if depth >= _DEEPEST:
            return range(len(function.results))
        inside = self.of(function, self.arguments(body, op, function, varying), depth + 1)
        return (number for number, result in enumerate(function.results) if result in inside)


def _gives(body: Body, op: str) -> bool:
    """Whether an op is a source of data. Scalar floats and bools are settings of a step: a rate, `is_training`."""
    node, kind = body.nodes[op], body.type(op)
    if kind in VARIABLES:
        held = tf.as_dtype(node.attr["dtype"].type)
        return not held.is_floating and tf.TensorShape(node.attr["shape"].shape).rank != 0
    if kind in _FED:
        held = tf.as_dtype(node.attr["dtype"].type)
        return held.is_integer or held == tf.string or _rank(body, op) != 0
    return kind in GIVERS or ("seed" in node.attr and _rank(body, op) != 0)


def _rank(body: Body, op: str) -> int | None:
    known = body.shape(Tensor(op)).rank
    if known is None and "shape" in body.nodes[op].attr:
        known = tf.TensorShape(body.nodes[op].attr["shape"].shape).rank
    return None if known is None else int(known)
