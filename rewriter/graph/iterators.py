"""Finds the iterators of a graph: ops that make them, ops that read them, and iterators that share readers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import tensorflow as tf

from rewriter.graph.view import GraphView

_SOURCES = ("IteratorV2", "Iterator", "OneShotIterator")
_HANDLES = ("IteratorFromStringHandleV2", "IteratorFromStringHandle")
#: Op types that attach a dataset to an iterator.
MAKERS = ("MakeIterator",)
#: Op types that save and restore the state of an iterator.
SAVERS = ("SerializeIterator", "DeserializeIterator")
_NAMERS = ("IteratorToStringHandle",)
#: Op types that read an element of an iterator.
GETTERS = ("IteratorGetNext", "IteratorGetNextSync")


@dataclass(frozen=True)
class Element:
    """Types and static shapes of the components of an element."""

    types: tuple[tf.DType, ...]
    shapes: tuple[tf.TensorShape, ...]

    def fits(self, other: Element) -> bool:
        """Whether an element of this form can be read as one of the other form."""
        pairs = zip(self.shapes, other.shapes, strict=True) if self.types == other.types else ()
        return self.types == other.types and all(one.is_compatible_with(two) for one, two in pairs)


@dataclass(frozen=True)
class Family:
    """Iterators with common readers; `reason` says why their elements cannot be extended, `fault` at which op."""

    sources: tuple[str, ...]
    handles: tuple[str, ...]
    getters: tuple[str, ...]
    reason: str = ""
    fault: str = ""


def element_of(view: GraphView, op: str) -> Element:
    """Return the element form that an iterator op, or an op that reads an element, declares."""
    types = view.attribute(op, "output_types").list.type
    shapes = view.attribute(op, "output_shapes").list.shape
    return Element(tuple(map(tf.as_dtype, types)), tuple(map(tf.TensorShape, shapes)))


def families(view: GraphView, getters: Iterable[str]) -> list[Family]:
    """Return the families of iterators that these ops read; each iterator is in one family.

    An iterator that is taken by its string handle may be any iterator with elements of this form.
    """
    handles, sources = view.of_type(*_HANDLES), view.of_type(*_SOURCES)
    joined = {op: [op] for op in (*handles, *sources)}
    for handle in handles:
        for other in (*sources, *handles):
            if joined[other] is not joined[handle] and element_of(view, handle).fits(element_of(view, other)):
                joined[handle] += joined[other]
                joined |= dict.fromkeys(joined[other], joined[handle])
    wanted = {id(joined[op]): joined[op] for op in (_iterator(view, getter) for getter in getters) if op in joined}
    return [_family(view, members) for members in wanted.values()]


def one_shots(view: GraphView, family: Family) -> list[str]:
    """Return the one-shot iterators of a family, which make their dataset themselves."""
    return [op for op in family.sources if view.type(op) == "OneShotIterator"]


def _iterator(view: GraphView, getter: str) -> str:
    return view.inputs(getter)[0].op


def _family(view: GraphView, members: list[str]) -> Family:
    sources = tuple(op for op in members if view.type(op) in _SOURCES)
    handles = tuple(op for op in members if view.type(op) in _HANDLES)
    uses = [use.op for op in members for use in view.users(op)]
    getters = tuple(dict.fromkeys(op for op in uses if view.type(op) in GETTERS))
    known = (*GETTERS, *MAKERS, *SAVERS, *_NAMERS)
    for op in uses:
        if view.type(op) not in known:
            return Family(
                sources,
                handles,
                getters,
                f"{view.type(op)} `{op}` uses the iterator, and what it does with it is not known",
                op,
            )
    for op in sources:
        makers = [use.op for use in view.users(op) if view.type(use.op) in MAKERS]
        if view.type(op) != "OneShotIterator" and not makers:
            return Family(sources, handles, getters, f"no op in the graph attaches a dataset to `{op}`", op)
    return Family(sources, handles, getters)
