"""The edges that move when the elements of iterators bring ids along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewriter.graph import GraphView, Tensor, Use
from rewriter.pipeline.cones import GETTERS
from rewriter.pipeline.facts import Inputs
from rewriter.pipeline.iterators import MAKERS
from rewriter.plan import ControlEdit, InputEdit

__all__ = ["Edits"]


@dataclass(frozen=True)
class Edits:
    """Lists who reads something else when iterators are extended; the uses in `kept` read what they read."""

    view: GraphView
    extended: tuple[Inputs, ...]
    kept: frozenset[Use] = frozenset()

    def inputs(self) -> Iterator[InputEdit]:
        """Yield the data inputs that read something else."""
        for family in self.extended:
            if not family.cuts:
                yield from self._datasets(family)
                continue
            inside = set(family.computed)
            for number, cut in enumerate(family.cuts):
                getter = self._getter_of(family, cut)
                count = len(self.view.attribute(getter, "output_types").list.type)
                outside = [use for use in self.view.uses(cut) if use.op not in inside and use not in self.kept]
                yield from (InputEdit(use, str(cut), f"{getter}/{count + number}") for use in outside)
            for getter in family.getters:
                yield from self._element(getter, inside)
                yield InputEdit(Use(getter, 0), str(self.view.inputs(getter)[0]), f"{getter}/echo")
            for op in (*family.sources, *family.handles):
                yield from self._iterator(op, family.getters)

    def controls(self) -> Iterator[ControlEdit]:
        """Yield the ops that wait for something else."""
        for family in (one for one in self.extended if one.cuts):
            inside = set(family.computed)
            for getter in family.getters:
                waiting = [op for op in dict.fromkeys(self.view.waiting(getter)) if op not in inside]
                yield from (ControlEdit(op, (getter,), f"{getter}/next") for op in waiting)
                yield ControlEdit(getter, (), f"{getter}/echo/made")

    def _getter_of(self, family: Inputs, cut: Tensor) -> str:
        behind = self.view.ancestors([cut], stop=lambda op: self.view.type(op) in GETTERS)
        return next(op for op in behind if op in family.getters)

    def _element(self, getter: str, inside: set[str]) -> Iterator[InputEdit]:
        for use in self.view.users(getter):
            if use.op not in inside:
                tensor = self.view.inputs(use.op)[use.input]
                yield InputEdit(use, str(tensor), f"{getter}/{tensor.output}")

    def _datasets(self, family: Inputs) -> Iterator[InputEdit]:
        """Give iterators whose elements stay as they are other datasets; a one-shot iterator is made with its own."""
        for op in family.sources:
            for use in self.view.users(op):
                if self.view.type(op) == "OneShotIterator":
                    yield InputEdit(use, f"{op}:0", f"{op}/iterator")
                elif self.view.type(use.op) in MAKERS:
                    yield InputEdit(Use(use.op, 0), str(self.view.inputs(use.op)[0]), f"{use.op}/dataset")

    def _iterator(self, op: str, getters: tuple[str, ...]) -> Iterator[InputEdit]:
        for use in self.view.users(op):
            if self.view.type(use.op) in MAKERS:
                yield InputEdit(Use(use.op, 0), str(self.view.inputs(use.op)[0]), f"{use.op}/dataset")
            if use.op not in getters:
                yield InputEdit(use, f"{op}:0", f"{op}/iterator")
