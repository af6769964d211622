"""The plan of an id pipeline: which tensors the elements of iterators bring along, and who then reads them, as data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.graph import GraphView, Tensor, Use
from rewriter.pipeline.cones import CAPTURED, GETTERS, Cone, through_branches
from rewriter.pipeline.facts import IdsOf, Inputs, Staying
from rewriter.pipeline.iterators import MAKERS, Family, families
from rewriter.plan import ControlEdit, InputEdit

__all__ = ["PipelinePlan", "plan_pipeline"]


@dataclass(frozen=True)
class PipelinePlan:
    """What moves into datasets. Parts are called `<getter>/<n>`, `<maker>/dataset`, `<source>/iterator`, …

    `moved` are ids that datasets compute from now on, `passing` those that were elements of one before.
    """

    moved: tuple[IdsOf, ...] = ()
    passing: tuple[IdsOf, ...] = ()
    staying: tuple[Staying, ...] = ()
    extended: tuple[Inputs, ...] = ()
    inputs: tuple[InputEdit, ...] = ()
    controls: tuple[ControlEdit, ...] = ()

    def require_unfed(self, feeds: Mapping[Any, Any] | None) -> None:
        """Refuse feeds that would take the place of what datasets bring along: nobody reads them any more.

        Raises:
            ValueError: names the tensor.
        """
        replaced = {op for inputs in self.extended for op in (*inputs.getters, *inputs.computed)}
        for fed in feeds or {}:
            for tensor in tf.nest.flatten(fed, expand_composites=True):
                name = tensor if isinstance(tensor, str) else tensor.name
                if name.partition(":")[0] in replaced:
                    raise ValueError(
                        f"`{name}` is fed, but ids are computed from it in the dataset, ahead of the step: "
                        "give GraphModifierHook move_ids=False, or let the dataset bring what you feed"
                    )

    def to_json(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2, default=str)

    def summary(self) -> str:
        """Return how many lookups' ids come out of datasets, and why others do not, a line each."""
        found = len(self.moved) + len(self.passing)
        total = found + len(self.staying)
        if not total:
            return ""
        ops = sum(len(inputs.computed) for inputs in self.extended)
        return "\n".join(
            [f"ids of {found} of {total} lookup(s) come from datasets: {ops} op(s) moved", *map(str, self.staying)]
        )


def plan_pipeline(
    view: GraphView,
    lookups: Sequence[IdsOf],
    types_run: Callable[[str], set[str]],
    in_branch: Callable[[str], bool],
    carried: Callable[[Tensor], bool],
) -> PipelinePlan:
    """Plan to compute the ids of lookups in the datasets that they come from.

    Args:
        view: of the graph, static shapes included.
        lookups: whose ids to move.
        types_run: gives the types of the stateful ops that running an op runs.
        in_branch: whether an op stands inside a v1 tf.cond or tf.while_loop.
        carried: whether elements of a dataset can hold a tensor.
    """
    cone = Cone(view, types_run, in_branch)
    tensors = {ids: through_branches(view, view.inputs(ids.op)[ids.input]) for ids in lookups}
    cone.explore(tensors.values())
    found = {getter: one for one in families(view, _getters(cone, tensors.values())) for getter in one.getters}
    sorted_ids = _Sorted()
    for ids, tensor in tensors.items():
        sorted_ids.add(view, cone, found, ids, tensor)
    computed = cone.computed(tensors[ids] for ids in sorted_ids.moved)
    by_family: dict[Family, list[str]] = {}
    for op in computed:
        getter = next(iter(cone.origin(Tensor(op)).getters))
        by_family.setdefault(found[getter], []).append(op)
    extended = tuple(_inputs_of(view, family, ops, carried) for family, ops in by_family.items())
    edits = _Edits(view, extended)
    return PipelinePlan(
        tuple(sorted_ids.moved),
        tuple(sorted_ids.passing),
        tuple(sorted_ids.staying),
        extended,
        tuple(edits.inputs()),
        tuple(edits.controls()),
    )


@dataclass
class _Sorted:
    """The ids of lookups by what becomes of them."""

    moved: list[IdsOf] = dataclasses.field(default_factory=list)
    passing: list[IdsOf] = dataclasses.field(default_factory=list)
    staying: list[Staying] = dataclasses.field(default_factory=list)

    def add(self, view: GraphView, cone: Cone, found: dict[str, Family], ids: IdsOf, tensor: Tensor) -> None:
        why = _why_staying(view, cone, found, tensor)
        if why:
            self.staying.append(Staying(ids, why[0], (*why[1:], ids.op) if why[1:] else ()))
        elif view.type(tensor.op) in GETTERS:
            self.passing.append(ids)
        else:
            self.moved.append(ids)


def _why_staying(view: GraphView, cone: Cone, found: dict[str, Family], tensor: Tensor) -> tuple[str, ...] | None:
    """Return why no dataset can compute a tensor, and the way from the op at fault; None when one can."""
    origin = cone.origin(tensor)
    if origin.reason:
        return (origin.reason, *origin.path)
    if not origin.getters:
        return ("they are constants, and no dataset is behind them",)
    for getter in sorted(origin.getters):
        if getter not in found:
            return f"the graph does not show which dataset `{getter}` reads", getter
        if found[getter].reason:
            return found[getter].reason, found[getter].fault
        for table in _uncapturable(view, cone, found[getter], tensor):
            return f"a one-shot iterator's dataset cannot hold `{table}`: make the iterator initializable", table
    return None


def _uncapturable(view: GraphView, cone: Cone, family: Family, tensor: Tensor) -> Iterator[str]:
    """Yield the hash tables behind a tensor that no dataset of a one-shot iterator can hold."""
    if any(view.type(op) == "OneShotIterator" for op in family.sources):
        yield from (op for op in cone.behind(tensor) if view.type(op) in CAPTURED)


def _getters(cone: Cone, tensors: Iterable[Tensor]) -> list[str]:
    return sorted({getter for tensor in tensors for getter in cone.origin(tensor).getters})


def _inputs_of(view: GraphView, family: Family, computed: list[str], carried: Callable[[Tensor], bool]) -> Inputs:
    """Let elements bring along all that is read of the computed ops by others."""
    inside = set(computed)
    cuts: dict[Tensor, None] = {}
    for op in computed:
        for use in view.users(op):
            tensor = view.inputs(use.op)[use.input]
            if use.op not in inside and carried(tensor):
                cuts[tensor] = None
    return Inputs(family.getters, family.sources, family.handles, tuple(cuts), tuple(computed))


@dataclass(frozen=True)
class _Edits:
    """Lists who reads something else when iterators are extended."""

    view: GraphView
    extended: tuple[Inputs, ...]

    def inputs(self) -> Iterator[InputEdit]:
        for family in self.extended:
            inside = set(family.computed)
            for number, cut in enumerate(family.cuts):
                getter = self._getter_of(family, cut)
                count = len(self.view.attribute(getter, "output_types").list.type)
                outside = [use for use in self.view.uses(cut) if use.op not in inside]
                yield from (InputEdit(use, str(cut), f"{getter}/{count + number}") for use in outside)
            for getter in family.getters:
                yield from self._element(getter, inside)
                yield InputEdit(Use(getter, 0), str(self.view.inputs(getter)[0]), f"{getter}/echo")
            for op in (*family.sources, *family.handles):
                yield from self._iterator(op, family.getters)

    def controls(self) -> Iterator[ControlEdit]:
        for family in self.extended:
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

    def _iterator(self, op: str, getters: tuple[str, ...]) -> Iterator[InputEdit]:
        for use in self.view.users(op):
            if self.view.type(use.op) in MAKERS:
                yield InputEdit(Use(use.op, 0), str(self.view.inputs(use.op)[0]), f"{use.op}/dataset")
            if use.op not in getters:
                yield InputEdit(use, f"{op}:0", f"{op}/iterator")
