"""Runs both graphs over a recording and compares them until a value differs.

Differences have controls: the original run again, and compared with itself. Some models have races or read outside
state, so that the original does not reproduce its own values. A model can also magnify rounding: attention with sharp
weights turns the last digit of a row into another loss. If the original does so itself, when its tables' first rows are
changed in the last digit, a difference of the same size says nothing about the rewrite.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter.facts import Table
from rewriter.graph.reasons import reason_of
from rewriter.nudging import SEEDS, allowed, nudged
from rewriter.proof.paired_graphs import MovedTable, PairedGraphs
from rewriter.proof.recording import Recording, Step
from rewriter.proof.replay import Side
from rewriter.proof.result import Gap, Tally, gap, where
from rewriter.proof.watch import Pair, Watch, Watched, keys_of
from runtime.native.update_rules import UPDATE_RULES, sets_of

__all__ = ["Comparison", "Deviation", "Reruns", "Valued", "run_before", "run_step"]


@dataclass(frozen=True)
class Deviation:
    """A difference: a pair of tensors at a step, or the state of a variable or table after it.

    `original` is the original's value; for a table, that of the rows `keys` if these are given.
    """

    step: int
    kind: str
    item: str
    gap: Gap
    detail: str
    original: Any = field(repr=False)
    pair: Pair | None = None
    table: MovedTable | None = None
    keys: Any = field(default=None, repr=False)


class Reruns:
    """Runs the original again, and its changed twins, up to the steps that are asked for, in order."""

    def __init__(self, graphs: PairedGraphs, recording: Recording, watch: Watch) -> None:
        self._graphs, self._recording, self._watch = graphs, recording, watch
        self._sides: list[Side] = []  #: the original and its twins, once they are asked for
        self._step = 0
        self._values: list[Mapping[str, Any]] = [{}] * (1 + len(SEEDS))

    def agrees(self, deviation: Deviation) -> bool:
        """Whether the original gives the same value again."""
        return deviation.original is None or not self._gaps(deviation)[0].differs

    def moved_by(self, deviation: Deviation) -> Gap:
        """Return the greatest difference between the original and its twins in what was found."""
        return max(self._gaps(deviation)[1:], key=lambda difference: difference.amount)

    def close(self) -> None:
        """End all sessions."""
        for side in self._sides:
            side.close()

    def _gaps(self, deviation: Deviation) -> list[Gap]:
        if not self._sides:
            self._start()
        while self._step < deviation.step:
            self._run(self._step)
            self._step += 1
        values = (
            _value_of(self._graphs, side, deviation, known)
            for side, known in zip(self._sides, self._values, strict=True)
        )
        return [gap(deviation.original, value, deviation.gap.limit, deviation.gap.scale) for value in values]

    def _start(self) -> None:
        self._sides = [Side(self._graphs.original.definition) for _ in self._values]
        started, (self._plain, *self._twins) = dict(self._graphs.started), self._sides
        self._plain.start(started)
        parts = [part for table in self._graphs.plan.tables for part in table.pieces]
        rows = self._plain.values(part.name for part in parts)
        for side, seed in zip(self._twins, SEEDS, strict=True):
            side.start({**started, **{str(part.initial): nudged(rows[part.name], seed) for part in parts}})

    def _run(self, number: int) -> None:
        """Run a step; the twins use the original's gradients, as the rewritten graph did."""
        step = self._recording.steps[number]
        watched = self._watch.of(step)
        before = [str(pair.original) for pair in watched.before]
        within = [str(pair.original) for pair in watched.within]
        known = [side.run([], step.feeds, before) for side in self._sides]
        own = self._plain.run(step.fetches, step.feeds, [*within, *watched.forced])
        feeds = {**step.feeds, **{name: own[name] for name in watched.forced}}
        others = [side.run(step.fetches, feeds, within) for side in self._twins]
        self._values = [{**one, **later} for one, later in zip(known, [own, *others], strict=True)]


def _value_of(graphs: PairedGraphs, side: Side, deviation: Deviation, values: Mapping[str, Any]) -> Any:
    """Return the value of `deviation` in the original on `side`, which is at that step; `values` are its results."""
    if deviation.pair is not None:
        return deviation.pair.of_table(values[str(deviation.pair.original)])
    if deviation.table is None:
        return side.variable(deviation.item)
    slots = deviation.table.table.pieces[0].slots
    keys = np.arange(deviation.table.table.rows) if deviation.keys is None else deviation.keys
    return graphs.rows_of(
        side, deviation.table.table, keys, slots.index(deviation.item) if deviation.item in slots else None
    )


#: A pair, with its values in the original and in the rewritten graph.
Valued = tuple[Pair, Any, Any]


def run_before(graphs: PairedGraphs, step: Step, watched: Watched) -> list[Valued]:
    """Compute the values of a step that do not depend on its writes.

    Raises:
        ValueError: the original fails.
        tf.errors.OpError: the rewritten graph fails.
    """
    original = _original(graphs, [], step, [pair.original for pair in watched.before])
    moved = graphs.moved.run([], step.feeds, [str(pair.moved) for pair in watched.before])
    return _valued(watched.before, original, moved)


def run_step(graphs: PairedGraphs, step: Step, watched: Watched) -> tuple[list[Valued], dict[str, Any]]:
    """Run a step, the rewritten graph with the original's gradients; also return the ids of lookups.

    Raises:
        ValueError: the original fails.
        tf.errors.OpError: the rewritten graph fails.
    """
    ids = {pair.item: str(pair.original) for pair in watched.before if pair.kind == "ids"}
    wanted = [*(pair.original for pair in watched.within), *watched.forced, *ids.values()]
    original = _original(graphs, step.fetches, step, wanted)
    feeds = {**step.feeds, **{name: original[name] for name in watched.forced}}
    moved = graphs.moved.run(step.fetches, feeds, [str(pair.moved) for pair in watched.within])
    return _valued(watched.within, original, moved), {item: original[name] for item, name in ids.items()}


def _original(graphs: PairedGraphs, fetches: Sequence[str], step: Step, wanted: Iterable[Any]) -> dict[str, Any]:
    try:
        return graphs.original.run(fetches, step.feeds, map(str, wanted))
    except tf.errors.OpError as error:
        raise ValueError(f"a recorded step of the original cannot be run again: {reason_of(error)}") from error


def _valued(pairs: Sequence[Pair], original: dict[str, Any], moved: dict[str, Any]) -> list[Valued]:
    values = ((pair, original[str(pair.original)], moved[str(pair.moved)]) for pair in pairs)
    return [(pair, pair.of_table(first), second) for pair, first, second in values]


#: State that a step passes to the next. While all of it is equal to the last bit, rounding explains no difference.
_STATE = ("rows looked up", "touched rows", "slots of touched rows", "dense variables")


class Comparison:
    """Compares step by step; counts are in `tally`."""

    def __init__(self, graphs: PairedGraphs, recording: Recording, tolerance: float, losses: Collection[str]) -> None:
        self.graphs, self.recording = graphs, recording
        self.tally = Tally(tolerance)
        self.watch = Watch(graphs, losses)
        self.notes: list[str] = []
        self._control = Reruns(graphs, recording, self.watch)

    def run(self) -> Deviation | None:
        """Return the first difference; None if there is none.

        Values that the original does not reproduce in a second run are left out, with a note. So are values that change
        as much in the original when its tables' first rows change in their last digits.

        Raises:
            ValueError: the original graph does not run.
        """
        self.graphs.start()
        left_out: set[tuple[str, str]] = set()
        try:
            for deviation in self._differences():
                item = deviation.kind, deviation.item
                if item in left_out:
                    self.tally.drop(*item)
                elif reason := self._why_left_out(deviation):
                    left_out.add(item)
                    self.tally.drop(*item)
                    self.notes.append(f"{deviation.kind} of `{deviation.item}` are left out: {reason}")
                else:
                    return deviation
        finally:
            self.graphs.close()
            self._control.close()
        self._note_missing()
        return None

    def _why_left_out(self, deviation: Deviation) -> str:
        """Return why a difference says nothing about the rewrite; an empty string if it does."""
        if not self._control.agrees(deviation):
            return "two runs of the original differ in them, too"
        drifted = self.tally.differ(_STATE)
        if not drifted or not deviation.step or deviation.original is None or not deviation.gap.limit:
            return ""
        nudge = self._control.moved_by(deviation).amount
        figures = f"they differ by {deviation.gap.amount:.2g} of {deviation.gap.scale:.2g} at step {deviation.step}"
        compared = f"the original with its first rows changed in the last digit differs by {nudge:.2g}"
        if math.isfinite(nudge) and deviation.gap.amount <= allowed(deviation.step, nudge):
            return f"{figures}, and {compared}"
        if nudge > deviation.gap.limit * deviation.gap.scale:
            self.notes.append(f"{deviation.kind} of `{deviation.item}`: {figures}; {compared}, so this is not rounding")
        return ""

    def _note_missing(self) -> None:
        """Note which lookups and updates of the tables were not compared."""
        trained, view = self.tally.items("updated ids"), self.graphs.original.view
        for table in (table.table for table in self.graphs.tables):
            inside = [one.op for one in table.lookups if one.op not in view]
            if inside:
                self.notes.append(f"functions look `{table.name}` up: their results were compared, these ids were not")
            elif any(one.gradients for one in table.updates) and table.name not in trained:
                self.notes.append(f"no step trains `{table.name}`: its lookups were compared, its updates were not")

    def _differences(self) -> Iterator[Deviation]:
        yield from self._variables(0, "initial values")
        yield from self._whole(0, "initial values")
        for number, step in enumerate(self.recording.steps, 1):
            yield from self._step(number, step)
        yield from self._whole(len(self.recording.steps), "all rows at the end")

    def _step(self, number: int, step: Step) -> Iterator[Deviation]:
        try:
            watched = self.watch.of(step)
            yield from self._compared(number, run_before(self.graphs, step, watched))
            within, ids = run_step(self.graphs, step, watched)
            yield from self._compared(number, within)
            yield from self._variables(number, "dense variables")
            for table in self.graphs.tables:
                yield from self._touched(number, table, ids, watched)
        except tf.errors.OpError as error:
            op = error.op.name if error.op is not None else ""
            detail = f"the rewritten graph fails at `{op}`: {reason_of(error)}"
            yield Deviation(number, "the run", op, Gap(np.inf, 1.0, 0.0), detail, None)

    def _compared(self, number: int, values: Iterable[Valued]) -> Iterator[Deviation]:
        for pair, original, moved in values:
            gap = self.tally.add(pair.kind, pair.item, *_keys(pair, original, moved))
            if gap.differs:
                yield Deviation(number, pair.kind, pair.item, gap, where(original, moved), original, pair)

    def _variables(self, number: int, kind: str) -> Iterator[Deviation]:
        original, moved = (side.values(self.graphs.variables) for side in (self.graphs.original, self.graphs.moved))
        for name in self.graphs.variables:
            yield from self._differ(number, kind, name, original[name], moved[name], None)

    def _touched(self, number: int, table: MovedTable, ids: dict[str, Any], watched: Watched) -> Iterator[Deviation]:
        """Compare the rows that a step looked up, as they are after it, and their slots if the step updated them."""
        looked_up = [np.ravel(keys_of(one, ids[one.op])) for one in table.table.lookups if one.op in ids]
        if not looked_up:
            return
        keys = np.unique(np.concatenate(looked_up).astype(np.int64))
        name, stock = table.table.name, functools.partial(self.graphs.stock_rows, table.table, keys)
        values, slots = self._sorted(table, keys)
        yield from self._differ(number, "touched rows", name, stock(), values, table, keys)
        updated = any(one.kind == "updated ids" and one.item == name for one in (*watched.before, *watched.within))
        for i, slot in enumerate(table.table.pieces[0].slots if updated else ()):
            own = slots[:, i * table.table.dim : (i + 1) * table.table.dim]
            yield from self._differ(number, "slots of touched rows", slot, stock(i), own, table, keys)

    def _whole(self, steps: int, kind: str) -> Iterator[Deviation]:
        for table in self.graphs.tables:
            original = self.graphs.stock_rows(table.table, np.arange(table.table.rows))
            moved = self._sorted(table, np.arange(table.table.rows))[0]
            yield from self._differ(steps, kind, table.table.name, original, moved, table)

    def _sorted(self, table: MovedTable, keys: Any) -> tuple[Any, Any]:
        """Return rows and slots of the table by sorted keys; missing rows are NaN."""
        known, values, slots, meta = self.graphs.moved.snapshot(table.handle)
        if len(table.table.optimizers) > 1:
            slots = _by_optimizer(table.table, slots, int(meta[4]))
        order = np.argsort(known)
        if not known.size:
            return np.full([len(keys), table.table.dim], np.nan), np.full([len(keys), 0], np.nan)
        places = order[np.minimum(np.searchsorted(known, keys, sorter=order), len(order) - 1)]
        present = (known[places] == keys)[:, None]
        return np.where(present, values[places], np.nan), np.where(present, slots[places], np.nan)

    def _differ(
        self,
        number: int,
        kind: str,
        item: str,
        original: Any,
        moved: Any,
        table: MovedTable | None,
        keys: Any = None,
    ) -> Iterator[Deviation]:
        gap = self.tally.add(kind, item, original, moved)
        if gap.differs:
            yield Deviation(number, kind, item, gap, where(original, moved), original, None, table, keys)


def _keys(pair: Pair, original: Any, moved: Any) -> tuple[Any, Any]:
    """Compare ids of int32 and int64 as equal."""
    exact = pair.kind in ("ids", "updated ids")
    return (original.astype(np.int64), moved.astype(np.int64)) if exact else (original, moved)


def _by_optimizer(table: Table, slots: Any, kind: int) -> Any:
    """Return the slots [n, slots * dim] in the order of the optimizers; those of one without a step are its starts."""
    places, at = {}, 0
    for number, rule in sets_of(kind):
        places[number] = at
        at += len(UPDATE_RULES[rule].slots) * table.dim
    parts = [np.zeros([len(slots), 0], np.float32)]
    for number, optimizer in enumerate(table.optimizers):
        first, width = places.get(number), len(optimizer.slots) * table.dim
        fresh = np.repeat(np.asarray(optimizer.starts, np.float32), table.dim)[None].repeat(len(slots), 0)
        parts.append(fresh if first is None else slots[:, first : first + width])
    return np.concatenate(parts, 1)
