"""`move_ids`: plans the id pipeline of a live graph, applies the plan and checks the result."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.apply.edges import edit_controls, edit_input
from rewriter.checks.invariants import RewriteError, check
from rewriter.graph.iterators import GETTERS, MAKERS, Element, element_of
from rewriter.graph.source_trace import sources_of
from rewriter.graph.view import GraphView, Tensor, uncollected
from rewriter.pipeline.author import note_getter
from rewriter.pipeline.cones import CAPTURED
from rewriter.pipeline.facts import Inputs
from rewriter.pipeline.lookups import lookups_of
from rewriter.pipeline.plan import SCOPE, PipelinePlan, plan_pipeline
from runtime import native


@uncollected()
def move_ids(
    graph: tf.Graph | None = None,
    dry_run: bool = False,
    view: GraphView | None = None,
    op_types: Collection[str] = (),
    prefetch: bool = True,
    feedable: bool = False,
) -> PipelinePlan:
    """Let the datasets of `graph` (default: the current one) compute the ids that tables look up, ahead of the step.

    For tables with storage tiers below memory (`create_table(storage=...)`), datasets also read the rows of the ids
    ahead.

    Args:
        graph: a v1 graph whose first session has not started.
        dry_run: return the plan without changing the graph.
        view: a view of the graph in its current state, if available; creating one takes time.
        op_types: move only ids that depend on an op of one of these types; by default, all that can move.
        prefetch: whether rows are read ahead.
        feedable: whether what datasets compute may still be fed, as the caller passes it on to what reads it.

    Returns:
        The plan: the lookups whose ids moved, and why those of others did not.

    Raises:
        RuntimeError: the graph is finalized.
        RewriteError: the resulting graph would be wrong; the changes were undone.
    """
    graph = graph or tf.compat.v1.get_default_graph()
    lookups, staying = lookups_of(graph)
    if not prefetch:
        lookups = [dataclasses.replace(one, tiered="") for one in lookups]
    lines = functools.partial(sources_of, graph)
    if not lookups:
        return PipelinePlan(staying=tuple(staying)).with_sources(lines)
    before = view or GraphView.of(graph)
    plan = plan_pipeline(
        before,
        lookups,
        lambda op: _tf_private.stateful_types(graph.get_operation_by_name(op)),
        lambda op: _tf_private.in_control_flow(graph.get_operation_by_name(op)),
        lambda tensor: _carried(graph, tensor),
        staying,
        op_types,
    ).with_sources(lines)
    if dry_run or not plan.extended:
        return plan
    undo = _apply(graph, before, plan)
    try:
        check(before, GraphView.of(graph), plan)
    except RewriteError:
        undo.close()
        raise
    for op in () if feedable else plan.replaced():
        for tensor in graph.get_operation_by_name(op).outputs:
            graph.prevent_feeding(tensor)  # a plain session has no hook to explain it
    return plan


def _carried(graph: tf.Graph, tensor: Tensor) -> bool:
    return graph.get_tensor_by_name(str(tensor)).dtype not in (tf.resource, tf.variant)


def _apply(graph: tf.Graph, view: GraphView, plan: PipelinePlan) -> contextlib.ExitStack:
    if graph.finalized:
        raise RuntimeError(
            "the graph is finalized: call this before the session starts, or use GraphModifierHook, which does "
            "it in `begin`"
        )
    undo = contextlib.ExitStack()
    with graph.as_default(), tf.device(None), tf.control_dependencies(None), undo:
        parts = _PipelineParts(graph, view, plan)
        _tf_private.replace_iterators(graph, parts.iterators, undo)
        for edit in plan.inputs:
            edit_input(graph, edit, parts.tensor(edit.by), undo)
        edit_controls(graph, ((wait, parts.op(wait.by)) for wait in plan.controls), undo)
        return undo.pop_all()


class _PipelineParts:
    """The ops that a plan needs, built in the graph, by the plan's part names.

    The program's own names still work: `iterator.initializer` initializes the extended iterator, and its string handle
    is that of the extended one. The op that the program reads elements from is fed by an iterator of a single element
    (the echo), which is the element that the extended iterator returned in this step; it runs only if it is fetched.
    """

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
        tensor = self._parts[part]
        return tensor.op if isinstance(tensor, tf.Tensor) else tensor

    def _extend(self, family: Inputs) -> None:
        element = element_of(self._view, family.getters[0])
        cuts = [self._graph.get_tensor_by_name(str(cut)) for cut in family.cuts]
        function = _Computed(self._graph, self._view, family)
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

    def _source(self, op: str, extended: Element, function: _Computed) -> None:
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
            maker = tf.raw_ops.MakeIterator(dataset=element, iterator=echo)
        self._parts |= {f"{getter}/{number}": output for number, output in enumerate(outputs)}
        note_getter(self._graph, outputs[0].op.name, getter, old.inputs[0].op.name)
        self._parts |= {f"{getter}/next": outputs[0].op, f"{getter}/echo": echo, f"{getter}/echo/made": maker}


def _extended(element: Element, cuts: Sequence[tf.Tensor]) -> Element:
    types, shapes = (cut.dtype for cut in cuts), (cut.shape for cut in cuts)
    return Element((*element.types, *types), (*element.shapes, *shapes))


def _extended_name(shared: bytes) -> str:
    return shared.decode() + "_with_ids" if shared else ""


@contextlib.contextmanager
def _name_scope(name: str) -> Iterator[None]:
    with tf.name_scope(name):
        yield


class _Computed:
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
        factory_name = one_shot.get_attr("dataset_factory").name

        def extended() -> tf.Tensor:
            # TensorFlow would fold a stateless call without inputs into a constant, and a dataset cannot be one.
            (variant,) = tf.raw_ops.StatefulPartitionedCall(args=[], Tout=[tf.variant], f=factory_name)
            return self.applied(variant, element)

        return tf.function(extended, autograph=False).get_concrete_function()

    def _call(self, *components: tf.Tensor) -> tuple[tf.Tensor, ...]:
        getters, cuts = self._family.getters, [str(cut) for cut in self._family.cuts]
        inputs = {f"{getter}:{i}": one for getter in getters for i, one in enumerate(components)}
        inputs |= {f"{op}:0": tf.identity(self._graph.get_tensor_by_name(f"{op}:0")) for op in self._captured}
        used = {name: tensor for name, tensor in inputs.items() if name in self._read}
        computed = tf.graph_util.import_graph_def(self._definition, used, cuts, name="ids") if cuts else []
        element = [*components, *computed]
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
