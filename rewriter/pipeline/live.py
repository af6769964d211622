"""Extends the datasets of a live tf.Graph as the plan of an id pipeline says.

The program's own names still work: `iterator.initializer` initializes the extended iterator, and its string handle is
that of the extended one. The op that the program reads elements from is fed by an iterator of a single element (the
echo), which is the element that the extended iterator returned in this step; it runs only if it is fetched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.graph.iterators import MAKERS, Element, element_of
from rewriter.graph.view import GraphView
from rewriter.pipeline.author import note_getter
from rewriter.pipeline.computed import Computed
from rewriter.pipeline.facts import Inputs
from rewriter.pipeline.plan import SCOPE, PipelinePlan


class PipelineParts:
    """The ops that a plan needs, built in the graph, by the plan's part names."""

    def __init__(self, graph: tf.Graph, view: GraphView, plan: PipelinePlan) -> None:
        self._graph, self._view = graph, view
        self._parts: dict[str, Any] = {}
        with _name_scope(SCOPE):
            for family in plan.extended:
                self._extend(family)

    @property
    def iterators(self) -> dict[str, tf.Tensor]:
        """The new iterators, by the names of those that they replace."""
        ending = "/iterator"
        return {part[: -len(ending)]: made for part, made in self._parts.items() if part.endswith(ending)}

    def tensor(self, part: str) -> tf.Tensor:
        """Return a part that is a tensor."""
        return self._parts[part]

    def op(self, part: str) -> tf.Operation:
        """Return the op of a part."""
        found = self._parts[part]
        return found.op if isinstance(found, tf.Tensor) else found

    def _extend(self, family: Inputs) -> None:
        element = element_of(self._view, family.getters[0])
        cuts = [self._graph.get_tensor_by_name(str(cut)) for cut in family.cuts]
        function = Computed(self._graph, self._view, family)
        for op in family.sources:
            self._source(op, _extended(element_of(self._view, op), cuts), function)
        if not cuts:
            return
        for op in family.handles:
            old = self._graph.get_operation_by_name(op)
            extended = _extended(element_of(self._view, op), cuts)
            self._parts[f"{op}/iterator"] = tf.raw_ops.IteratorFromStringHandleV2(
                string_handle=old.inputs[0], output_types=extended.types, output_shapes=extended.shapes
            )
        for getter in family.getters:
            self._getter(getter, _extended(element_of(self._view, getter), cuts), len(element.types))

    def _source(self, op: str, extended: Element, function: Computed) -> None:
        old = self._graph.get_operation_by_name(op)
        names = {"container": old.get_attr("container"), "shared_name": _extended_name(old.get_attr("shared_name"))}
        kinds = {"output_types": extended.types, "output_shapes": extended.shapes}
        with tf.device(old.device):
            if old.type == "OneShotIterator":
                factory = function.factory(old, element_of(self._view, op))
                self._parts[f"{op}/iterator"] = tf.raw_ops.OneShotIterator(dataset_factory=factory, **kinds, **names)
                return
            if function.extends:
                self._parts[f"{op}/iterator"] = tf.raw_ops.IteratorV2(**kinds, **names)
            for use in self._view.users(op):
                if self._view.type(use.op) in MAKERS:
                    variant = self._graph.get_operation_by_name(use.op).inputs[0]
                    self._parts[f"{use.op}/dataset"] = function.applied(variant, element_of(self._view, op))

    def _getter(self, getter: str, extended: Element, count: int) -> None:
        """Read the extended element, and echo to the old getter what it read before."""
        old = self._graph.get_operation_by_name(getter)
        source = self._parts[f"{old.inputs[0].op.name}/iterator"]
        with _tf_private.control_flow_of(old), tf.device(old.device):
            with tf.control_dependencies(old.control_inputs):
                outputs = tf.raw_ops.IteratorGetNext(
                    iterator=source, output_types=extended.types, output_shapes=extended.shapes
                )
            own = element_of(self._view, getter)
            echo = tf.raw_ops.IteratorV2(shared_name="", container="", output_types=own.types, output_shapes=own.shapes)
            element = tf.raw_ops.TensorDataset(components=outputs[:count], output_shapes=own.shapes)
            made = tf.raw_ops.MakeIterator(dataset=element, iterator=echo)
        self._parts |= {f"{getter}/{number}": output for number, output in enumerate(outputs)}
        note_getter(self._graph, outputs[0].op.name, getter, old.inputs[0].op.name)
        self._parts |= {f"{getter}/next": outputs[0].op, f"{getter}/echo": echo, f"{getter}/echo/made": made}


def _extended(element: Element, cuts: Sequence[tf.Tensor]) -> Element:
    types, shapes = (cut.dtype for cut in cuts), (cut.shape for cut in cuts)
    return Element((*element.types, *types), (*element.shapes, *shapes))


def _extended_name(shared: bytes) -> str:
    return shared.decode() + "_with_ids" if shared else ""


@contextlib.contextmanager
def _name_scope(name: str) -> Iterator[None]:
    with tf.name_scope(name):
        yield
