"""The function that a dataset maps over its elements: the ops that computed ids, extracted from the graph."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rewriter.graph.iterators import GETTERS, Element
from rewriter.graph.view import GraphView
from rewriter.pipeline.cones import CAPTURED
from rewriter.pipeline.facts import Inputs
from runtime import native


class Computed:
    """What the datasets of one family of iterators compute in addition, as a function of their elements."""

    def __init__(self, graph: tf.Graph, view: GraphView, family: Inputs) -> None:
        self._graph, self._family = graph, family
        self._definition = _definition(view, family)
        self._captured = list(_captured(view, family))

    @property
    def extends(self) -> bool:
        """Whether elements get additional components."""
        return bool(self._family.cuts)

    def applied(self, variant: tf.Tensor, element: Element) -> tf.Tensor:
        """Return the dataset `variant` with extended elements."""
        specs = tuple(map(tf.TensorSpec, element.shapes, element.types))
        dataset = tf.data.experimental.from_variant(variant, specs)
        extended = dataset.map(self._call, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        return tf.data.experimental.to_variant(extended.prefetch(tf.data.AUTOTUNE))

    def factory(self, one_shot: tf.Operation, element: Element) -> Any:
        """Return the factory function of a one-shot iterator, extended in the same way."""
        made = one_shot.get_attr("dataset_factory").name

        def extended() -> tf.Tensor:
            # TensorFlow would fold a stateless call without inputs into a constant, and a dataset cannot be one.
            (variant,) = tf.raw_ops.StatefulPartitionedCall(args=[], Tout=[tf.variant], f=made)
            return self.applied(variant, element)

        return tf.function(extended, autograph=False).get_concrete_function()

    def _call(self, *components: tf.Tensor) -> tuple[tf.Tensor, ...]:
        getters, cuts = self._family.getters, [str(cut) for cut in self._family.cuts]
        inputs = {f"{getter}:{i}": one for getter in getters for i, one in enumerate(components)}
        inputs |= {f"{op}:0": tf.identity(self._graph.get_tensor_by_name(f"{op}:0")) for op in self._captured}
        used = {name: tensor for name, tensor in inputs.items() if name in self._read}
        found = tf.graph_util.import_graph_def(self._definition, used, cuts, name="ids") if cuts else []
        element = [*components, *found]
        places = {cut: number for number, cut in enumerate(cuts, len(components))}
        for tensor in self._family.prepared:
            number = tensor.output if tensor.op in getters else places[str(tensor)]
            element[number] = native.ops().rec_prepare_keys(element[number])
        for tensor, instances in self._family.prefetched:
            number = tensor.output if tensor.op in getters else places[str(tensor)]
            element[number] = native.ops().rec_prefetch_keys(element[number], instances=instances)
        return tuple(element)

    @functools.cached_property
    def _read(self) -> set[str]:
        return {_full(name) for node in self._definition.node for name in node.input if not name.startswith("^")}


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _definition(view: GraphView, family: Inputs) -> Any:
    """Return the GraphDef of the computed ops with the constants they need, without devices and colocations."""
    ends = (*GETTERS, *CAPTURED)
    needed = view.ancestors(family.cuts, lambda op: view.type(op) in ends, controls=True)
    inside = {op for op in needed if view.type(op) not in ends}
    definition = tf.compat.v1.GraphDef()
    definition.versions.CopyFrom(view.definition.versions)
    definition.library.CopyFrom(view.definition.library)
    for name in inside:
        node = definition.node.add()
        node.CopyFrom(view.nodes[name])
        node.device = ""
        kept = [text for text in node.input if not text.startswith("^") or text[1:] in inside]
        del node.input[:]
        node.input.extend(kept)
        for attribute in ("_class", "_output_shapes"):
            node.attr.pop(attribute, None)
    return definition


def _captured(view: GraphView, family: Inputs) -> Iterator[str]:
    ends = (*GETTERS, *CAPTURED)
    for op in view.ancestors(family.cuts, lambda op: view.type(op) in ends, controls=True):
        if view.type(op) in CAPTURED:
            yield op
