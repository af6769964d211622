"""Shows what elements of datasets consist of, as if the functions of the datasets were a part of the graph.

`groups_of` and `chain_of` read a graph; ids that come out of an iterator were made by functions of datasets. Here each
component of an element is an op `Elements`, whose inputs hand it on, and the ops of functions are there, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.facts import Table
from rewriter.graph.iterators import GETTERS, MAKERS, SAVERS, families
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.plan.buckets import HANDS_ON_ALL, Bucketing, Group, Shown, groups_of
from rewriter.plan.chains import Chain, chain_of
from runtime.storage.buckets import Buckets

_DATASET = re.compile(r"(?:Experimental)?(\w+)Dataset(?:V\d)?")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
#: Datasets whose elements have components of those of their inputs, one by one.
_HANDING_ON = {
    *("Batch", "ParallelBatch", "PaddedBatch", "Unbatch", "Rebatch", "Prefetch", "Shuffle", "ShuffleAndRepeat"),
    *("Repeat", "Take", "Skip", "Shard", "Options", "Concatenate", "AssertCardinality", "MaxIntraOpParallelism"),
    *("PrivateThreadPool", "NonSerializable", "Optimize", "Model", "IgnoreErrors", "Finalize", "Sampling"),
    *("Filter", "ParallelFilter", "TakeWhile", "Cache", "DirectedInterleave", "AutoShard"),
}
_CHOOSING = {"Filter", "ParallelFilter", "TakeWhile"}
_MAPPING = {"Map", "ParallelMap", "MapAndBatch"}
_NESTING = {"FlatMap", "Interleave", "ParallelInterleave", "LegacyParallelInterleave"}
_TENSORS = {"Tensor", "TensorSlice"}
_FUNCTIONS = ("f", "predicate", "dataset_factory")
_MOST_NESTED = 16


@dataclass(frozen=True)
class Place:
    """Where an op of a function is: the ops that call functions, with the attribute, from the graph's to the last."""

    calls: tuple[tuple[str, str], ...]
    op: str


@dataclass(frozen=True)
class Wide:
    """What gets wide ids: the ops that divide them, in the graph and in functions of its datasets, and their readers.

    Other tables keep their buckets, with a reason.
    """

    groups: list[tuple[Group, Chain]]
    #: Where the ops are that are in functions.
    inside: list[tuple[Place, Bucketing]]
    kept: dict[str, str]
    #: The graph with what its datasets compute, and what this view shows of them.
    view: GraphView
    shown: Shown

    @property
    def layouts(self) -> dict[str, Buckets]:
        """How the ids of tables divide, by their names."""
        return {name: layout for group, _ in self.groups for name, layout in group.layouts.items()}


def find_wide(view: GraphView, tables: Sequence[Table], ran: Collection[str] = ()) -> Wide:
    """Return how tables of a graph, and of its datasets, give up the buckets of ids; sessions have `ran` some ops."""
    if not tables or not view.of_type(*GETTERS):
        groups, kept = _found(view, tables, Shown())
        return Wide(groups, [], kept, view, Shown())
    with_datasets = _WithDatasets(view, ran)
    closed = {node.name for node in with_datasets.view.definition.node if node.name not in view}
    elements = {text: tensor for tensor, text in with_datasets.alias.items() if tensor.op in view}
    shown = Shown(with_datasets.reasons, closed, elements)
    groups, kept = _found(with_datasets.view, tables, shown)
    for _, chain in groups:
        chain.edits = dict.fromkeys(with_datasets.real(chain.edits))
    places = with_datasets.places
    inside = {op: one for group, _ in groups for op, one in group.bucketings.items() if op in places}
    return Wide(groups, [(places[op], one) for op, one in inside.items()], kept, with_datasets.view, shown)


def _found(view: GraphView, tables: Sequence[Table], shown: Shown) -> tuple[list[tuple[Group, Chain]], dict[str, str]]:
    """Return the tables that give up their buckets, and by the names of the others the reason."""
    kept: dict[str, str] = {}
    while True:
        groups, reasons = groups_of(view, [table for table in tables if table.name not in kept], shown)
        chains = [(group, *chain_of(view, group, shown)) for group in groups]
        fresh = {name: reason for *_, why in chains for name, reason in why.items()}
        kept |= reasons | fresh
        if not fresh:
            return [(group, chain) for group, chain, _ in chains], kept


class _WithDatasets:
    """A graph with all that its datasets compute."""

    def __init__(self, view: GraphView, ran: Collection[str]) -> None:
        """Show `view`, which is left as it is."""
        self._view, self._functions, self._ran = view, view.functions, ran
        definition = tf.compat.v1.GraphDef()
        definition.node.extend(view.definition.node)
        self._definition, self._nodes = definition, {node.name: node for node in definition.node}
        #: By the names of ops of functions.
        self.places: dict[str, Place] = {}
        #: Why ops keep their buckets, of those that are not what their type says.
        self.reasons: dict[str, str] = {}
        self._components: dict[str, list[str]] = {}
        self._real: dict[Use, Use] = {}
        #: What stands for outputs of ops.
        self.alias: dict[Tensor, str] = {}
        self._expand([*self._nodes.values()], ())
        followed = self._iterators()
        self._show_readers(followed)
        for node in definition.node:
            texts = [self.alias.get(_tensor(text), text) if text[0] != "^" else text for text in node.input]
            node.ClearField("input")
            node.input.extend(texts)
        self.view = GraphView(definition)

    def real(self, uses: Iterable[Use]) -> tuple[Use, ...]:
        """Return the inputs of ops of the graph for those of this view."""
        return tuple(self._real.get(use, use) for use in uses)

    def _expand(self, nodes: Sequence[Any], calls: tuple[tuple[str, str], ...]) -> None:
        """Show the functions that the ops of a graph, or of a function, call."""
        for node in nodes if calls else ():
            if node.op in _CALLS:
                places = [number for number, text in enumerate(node.input) if text[0] != "^"]
                self.alias |= {Tensor(node.name, n): text for n, text in enumerate(self._call(node, [], places))}
        for node in nodes:
            if _DATASET.fullmatch(node.op):
                self._elements(node.name)

    def _elements(self, variant: str) -> list[str]:
        """Return the tensors that the elements of a dataset consist of."""
        node = self._maker(variant)
        if node.name not in self._components:
            self._components[node.name] = []
            self._components[node.name] = self._elements_of(node)
        return self._components[node.name]

    def _maker(self, variant: str) -> Any:
        """Return the op that makes a dataset."""
        node = self._nodes[_tensor(self.alias.get(_tensor(variant), variant)).op]
        return self._maker(node.input[0]) if node.op in (HANDS_ON_ALL, "Identity") and node.input else node

    def _elements_of(self, node: Any) -> list[str]:
        matched = _DATASET.fullmatch(node.op)
        kind = matched[1] if matched else ""
        places = self._inputs(node)
        sources = [self._elements(node.input[number]) for number, name in places if "dataset" in name]
        types = "Toutput_types" if "Toutput_types" in node.attr else "output_types"
        count = len(node.attr[types].list.type)
        if kind == "DirectedInterleave":
            sources = sources[1:]  # the first one chooses
        if kind in _TENSORS:
            return self._hand_on(node, [(f"{node.name}[{place}]", place) for place, _ in places])
        others = [number for number, name in places if name == "other_arguments"]
        results = self._call(node, sources[0], others) if {kind} & {*_MAPPING, *_NESTING, *_CHOOSING} else []
        parts: list[list[str]] = []
        if kind == "Zip":
            parts = [[one] for source in sources for one in source]
        elif kind in _MAPPING:
            parts = [[one] for one in results]
        elif kind in _NESTING and results:
            parts = [[one] for one in self._elements(results[0])]
        elif kind in _HANDING_ON and not self._on_disk(node, count) and len({*map(len, sources)}) == 1:
            parts = [list(group) for group in zip(*sources, strict=True)]
        if len(parts) == count:
            return [self._add(f"{node.name}[{n}]", HANDS_ON_ALL, given) for n, given in enumerate(parts)]
        elements = [one for source in sources for one in source]
        return [self._add(f"{node.name}[{n}]", node.op, elements) for n in range(count)]

    def _on_disk(self, node: Any, count: int) -> bool:
        """Whether a dataset reads elements of before from files; then the reason is noted."""
        if not node.op.startswith("Cache"):
            return False
        file = self._nodes[_tensor(node.input[1]).op]
        if file.op == "Const" and not tf.make_ndarray(file.attr["value"].tensor).item():
            return False
        reason = (
            f"`{node.name}` caches elements in files, perhaps of an earlier run: call `cache` on the dataset before "
            "ids are divided into buckets"
        )
        self.reasons |= {f"{node.name}[{n}]": reason for n in range(count)}
        return True

    def _inputs(self, node: Any) -> list[tuple[int, str]]:
        """Return number and name of the data inputs of an op."""
        return [(number, name) for number, (name, _, _) in enumerate(_tf_private.arguments_of(node) or ())]

    def _call(self, node: Any, inputs: Sequence[str], others: Sequence[int] = ()) -> list[str]:
        """Show the function that an op calls with tensors, and with further inputs of the op; return its results."""
        attribute = next(name for name in _FUNCTIONS if name in node.attr)
        function = self._functions.get(node.attr[attribute].func.name)
        before = self.places.get(node.name, Place((), node.name))
        calls = (*before.calls, (before.op, attribute))
        if function is None or len(calls) > _MOST_NESTED:
            return []
        body, names = _tf_private.body_of(function)
        prefix, arguments = f"{node.name} → ", [one.name for one in function.signature.input_arg]
        own = [*inputs, *self._hand_on(node, [(f"{prefix}captured {number}", number) for number in others])]
        added = []
        for inner in body.node:
            if inner.name in arguments:
                place = arguments.index(inner.name)
                self._add(prefix + inner.name, HANDS_ON_ALL, own[place : place + 1])
                continue
            copied = self._definition.node.add()
            copied.CopyFrom(inner)
            copied.name = prefix + inner.name
            copied.ClearField("input")
            copied.input.extend(f"^{prefix}{text[1:]}" if text[0] == "^" else prefix + text for text in inner.input)
            self._nodes[copied.name] = copied
            self.places[copied.name] = Place(calls, inner.name)
            added.append(copied)
        self._expand(added, calls)
        results = [prefix + names[function.ret[one.name]] for one in function.signature.output_arg]
        return [self._add(f"{prefix}return {n}", HANDS_ON_ALL, [text]) for n, text in enumerate(results)]

    def _iterators(self) -> set[str]:
        """Show what is read from iterators; return the ops that give datasets to these."""
        followed: set[str] = set()
        for family in families(self._view, self._view.of_type(*GETTERS)):
            makers = [
                use.op for op in family.sources for use in self._view.users(op) if self._view.type(use.op) in MAKERS
            ]
            variants = [self._nodes[op].input[0] for op in makers]
            for op in family.sources:
                if self._view.type(op) == "OneShotIterator":
                    variants += self._call(self._nodes[op], [])
            datasets = [self._elements(variant) for variant in variants]
            begun = [f"a session has run `{op}` already" for op in (*makers, *family.sources) if op in self._ran]
            for getter in family.getters:
                count = len(self._nodes[getter].attr["output_types"].list.type)
                unknown = not datasets or {*map(len, datasets)} != {count}
                why = [family.reason, *begun, f"the graph does not show which dataset `{getter}` reads" * unknown]
                if any(why):
                    self.reasons[getter] = next(filter(None, why))
                    continue
                followed.update(makers)
                for n, inputs in enumerate(zip(*datasets, strict=True)):
                    self.alias[Tensor(getter, n)] = self._add(f"{getter}[{n}]", HANDS_ON_ALL, inputs)
        return followed

    def _show_readers(self, followed: set[str]) -> None:
        """Let ops that take datasets otherwise read all their components."""
        for node in [*self._definition.node]:
            silent = (HANDS_ON_ALL, "Identity", *SAVERS)
            if node.op in silent or node.name in followed or _DATASET.fullmatch(node.op):
                continue
            for text in [*node.input]:
                node.input.extend(self._components.get(self._maker(text).name, ()) if text[0] != "^" else ())

    def _hand_on(self, node: Any, named: Sequence[tuple[str, int]]) -> list[str]:
        """Let ops of these names read inputs of an op in its place."""
        handed_on = {place: self._add(name, HANDS_ON_ALL, [node.input[place]]) for name, place in named}
        self._real |= {Use(name, 0): Use(node.name, place) for place, name in handed_on.items()}
        kept = [text for number, text in enumerate(node.input) if number not in handed_on]
        node.ClearField("input")
        node.input.extend(kept)
        return [*handed_on.values()]

    def _add(self, name: str, kind: str, inputs: Iterable[str]) -> str:
        self._nodes[name] = self._definition.node.add(name=name, op=kind, input=inputs)
        return name


def _tensor(text: str) -> Tensor:
    op, _, output = text.partition(":")
    return Tensor(op, int(output or 0))
