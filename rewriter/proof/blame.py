"""Finds the first tensor that differs, by walking back from a difference along edges whose values differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.graph.iterators import GETTERS
from rewriter.graph.view import GraphView, Tensor
from rewriter.proof.comparing import Deviation, run_before, run_step
from rewriter.proof.paired_graphs import MovedTable, MovedUpdate, PairedGraphs
from rewriter.proof.recording import Recording, Step, needed
from rewriter.proof.replay import Side
from rewriter.proof.result import Difference, gap, where
from rewriter.proof.watch import Watch, no_array, writers, written

__all__ = ["blame", "describe"]


@dataclass(frozen=True)
class _Edge:
    """An input of an op in both graphs; `expected` is the counterpart of `original` in the rewritten graph."""

    original: Tensor
    moved: Tensor
    expected: Tensor


@dataclass(frozen=True)
class _Culprit:
    op: str
    reason: str
    output: int = 0


def blame(
    graphs: PairedGraphs, recording: Recording, deviation: Deviation, watch: Watch, tolerance: float
) -> tuple[str, str]:
    """Return the tensor at which the difference begins, and how it differs."""
    if deviation.step == 0:
        return _initial(graphs, deviation)
    if deviation.kind == "the run":
        return graphs.stock_of(deviation.item), deviation.detail
    search = _Search(graphs, recording, deviation, watch, tolerance)
    culprit = search.first()
    return f"{culprit.op}:{culprit.output}", culprit.reason


def _initial(graphs: PairedGraphs, deviation: Deviation) -> tuple[str, str]:
    if deviation.table is not None:
        return str(deviation.table.table.initial), f"the table is initialized with other rows: {deviation.detail}"
    return f"{deviation.item}:0", f"the variable is initialized with other values: {deviation.detail}"


class _Search:
    """All values of one step, in both graphs, that can be computed before the step writes anything."""

    def __init__(
        self, graphs: PairedGraphs, recording: Recording, deviation: Deviation, watch: Watch, tolerance: float
    ) -> None:
        self.graphs, self.deviation, self.tolerance = graphs, deviation, tolerance
        self.step = recording.steps[deviation.step - 1]
        self.ops = _reached(graphs.original, self.step)
        self.moved_ops = _reached(graphs.moved, self.step)
        graphs.start()
        try:
            for earlier in recording.steps[: deviation.step - 1]:
                run_before(graphs, earlier, watch.of(earlier))
                run_step(graphs, earlier, watch.of(earlier))
            self.original = _values(graphs.original, self.ops, graphs.dead[0], self.step)
            self.moved = _values(graphs.moved, self.moved_ops, graphs.dead[1], self.step)
        finally:
            graphs.close()

    def first(self) -> _Culprit:
        """Walk back from the difference."""
        seen: set[str] = set()
        culprit = self._begin()
        while culprit.op not in seen:
            seen.add(culprit.op)
            culprit = self._before(culprit, seen)
        return culprit

    def _begin(self) -> _Culprit:
        deviation = self.deviation
        if deviation.pair is not None:
            output = deviation.pair.original.output if deviation.pair.consumer == deviation.pair.original.op else 0
            return _Culprit(deviation.pair.consumer, deviation.detail, output)
        if deviation.table is not None:
            return self._update(deviation.table)
        by = [op for op, variable in writers(self.graphs.original.view, self.ops).items() if variable == deviation.item]
        if not by:
            return _Culprit(deviation.item, f"no op of the step writes it: {deviation.detail}")
        lost = [op for op in by if op not in self.moved_ops]
        return _Culprit((lost or by)[0], self._lost(lost[0]) if lost else deviation.detail)

    def _update(self, table: MovedTable) -> _Culprit:
        ran = [one for one in table.updates if any(op in self.ops for op in one.stock.ops)]
        for update in ran:
            if update.op not in self.moved_ops:
                return _Culprit(update.stock.ops[0], self._lost(update.op))
        if not ran:
            return _Culprit(table.table.name, f"no op of the step changes its rows: {self.deviation.detail}")
        return _Culprit(ran[0].stock.ops[0], self.deviation.detail)

    @staticmethod
    def _lost(op: str) -> str:
        return f"the step of the rewritten graph does not run `{op}`"

    def _before(self, culprit: _Culprit, seen: Collection[str]) -> _Culprit:
        """Return an op that `culprit` gets the difference from; `culprit` itself if all its inputs are equal."""
        table = self.graphs.table_of(culprit.op)
        update = _update_of(table, culprit.op)
        if update is not None and (reason := self._numbers(update)):
            return _Culprit(culprit.op, reason)
        worst: tuple[float, _Culprit] | None = None
        for edge in self._edges(culprit.op, seen):
            original, moved = self.original[str(edge.original)], self.moved[str(edge.moved)]
            difference = gap(original, moved, self.tolerance)
            if not difference.differs:
                continue
            meant = self.moved.get(str(edge.expected))
            if edge.moved != edge.expected and meant is not None and not gap(original, meant, self.tolerance).differs:
                return _Culprit(culprit.op, f"it reads `{edge.moved}` and must read `{edge.expected}`", culprit.output)
            if worst is None or difference.ratio > worst[0]:
                worst = (
                    difference.ratio,
                    _Culprit(edge.original.op, self._reason(edge, original, moved), edge.original.output),
                )
        return worst[1] if worst else self._at(culprit, table)

    def _reason(self, edge: _Edge, original: Any, moved: Any) -> str:
        view: GraphView = self.graphs.moved.view
        computed = (
            view.type(edge.moved.op) in GETTERS and self.graphs.original.view.type(edge.original.op) not in GETTERS
        )
        return (f"it is now computed in the dataset, as `{edge.moved}`: " if computed else "") + where(original, moved)

    def _at(self, culprit: _Culprit, moved: MovedTable | None) -> _Culprit:
        """Return why an op gives another result on equal inputs."""
        if moved is None or _update_of(moved, culprit.op) is not None:
            return culprit
        other = self.graphs.read_by(moved, culprit.op)
        if other is not moved:
            return _Culprit(culprit.op, f"it reads the table `{other.table.name if other else '?'}`", culprit.output)
        reason = f"its ids are equal, but the rows that it reads from the table differ: {culprit.reason}"
        return _Culprit(culprit.op, reason, culprit.output)

    def _edges(self, op: str, seen: Collection[str]) -> Iterator[_Edge]:
        """Yield the inputs of an op that are comparable in both graphs; for others, the inputs of their ops."""
        passed = set(seen)
        pending = [op]
        while pending:
            for edge in self._inputs(pending.pop()):
                if str(edge.original) in self.original and str(edge.moved) in self.moved:
                    yield edge
                elif edge.original.op not in passed:
                    passed.add(edge.original.op)
                    pending.append(edge.original.op)

    def _inputs(self, op: str) -> Iterator[_Edge]:
        view, moved_view = self.graphs.original.view, self.graphs.moved.view
        table = self.graphs.table_of(op)
        update = _update_of(table, op)
        if update is not None:
            # Gradients of single parts have no counterpart.
            for values, indices in () if update.stock.pieces else update.stock.gradients:
                yield self._edge(indices, moved_view.inputs(update.op)[1])
                yield self._edge(values, moved_view.inputs(update.op)[2])
        elif table is not None:
            stock = next(lookup for lookup in table.table.lookups if lookup.op == op)
            yield self._edge(stock.ids, moved_view.inputs(table.lookup_of(op))[2])
        elif op in view and op in moved_view:
            for original, moved in zip(view.inputs(op), moved_view.inputs(op), strict=False):
                yield self._edge(original, moved)

    def _edge(self, original: Tensor, moved: Tensor) -> _Edge:
        expected = self.graphs.counterpart(original) or original
        return _Edge(original, moved, moved if self._is_cast(moved, expected) else expected)

    def _is_cast(self, moved: Tensor, expected: Tensor) -> bool:
        """Whether a tensor is the expected one in another integer type."""
        view: GraphView = self.graphs.moved.view
        return view.type(moved.op) == "Cast" and view.inputs(moved.op)[0] == expected

    def _numbers(self, update: MovedUpdate) -> str | None:
        """Compare the hyperparameters of an update."""
        packed = self.moved.get(str(self.graphs.moved.view.inputs(update.op)[3]))
        if packed is None:
            return None
        for number, hyperparameter in enumerate(update.stock.hyper):
            value = self.original.get(str(hyperparameter)) if isinstance(hyperparameter, Tensor) else hyperparameter
            if value is not None and gap(value, float(packed[number]), self.tolerance).differs:
                name = f" (`{hyperparameter}`)" if isinstance(hyperparameter, Tensor) else ""
                return f"hyperparameter {number}{name} of {update.stock.rule}: {where(value, packed[number])}"
        return None


def _update_of(table: MovedTable | None, op: str) -> MovedUpdate | None:
    return next((update for update in table.updates if op in update.stock.ops), None) if table else None


def _reached(side: Side, step: Step) -> dict[str, None]:
    return needed(side.view, filter(side.__contains__, step.fetches), step.feeds)


def _values(side: Side, ops: Collection[str], dead: Collection[str], step: Step) -> dict[str, Any]:
    """Return all tensors of a step that can be computed without writing anything, and the feeds."""
    return {**step.feeds, **side.run([], step.feeds, _readable(side, ops, dead))}


def _readable(side: Side, ops: Collection[str], dead: Collection[str]) -> list[str]:
    left_out = {*side.view.descendants(written(side.view, ops)), *dead}
    readable: list[str] = []
    for op in ops:
        if op not in left_out:
            outputs = side.graph.get_operation_by_name(op).outputs
            readable += [tensor.name for tensor in outputs if not no_array(tensor)]
    return readable


def describe(graphs: PairedGraphs, deviation: Deviation, tensor: str, reason: str, source: Any) -> Difference:
    """Return the difference with the type of its op, the nearest table, and the line of user code that built the op."""
    op = tensor.partition(":")[0]
    view = graphs.original.view if op in graphs.original.view else graphs.moved.view
    return Difference(
        deviation.step,
        deviation.kind,
        deviation.item,
        deviation.gap.amount,
        deviation.gap.scale,
        tensor,
        view.type(op) if op in view else "",
        reason,
        _table(graphs, deviation, op),
        source(op),
    )


def _table(graphs: PairedGraphs, deviation: Deviation, op: str) -> str | None:
    """Return the table that differs, or that of the nearest lookup, or the one whose ids depend on `op`."""
    behind_it = graphs.original.view.ancestors([Tensor(op)]) if op in graphs.original.view else [op]
    seen_at = [deviation.pair.consumer] if deviation.pair else []
    tables = (graphs.table_of(one) for one in (*behind_it, *seen_at))
    moved = deviation.table or next((one for one in tables if one is not None), None)
    return moved.table.name if moved else None
