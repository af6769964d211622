"""Lists the edges to change when elements of iterators carry ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rewriter.graph.iterators import MAKERS
from rewriter.graph.view import GraphView, Use
from rewriter.pipeline.facts import Inputs
from rewriter.plan.plan import ControlEdit, InputEdit


@dataclass(frozen=True)
class Edits:
    """Lists which ops read other tensors once iterators are extended; the uses in `kept` are not changed."""

    view: GraphView
    extended: tuple[Inputs, ...]
    kept: frozenset[Use] = frozenset()

    def inputs(self) -> Iterator[InputEdit]:
        """Yield the data inputs to change."""
        for family in self.extended:
            edits = self._elements(family) if family.cuts else self._datasets(family)
            tables = ", ".join(family.tables)
            yield from (replace(edit, table=tables) for edit in edits)

    def _elements(self, family: Inputs) -> Iterator[InputEdit]:
        """Replace reads of elements by reads of the extended elements."""
        inside = set(family.computed)
        for number, (cut, getter) in enumerate(zip(family.cuts, family.readers, strict=True)):
            count = len(self.view.attribute(getter, "output_types").list.type)
            outside = [use for use in self.view.uses(cut) if use.op not in inside and use not in self.kept]
            yield from (InputEdit(use, str(cut), f"{getter}/{count + number}", rule="ids") for use in outside)
        for getter in family.getters:
            yield from self._element(getter, inside)
            yield InputEdit(Use(getter, 0), str(self.view.inputs(getter)[0]), f"{getter}/echo", rule="batch")
        for op in (*family.sources, *family.handles):
            yield from self._iterator(op, family.getters)

    def controls(self) -> Iterator[ControlEdit]:
        """Yield the control inputs to change."""
        for family in (one for one in self.extended if one.cuts):
            inside, told = set(family.computed), {"rule": "batch", "table": ", ".join(family.tables)}
            for getter in family.getters:
                waiting = [op for op in dict.fromkeys(self.view.waiting(getter)) if op not in inside]
                yield from (ControlEdit(op, (getter,), f"{getter}/next", **told) for op in waiting)
                yield ControlEdit(getter, (), f"{getter}/echo/made", **told)

    def _element(self, getter: str, inside: set[str]) -> Iterator[InputEdit]:
        for use in self.view.users(getter):
            if use.op not in inside:
                tensor = self.view.inputs(use.op)[use.input]
                yield InputEdit(use, str(tensor), f"{getter}/{tensor.output}", rule="batch")

    def _datasets(self, family: Inputs) -> Iterator[InputEdit]:
        """Give extended datasets to iterators whose element type does not change; one-shot iterators are replaced."""
        for op in family.sources:
            for use in self.view.users(op):
                if self.view.type(op) == "OneShotIterator":
                    yield InputEdit(use, f"{op}:0", f"{op}/iterator", rule="dataset")
                elif self.view.type(use.op) in MAKERS:
                    yield InputEdit(
                        Use(use.op, 0), str(self.view.inputs(use.op)[0]), f"{use.op}/dataset", rule="dataset"
                    )

    def _iterator(self, op: str, getters: tuple[str, ...]) -> Iterator[InputEdit]:
        for use in self.view.users(op):
            if self.view.type(use.op) in MAKERS:
                yield self._dataset(use.op)
            if use.op not in getters:
                yield InputEdit(use, f"{op}:0", f"{op}/iterator", rule="dataset")

    def _dataset(self, maker: str) -> InputEdit:
        return InputEdit(Use(maker, 0), str(self.view.inputs(maker)[0]), f"{maker}/dataset", rule="dataset")
