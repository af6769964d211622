"""Controls for differences: the original run again, and compared with itself.

Some models have races or read outside state, so that the original does not reproduce its own values. A model can also
magnify rounding: attention with sharp weights turns the last digit of a row into another loss. If the original does so
itself, when its tables' first rows are changed in the last digit, a difference of the same size says nothing about the
rewrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter.graph.reasons import reason_of
from rewriter.nudging import SEEDS, nudged
from rewriter.proof.measure import Gap, gap
from rewriter.proof.paired_graphs import MovedTable, PairedGraphs
from rewriter.proof.recording import Recording, Step
from rewriter.proof.replay import Side
from rewriter.proof.watch import Pair, Watch, Watched

__all__ = ["Found", "Reruns", "Valued", "run_before", "run_step"]


@dataclass(frozen=True)
class Found:
    """A difference: a pair of tensors at a step, or the state of a variable or table after it.

    `one` is the original's value; for a table, that of the rows `keys` if these are given.
    """

    step: int
    kind: str
    item: str
    gap: Gap
    detail: str
    one: Any = field(repr=False)
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

    def agrees(self, found: Found) -> bool:
        """Whether the original gives the same value again."""
        return found.one is None or not self._gaps(found)[0].differs

    def moved_by(self, found: Found) -> Gap:
        """Return the greatest difference between the original and its twins in what was found."""
        return max(self._gaps(found)[1:], key=lambda one: one.amount)

    def close(self) -> None:
        """End all sessions."""
        for side in self._sides:
            side.close()

    def _gaps(self, found: Found) -> list[Gap]:
        if not self._sides:
            self._start()
        while self._step < found.step:
            self._run(self._step)
            self._step += 1
        values = (
            _value_of(self._graphs, side, found, known) for side, known in zip(self._sides, self._values, strict=True)
        )
        return [gap(found.one, value, found.gap.limit, found.gap.scale) for value in values]

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


def _value_of(graphs: PairedGraphs, side: Side, found: Found, values: Mapping[str, Any]) -> Any:
    """Return the value of `found` in the original on `side`, which is at that step; `values` are the step's results."""
    if found.pair is not None:
        return found.pair.of_table(values[str(found.pair.original)])
    if found.table is None:
        return side.variable(found.item)
    slots = found.table.table.pieces[0].slots
    keys = np.arange(found.table.table.rows) if found.keys is None else found.keys
    return graphs.rows_of(side, found.table.table, keys, slots.index(found.item) if found.item in slots else None)


#: A pair, with its values in the original and in the rewritten graph.
Valued = tuple[Pair, Any, Any]


def run_before(graphs: PairedGraphs, step: Step, watched: Watched) -> list[Valued]:
    """Compute the values of a step that do not depend on its writes.

    Raises:
        ValueError: the original fails.
        tf.errors.OpError: the rewritten graph fails.
    """
    one = _original(graphs, [], step, [pair.original for pair in watched.before])
    other = graphs.moved.run([], step.feeds, [str(pair.moved) for pair in watched.before])
    return _valued(watched.before, one, other)


def run_step(graphs: PairedGraphs, step: Step, watched: Watched) -> tuple[list[Valued], dict[str, Any]]:
    """Run a step, the rewritten graph with the original's gradients; also return the ids of lookups.

    Raises:
        ValueError: the original fails.
        tf.errors.OpError: the rewritten graph fails.
    """
    ids = {pair.item: str(pair.original) for pair in watched.before if pair.kind == "ids"}
    wanted = [*(pair.original for pair in watched.within), *watched.forced, *ids.values()]
    one = _original(graphs, step.fetches, step, wanted)
    feeds = {**step.feeds, **{name: one[name] for name in watched.forced}}
    other = graphs.moved.run(step.fetches, feeds, [str(pair.moved) for pair in watched.within])
    return _valued(watched.within, one, other), {item: one[name] for item, name in ids.items()}


def _original(graphs: PairedGraphs, fetches: Sequence[str], step: Step, wanted: Iterable[Any]) -> dict[str, Any]:
    try:
        return graphs.original.run(fetches, step.feeds, map(str, wanted))
    except tf.errors.OpError as error:
        raise ValueError(f"a recorded step of the original cannot be run again: {reason_of(error)}") from error


def _valued(pairs: Sequence[Pair], one: dict[str, Any], other: dict[str, Any]) -> list[Valued]:
    values = ((pair, one[str(pair.original)], other[str(pair.moved)]) for pair in pairs)
    return [(pair, pair.of_table(first), second) for pair, first, second in values]
