"""One of the two graphs in a session of its own, with the same initial values and the recorded inputs."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rewriter.analysis.candidates import VARIABLES
from rewriter.analysis.savers import restored_by
from rewriter.graph.iterators import GETTERS
from rewriter.graph.view import GraphView, Tensor
from rewriter.graph.vocabularies import fills_of
from rewriter.pipeline import PipelinePlan
from rewriter.proof.recording import Sources
from runtime import native

__all__ = ["Side", "elements", "fillers"]

v1 = tf.compat.v1

_ASSIGNMENTS = ("AssignVariableOp", "Assign")
_JOB = re.compile(r"/(job|replica|task):[^/]*")


class Side:
    """A GraphDef imported into a tf.Graph of its own, and its sessions, one at a time.

    Random ops without a seed get one that depends on their name: two graphs draw the same numbers, whatever branch or
    function they are in, and draws need not be recorded.
    """

    def __init__(self, definition: Any, gone: Collection[str] = ()) -> None:
        """Import a GraphDef; the variables `gone` have become tables and are not initialized."""
        native.ops()
        self.definition = definition
        self.view = GraphView(definition)
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.import_graph_def(_seeded(definition), name="")
        self._gone = frozenset(gone)
        self._session: Any = None
        self._readers: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        op, _, output = name.partition(":")
        return op in self.view and (not output or int(output) < len(self.graph.get_operation_by_name(op).outputs))

    def start(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a new session with initial values; return the recorded inputs of these, to feed to the other side."""
        self.close()
        self._session = v1.Session(graph=self.graph, config=v1.ConfigProto(allow_soft_placement=True))
        self._session.run([self.graph.get_operation_by_name(op) for op in fills_of(self.view)])
        feeds = self._known(feeds)
        recorded = Sources(self.view).of(self._initializers, feeds)
        values = self._session.run([*recorded, *map(self.graph.get_operation_by_name, self._initializers)], feeds)
        return {**feeds, **dict(zip(recorded, values, strict=False))}

    def fill_iterators(self) -> None:
        """Run the op that attaches a dataset to each iterator; of several, the first."""
        self._session.run([self.graph.get_operation_by_name(op) for op in fillers(self.view)])

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Any], wanted: Iterable[str] = ()) -> dict[str, Any]:
        """Run a step, and return the tensors `wanted`, by name."""
        names = list(dict.fromkeys(wanted))
        elements = [self.graph.as_graph_element(one) for one in (*filter(self.__contains__, fetches), *names)]
        values = self._session.run(elements, self._known(feeds))
        return dict(zip(names, values[len(elements) - len(names) :], strict=True))

    def evaluate(self, tensors: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Run tensors of this graph."""
        return self._session.run(tensors, feeds)

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the values of variables, in one run, because each set of fetches costs the session an executor."""
        return dict(
            self.evaluate({name: self._reader("read", name, lambda name=name: self._read(name)) for name in names})
        )

    def variable(self, name: str) -> Any:
        """Return the value of a variable."""
        return self.values([name])[name]

    def rows(self, name: str, keys: Any) -> Any:
        """Return the rows `keys` of a variable."""
        tensor, fed = self._reader("rows", name, lambda: self._gather(name))
        return self.evaluate(tensor, {fed: keys})

    def snapshot(self, handle: str) -> tuple[Any, Any, Any, Any]:
        """Return keys [n], values [n, dim], slots [n, slots * dim] and metadata of the table with this handle."""
        return tuple(self.evaluate(self._reader("snapshot", handle, lambda: self._snapshot(handle))))  # type: ignore[return-value]

    @functools.cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables with an initial value."""
        return tuple(self._assigned)

    @functools.cached_property
    def _assigned(self) -> dict[str, str]:
        """The op that initializes each variable: the one with TensorFlow's name for it, or the only assignment."""
        initializers = {}
        for name in self.view.of_type(*VARIABLES):
            assigned = [
                use.op
                for use in self.view.users(name)
                if use.input == 0 and self.view.type(use.op) in _ASSIGNMENTS and not restored_by(self.view, use.op)
            ]
            usual = f"{name}/Assign"
            if name not in self._gone and assigned:
                initializers[name] = usual if usual in assigned else assigned[0]
        return initializers

    @functools.cached_property
    def _initializers(self) -> list[str]:
        return list(self._assigned.values())

    def _known(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in feeds.items() if name in self}

    def _reader(self, what: str, name: str, make: Any) -> Any:
        """Return tensors that read state; they are cached and are the only additions to the graph."""
        key = f"{what} {name}"
        if key not in self._readers:
            with self.graph.as_default(), tf.device("/device:CPU:0"):
                self._readers[key] = make()
        return self._readers[key]

    def _read(self, name: str) -> tf.Tensor:
        tensor = self.graph.get_tensor_by_name(f"{name}:0")
        if tensor.dtype != tf.resource:
            return tf.identity(tensor)
        return tf.raw_ops.ReadVariableOp(resource=tensor, dtype=self.view.attribute(name, "dtype").type)

    def _gather(self, name: str) -> tuple[tf.Tensor, tf.Tensor]:
        tensor, keys = self.graph.get_tensor_by_name(f"{name}:0"), v1.placeholder(tf.int64, [None])
        if tensor.dtype != tf.resource:
            return tf.gather(tensor, keys), keys
        kind = self.view.attribute(name, "dtype").type
        return tf.raw_ops.ResourceGather(resource=tensor, indices=keys, dtype=kind), keys

    def _snapshot(self, handle: str) -> Any:
        tensor = self.graph.get_tensor_by_name(f"{handle}:0")
        return native.ops().rec_table_snapshot(tf.raw_ops.ReadVariableOp(resource=tensor, dtype=tf.int64))


def _seeded(definition: Any) -> Any:
    """Return a copy in which all random ops have a seed, and devices are those of this process."""
    copy = tf.compat.v1.GraphDef()
    copy.CopyFrom(definition)
    bodies = [("", copy.node), *((one.signature.name, one.node_def) for one in copy.library.function)]
    for scope, nodes in bodies:
        for node in nodes:
            node.device = _JOB.sub("", node.device)
            # Exported shapes are dropped and inferred anew.
            if "_output_shapes" in node.attr:
                del node.attr["_output_shapes"]
            if "seed" in node.attr and "seed2" in node.attr and not (node.attr["seed"].i or node.attr["seed2"].i):
                node.attr["seed"].i = zlib.crc32(f"{scope}/{node.name}".encode()) or 1
    return copy


_MAKER = "MakeIterator"


def elements(view: GraphView, pipeline: PipelinePlan | None) -> dict[Tensor, Tensor]:
    """Return a map from tensors of elements, or tensors that datasets compute now, to those of the rewritten graph.

    An op that read an element before reads its echo: an iterator over the single element that the new op returned.
    """
    counterparts: dict[Tensor, Tensor] = {}
    for maker in view.of_type(_MAKER):
        dataset, iterator = view.inputs(maker)
        if view.type(dataset.op) != "TensorDataset":
            continue
        for use in view.users(iterator.op):
            pairs = enumerate(view.inputs(dataset.op)) if view.type(use.op) in GETTERS else ()
            counterparts |= {Tensor(use.op, i): one for i, one in pairs if view.type(one.op) in GETTERS}
    for edit in pipeline.inputs if pipeline else ():
        getter, _, number = edit.by.rpartition("/")
        if Tensor(getter) in counterparts and number.isdigit():
            op, _, output = edit.old.partition(":")
            counterparts[Tensor(op, int(output))] = Tensor(counterparts[Tensor(getter)].op, int(number))
    return counterparts


def fillers(view: GraphView) -> list[str]:
    """Return the op that attaches a dataset to each iterator (the first of several), except those of echoes."""
    makers: dict[Tensor, str] = {}
    for maker in view.of_type(_MAKER):
        dataset, iterator = view.inputs(maker)
        if not any(view.type(op) in GETTERS for op in view.ancestors([dataset])):
            makers.setdefault(iterator, maker)
    return list(makers.values())
