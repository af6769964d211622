"""The plan of an id pipeline as data: which tensors are added to the elements of iterators, and which ops read them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from rewriter.graph.iterators import GETTERS, MAKERS, SAVERS, Family, families, one_shots
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.pipeline.cones import CAPTURED, ENTRANCES, Cone
from rewriter.pipeline.facts import IdsOf, Inputs, Staying
from rewriter.plan.plan import ControlEdit, InputEdit

#: Name scope of all ops that a pipeline adds.
SCOPE = "recmigrate/ids/"


@dataclass(frozen=True)
class PipelinePlan:
    """What moves into datasets. Parts are named `<getter>/<n>`, `<maker>/dataset`, `<source>/iterator`, …

    `moved` are ids that datasets compute from now on, `passing` are ids that were components of elements before.
    """

    moved: tuple[IdsOf, ...] = ()
    passing: tuple[IdsOf, ...] = ()
    staying: tuple[Staying, ...] = ()
    extended: tuple[Inputs, ...] = ()
    inputs: tuple[InputEdit, ...] = ()
    controls: tuple[ControlEdit, ...] = ()

    def require_unfed(self, feeds: Mapping[Any, Any] | None) -> None:
        """Refuse feeds of tensors that datasets compute now, since the step no longer reads the fed values.

        Raises:
            ValueError: such a tensor is fed; the message names it.
        """
        replaced = self.replaced()
        for fed in feeds or {}:
            for tensor in tf.nest.flatten(fed, expand_composites=True):
                name = tensor if isinstance(tensor, str) else tensor.name
                if name.partition(":")[0] in replaced:
                    raise ValueError(
                        f"`{name}` is fed, but ids are computed from it in the dataset, before the step runs: give "
                        "GraphModifierHook move_ids=False, or let the dataset provide this value"
                    )

    def replaced(self) -> set[str]:
        """Return the ops whose values come from datasets, so that the step no longer reads the ops."""
        return {op for inputs in self.extended if inputs.cuts for op in (*inputs.getters, *inputs.computed)}

    def to_json(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2, default=str)

    def with_sources(self, sources: Callable[[Iterable[str]], Mapping[str, str]]) -> PipelinePlan:
        """Return the plan with lines of user code; `sources` is called once, with all ops of the plan."""
        ops = [op for staying in self.staying for op in (*staying.path, staying.ids.op)]
        ops += [*(edit.use.op for edit in self.inputs), *(edit.op for edit in self.controls)]
        # Ops that the rewriter built have the line that called it.
        lines = sources(op for op in ops if not op.startswith("recmigrate/"))

        def line(*ops: str) -> str:
            return next((lines[op] for op in ops if op in lines), "")

        return dataclasses.replace(
            self,
            staying=tuple(dataclasses.replace(one, source=line(*one.path, one.ids.op)) for one in self.staying),
            inputs=tuple(dataclasses.replace(edit, source=line(edit.use.op)) for edit in self.inputs),
            controls=tuple(dataclasses.replace(edit, source=line(edit.op)) for edit in self.controls),
        )

    def summary(self) -> str:
        """Return how many lookups take their ids from datasets, and why the others do not, one per line."""
        count = len(self.moved) + len(self.passing)
        total = count + len(self.staying)
        if not total:
            return ""
        ops = sum(len(inputs.computed) for inputs in self.extended)
        return "\n".join(
            [f"ids of {count} of {total} lookup(s) come from datasets: {ops} op(s) moved", *map(str, self.staying)]
        )


def plan_pipeline(
    view: GraphView,
    lookups: Sequence[IdsOf],
    types_run: Callable[[str], set[str]],
    in_branch: Callable[[str], bool],
    carried: Callable[[Tensor], bool],
    staying: Sequence[Staying] = (),
    op_types: Collection[str] = (),
) -> PipelinePlan:
    """Plan to compute the ids of lookups in the datasets that they come from.

    Args:
        view: of the graph, with static shapes.
        lookups: the ids to move.
        types_run: returns the types of the stateful ops that run when an op runs.
        in_branch: whether an op is inside a v1 tf.cond or tf.while_loop.
        carried: whether a tensor can be a component of a dataset's elements.
        staying: ids that must stay: their lookups keep their inputs, even if other lookups let the same ids move.
        op_types: move only ids that depend on an op of one of these types; empty for all that can move.
    """
    cone = Cone(view, types_run, in_branch)
    tensors = {ids: view.behind(view.inputs(ids.op)[ids.input], ENTRANCES) for ids in lookups}
    cone.explore(tensors.values())
    family_of = {getter: one for one in families(view, _getters(cone, tensors.values())) for getter in one.getters}
    sorted_ids = _Sorted(staying=list(staying))
    for ids, tensor in tensors.items():
        if op_types and not any(view.type(op) in op_types for op in cone.behind(tensor)):
            sorted_ids.staying.append(Staying(ids, f"they depend on no op of the types {', '.join(op_types)}"))
        else:
            sorted_ids.add(view, cone, family_of, ids, tensor)
    extended = _extended(view, cone, family_of, sorted_ids, tensors, carried)
    kept = frozenset(Use(one.ids.op, one.ids.input) for one in staying)
    edits = _Edits(view, extended, kept)
    return PipelinePlan(
        tuple(sorted_ids.moved),
        tuple(sorted_ids.passing),
        tuple(sorted_ids.staying),
        extended,
        tuple(edits.inputs()),
        tuple(edits.controls()),
    )


def _extended(
    view: GraphView,
    cone: Cone,
    family_of: Mapping[str, Family],
    ids: _Sorted,
    tensors: Mapping[IdsOf, Tensor],
    carried: Callable[[Tensor], bool],
) -> tuple[Inputs, ...]:
    """Return the iterator families that moved or passing ids come from, with the tensors added to their elements."""
    computed: dict[Family, list[str]] = {}
    prepared: dict[Family, list[Tensor]] = {}
    prefetched: dict[Family, dict[Tensor, dict[str, None]]] = {}
    for op in cone.computed(tensors[one] for one in ids.moved):
        computed.setdefault(family_of[_one(cone.origin(Tensor(op)).getters)], []).append(op)
    for ids_of_lookup in (one for one in (*ids.moved, *ids.passing) if one.inserts or one.tiered):
        getters = cone.origin(tensors[ids_of_lookup]).getters
        family = family_of[min(getters)]
        if len(getters) != 1 or (ids_of_lookup in ids.passing and _prepares(view, family)):
            continue
        if ids_of_lookup.inserts:
            prepared.setdefault(family, []).append(tensors[ids_of_lookup])
        if ids_of_lookup.tiered:
            prefetched.setdefault(family, {}).setdefault(tensors[ids_of_lookup], {})[ids_of_lookup.tiered] = None
    tables: dict[Family, dict[str, None]] = {}
    for ids_of_lookup in (*ids.moved, *ids.passing):
        for getter in cone.origin(tensors[ids_of_lookup]).getters:
            tables.setdefault(family_of[getter], {})[ids_of_lookup.table] = None
    extended = []
    for family in dict.fromkeys((*computed, *prepared, *prefetched)):
        cuts = _cuts(view, computed.get(family, []), carried)
        readers = tuple(_one(cone.origin(cut).getters) for cut in cuts)
        moved, ahead = tuple(computed.get(family, [])), tuple(prepared.get(family, []))
        own = (family.getters, family.sources, family.handles)
        rows = tuple((tensor, tuple(names)) for tensor, names in prefetched.get(family, {}).items())
        extended.append(Inputs(*own, cuts, readers, moved, ahead, rows, tuple(tables[family])))
    return tuple(extended)


def _one(getters: frozenset[str]) -> str:
    (getter,) = getters
    return getter


def _prepares(view: GraphView, family: Family) -> bool:
    """Whether datasets of a family were extended by an earlier call."""
    makers = [use.op for op in family.sources for use in view.users(op) if view.type(use.op) in MAKERS]
    datasets = [view.inputs(maker)[0].op for maker in makers]
    return any(op.startswith(SCOPE) for op in (*datasets, *one_shots(view, family)))


@dataclass
class _Sorted:
    """The ids of lookups by their outcome."""

    moved: list[IdsOf] = dataclasses.field(default_factory=list)
    passing: list[IdsOf] = dataclasses.field(default_factory=list)
    staying: list[Staying] = dataclasses.field(default_factory=list)

    def add(self, view: GraphView, cone: Cone, family_of: dict[str, Family], ids: IdsOf, tensor: Tensor) -> None:
        why = _why_staying(view, cone, family_of, tensor)
        if why:
            self.staying.append(Staying(ids, why[0], (*why[1:], ids.op) if why[1:] else ()))
        elif view.type(tensor.op) in GETTERS:
            self.passing.append(ids)
        else:
            self.moved.append(ids)


def _why_staying(view: GraphView, cone: Cone, family_of: dict[str, Family], tensor: Tensor) -> tuple[str, ...] | None:
    """Return why no dataset can compute a tensor, and the path from the op that prevents it; None if one can."""
    origin = cone.origin(tensor)
    if origin.reason:
        return (origin.reason, *origin.path)
    if not origin.getters:
        return ("they are constants and come from no dataset",)
    for getter in sorted(origin.getters):
        if getter not in family_of:
            return f"the graph does not show which dataset `{getter}` reads", getter
        if family_of[getter].reason:
            return family_of[getter].reason, family_of[getter].fault
        for table in _uncapturable(view, cone, family_of[getter], tensor):
            return (
                f"the dataset of a one-shot iterator cannot use the lookup table `{table}`: make the iterator "
                "initializable"
            ), table
        for op in _uncallable(view, cone, family_of[getter], tensor):
            return (
                f"`{op}` calls a function, which an iterator with a shared_name may not run: leave shared_name out"
            ), op
    if len(origin.getters) > 1 and not cone.computed([tensor]):
        readers = ", ".join(f"`{getter}`" for getter in sorted(origin.getters))
        return (f"they are computed from elements of several iterators, {readers}",)
    for getter in sorted(origin.getters):
        for op in _unsavable(view, cone, family_of[getter], tensor):
            return f"{view.type(op)} `{op}` is stateful, and the iterator's Saver does not save its state", op
    return None


def _uncapturable(view: GraphView, cone: Cone, family: Family, tensor: Tensor) -> Iterator[str]:
    """Yield the hash tables that a tensor depends on and that the dataset of a one-shot iterator cannot capture."""
    if one_shots(view, family):
        yield from (op for op in cone.behind(tensor) if view.type(op) in CAPTURED)


def _uncallable(view: GraphView, cone: Cone, family: Family, tensor: Tensor) -> Iterator[str]:
    """Yield the ops that a tensor depends on and that call functions, if an iterator of the family has a shared name.

    TensorFlow gives such an iterator a runtime of its own, where calls fail unless Grappler has inlined them.
    """
    if any(view.attribute(op, "shared_name").s for op in family.sources):
        yield from (op for op in cone.behind(tensor) if view.type(op) not in GETTERS and cone.calls(op))


def _unsavable(view: GraphView, cone: Cone, family: Family, tensor: Tensor) -> Iterator[str]:
    """Yield the stateful ops that a tensor depends on, if the graph saves an iterator of the family."""
    if any(view.type(use.op) in SAVERS for op in family.sources for use in view.users(op)):
        yield from (op for op in cone.behind(tensor) if view.type(op) not in GETTERS and cone.types_run(op))


def _getters(cone: Cone, tensors: Iterable[Tensor]) -> list[str]:
    return sorted({getter for tensor in tensors for getter in cone.origin(tensor).getters})


def _cuts(view: GraphView, computed: list[str], carried: Callable[[Tensor], bool]) -> tuple[Tensor, ...]:
    """Return the tensors of the computed ops that other ops read."""
    inside = set(computed)
    cuts: dict[Tensor, None] = {}
    for op in computed:
        for use in view.users(op):
            tensor = view.inputs(use.op)[use.input]
            if use.op not in inside and carried(tensor):
                cuts[tensor] = None
    return tuple(cuts)


@dataclass(frozen=True)
class _Edits:
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
            inside, facts = set(family.computed), {"rule": "batch", "table": ", ".join(family.tables)}
            for getter in family.getters:
                waiting = [op for op in dict.fromkeys(self.view.waiting(getter)) if op not in inside]
                yield from (ControlEdit(op, (getter,), f"{getter}/next", **facts) for op in waiting)
                yield ControlEdit(getter, (), f"{getter}/echo/made", **facts)

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
