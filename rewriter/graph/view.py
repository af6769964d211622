"""A read-only view of a GraphDef: nodes, data and control edges and their consumers, indexed once."""

from __future__ import annotations

import contextlib
import functools
import gc
import operator
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rewriter import _tf_private

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Mul": operator.mul,
    "Add": operator.add,
    "AddV2": operator.add,
    "Sub": operator.sub,
    "FloorDiv": lambda x, y: x // y if y else None,
    "FloorMod": lambda x, y: x % y if y else None,
}


#: Ops with at least this many users (such as a RestoreV2) get an index of their users by output.
_MANY = 16


class Tensor(NamedTuple):
    """An output of an op."""

    op: str
    output: int = 0

    def __str__(self) -> str:
        return f"{self.op}:{self.output}"


class Use(NamedTuple):
    """A data input of an op."""

    op: str
    input: int


class GraphView:
    """Read access to a GraphDef by name. Memory and time are linear in nodes and edges."""

    def __init__(self, definition: Any) -> None:
        """Index `definition`, a GraphDef.

        Raises:
            ValueError: two nodes have the same name, or an input names an op that does not exist.
        """
        #: Enter ops of loops that cannot be extended; only known for a live graph.
        self.closed: frozenset[str] = frozenset()
        #: The initializer op of each variable of a live graph.
        self.initializers: dict[str, str] = {}
        #: Variables of a live graph that a strategy copies to replicas: the strategy and the number of replicas.
        self.copied: dict[str, tuple[str, int]] = {}
        with uncollected():
            self._build(definition)

    def _build(self, definition: Any) -> None:
        self.definition = definition
        self.nodes: dict[str, Any] = {node.name: node for node in definition.node}
        if len(self.nodes) != len(definition.node):
            raise ValueError("the graph has two nodes with one name: it was not exported by TensorFlow")
        self._inputs: dict[str, tuple[Tensor, ...]] = {}
        self._controls: dict[str, tuple[str, ...]] = {}
        self._users: dict[str, list[Use]] = {name: [] for name in self.nodes}
        self._by_output: dict[str, dict[Tensor, list[Use]]] = {}
        self._texts: dict[str, list[str]] = {}
        self._numbers: dict[str, Any] = {}
        self._waiting: dict[str, list[str]] = {name: [] for name in self.nodes}
        for node in definition.node:
            self._index(node)

    def _index(self, node: Any) -> None:
        data, controls = [], []
        for text in node.input:
            if text.startswith("^"):
                controls.append(text[1:])
            else:
                op, _, output = text.partition(":")
                data.append(Tensor(op, int(output or 0)))
        self._inputs[node.name], self._controls[node.name] = tuple(data), tuple(controls)
        try:
            for number, tensor in enumerate(data):
                self._users[tensor.op].append(Use(node.name, number))
            for op in controls:
                self._waiting[op].append(node.name)
        except KeyError as error:
            raise ValueError(f"`{node.name}` reads `{error.args[0]}`, which is not in the graph") from None

    @classmethod
    def of(cls, graph: tf.Graph) -> GraphView:
        """Return the view of a live graph, static shapes included."""
        view = cls(graph.as_graph_def(add_shapes=True))
        view.closed = _tf_private.closed_loops(graph)
        variables = graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)
        # The initializer of a ref variable is a tensor, the output of the op.
        pairs = ((one.op.name, one.initializer) for item in variables for one in _tf_private.parts_of(item))
        view.initializers = {name: getattr(op, "op", op).name for name, op in pairs if op is not None}
        strategies = ((item, _tf_private.strategy_of(item)) for item in variables)
        view.copied = {
            part.op.name: found for item, found in strategies if found[1] > 1 for part in _tf_private.parts_of(item)
        }
        return view

    def __contains__(self, op: str) -> bool:
        return op in self.nodes

    def type(self, op: str) -> str:
        """Return the type of an op, such as `MatMul`."""
        return str(self.nodes[op].op)

    def of_type(self, *types: str) -> list[str]:
        """Return the ops of these types, in graph order."""
        return [name for kind in types for name in self._by_type.get(kind, [])]

    @functools.cached_property
    def _by_type(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for name, node in self.nodes.items():
            names.setdefault(node.op, []).append(name)
        return names

    def inputs(self, op: str) -> tuple[Tensor, ...]:
        """Return the tensors that `op` reads, in order."""
        return self._inputs[op]

    def controls(self, op: str) -> tuple[str, ...]:
        """Return the ops that `op` has as control inputs."""
        return self._controls[op]

    def uses(self, tensor: Tensor) -> Sequence[Use]:
        """Return every data input that reads `tensor`, once per input."""
        users = self._users[tensor.op]
        if len(users) < _MANY:
            return [use for use in users if self._inputs[use.op][use.input] == tensor]
        if tensor.op not in self._by_output:
            by_output = self._by_output.setdefault(tensor.op, {})
            for use in users:
                by_output.setdefault(self._inputs[use.op][use.input], []).append(use)
        return self._by_output[tensor.op].get(tensor, [])

    def users(self, op: str) -> Sequence[Use]:
        """Return every data input that reads any output of `op`."""
        return self._users[op]

    def waiting(self, op: str) -> Sequence[str]:
        """Return the ops with `op` as a control input."""
        return self._waiting[op]

    def attribute(self, op: str, name: str) -> Any:
        """Return an attribute as AttrValue; an empty one if the node does not have it."""
        return self.nodes[op].attr[name] if name in self.nodes[op].attr else tf.compat.v1.AttrValue()

    def shape(self, tensor: Tensor) -> tf.TensorShape:
        """Return the static shape; unknown if the graph was exported without shapes."""
        shapes = self.attribute(tensor.op, "_output_shapes").list.shape
        return tf.TensorShape(shapes[tensor.output]) if tensor.output < len(shapes) else tf.TensorShape(None)

    def texts(self, op: str) -> Sequence[str] | None:
        """Return the strings of a Const, cached since a Saver's are long; None for an op of another type."""
        if self.type(op) != "Const":
            return None
        if op not in self._texts:
            values: Any = tf.make_ndarray(self.nodes[op].attr["value"].tensor)
            self._texts[op] = [text.decode() for text in values.ravel()]
        return self._texts[op]

    def number(self, tensor: Tensor) -> Any:
        """Return the number that all elements of a tensor are equal to, without running ops; None if unknown.

        It understands Const, Fill, Identity and arithmetic, of which initializers, axes and settings are made. Answers
        are cached, since ops of equal inputs make many ways to one, and ways may be longer than Python's stack.
        """
        pending, entered = [tensor], set[str]()
        while pending:
            op = pending[-1].op
            left = [operand for operand in self._operands(op) if operand.op not in self._numbers]
            if op in self._numbers:
                pending.pop()
            elif op in entered or not left:
                self._numbers[op] = self._number(op)
            else:
                entered.add(op)
                pending += left
        return self._numbers[tensor.op]

    def _operands(self, op: str) -> Sequence[Tensor]:
        """Return the inputs whose numbers tell that of an op."""
        kind, inputs = self.type(op), self.inputs(op)
        if kind in ("Identity", "StopGradient"):
            return inputs[:1]
        if kind == "Fill":
            return inputs[1:]
        return inputs if kind in _ARITHMETIC else ()

    def _number(self, op: str) -> Any:
        if self.type(op) == "Const":
            return _one_number(self.nodes[op].attr["value"].tensor)
        numbers = [self._numbers.get(operand.op) for operand in self._operands(op)]
        if not numbers or None in numbers:
            return None
        return _ARITHMETIC[self.type(op)](*numbers) if self.type(op) in _ARITHMETIC else numbers[0]

    def behind(self, tensor: Tensor, types: Container[str]) -> Tensor:
        """Return the tensor that ops of these types, whose first input is what they give, have handed on."""
        while self.type(tensor.op) in types:
            tensor = self._inputs[tensor.op][0]
        return tensor

    def ancestors(
        self, tensors: Iterable[Tensor], stop: Callable[[str], bool] = lambda _: False, controls: bool = False
    ) -> list[str]:
        """Return the ops that the tensors are computed from, nearest first; the search ends where `stop` is true.

        With `controls`, control inputs are followed, too.
        """

        def before(op: str) -> Iterator[str]:
            yield from (tensor.op for tensor in self._inputs[op])
            yield from self._controls[op] if controls else ()

        return _reached((tensor.op for tensor in tensors), before, stop)

    def descendants(self, ops: Iterable[str], stop: Callable[[str], bool] = lambda _: False) -> list[str]:
        """Return `ops` and all ops that depend on them by data or control edges, nearest first, up to `stop`."""
        return _reached(ops, lambda op: [*(use.op for use in self.users(op)), *self._waiting[op]], stop)

    def path(self, start: str, end: str) -> list[str]:
        """Return the ops of a shortest path along data edges from `start` to `end`; empty if there is none."""
        before: dict[str, str] = {start: start}
        pending = deque([start])
        while pending and end not in before:
            op = pending.popleft()
            for use in self.users(op):
                if use.op not in before:
                    before[use.op] = op
                    pending.append(use.op)
        return list(_walk_back(before, start, end))[::-1] if end in before else []

    @functools.cached_property
    def functions(self) -> dict[str, Any]:
        """The FunctionDefs of the graph's library, by name."""
        return {one.signature.name: one for one in self.definition.library.function}


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Disable the garbage collector, which would traverse all of a large graph again and again as objects are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _one_number(constant: Any) -> Any:
    """Return the number that a TensorProto repeats; it may store one value for all elements."""
    single = type(constant)()
    single.CopyFrom(constant)
    if not constant.tensor_content:
        single.tensor_shape.CopyFrom(tf.TensorShape([_given(constant)]).as_proto())
    values = tf.make_ndarray(single)
    return values.flat[0] if values.size and bool((values == values.flat[0]).all()) else None


def _given(constant: Any) -> int:
    """Count the values that a TensorProto stores, in whichever of its fields; no value means a single zero."""
    return max(1, *(len(value) for field, value in constant.ListFields() if field.name.endswith("_val")), 1)


def _walk_back(before: dict[str, str], start: str, end: str) -> Iterator[str]:
    op = end
    while op != start:
        yield op
        op = before[op]
    yield start


def _reached(ops: Iterable[str], steps: Callable[[str], Iterable[str]], stop: Callable[[str], bool]) -> list[str]:
    """Return the ops and all that steps lead to from them, nearest first, but for those behind one where `stop` is."""
    reached: dict[str, None] = {}
    pending = deque(ops)
    while pending:
        op = pending.popleft()
        if op not in reached:
            reached[op] = None
            pending.extend(steps(op) if not stop(op) else ())
    return list(reached)
