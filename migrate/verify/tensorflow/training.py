"""Compares the training steps of two programs, with their own optimizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison, Memory
from migrate.verify import compare, training_record
from migrate.verify.drift import Drift
from migrate.verify.tensorflow.measure import Program

Array = NDArray[Any]
Result = Mapping[str, Any]

#: Optimizer kind -> order of its slots in the stock optimizer, where the two differ.
_SLOTS = {8: (0, 2, 1)}


class Training:
    """Compares losses, variables, slots and rows after every step."""

    def __init__(self, first: Result, double: Result, second: Result, drift: Drift) -> None:
        """Take the results of the original in two precisions, of the converted program, and what explains drift."""
        self.sides, self.drift = (first, second, double), drift
        self.programs: tuple[Program, Program] = (first["program"], second["program"])
        self.tables = self.programs[1].tables
        self.steps: list[tuple[Result, ...]] = list(zip(*(side["steps"] for side in self.sides), strict=True))
        self.freed = {name: one.buckets for name, one in self.tables.items() if one.buckets is not None}
        #: table -> how its optimizer differs
        self.changed = {table.name: why for name, table in self.tables.items() if (why := self._change(name))}

    def notes(self) -> list[str]:
        """Return a note for each table whose optimizer is not equivalent."""
        return [f"table `{table}`: {why}" for table, why in self.changed.items()]

    def comparisons(self) -> Iterator[Comparison]:
        """Yield all comparisons, for each tensor that of its worst step."""
        yield from self.losses()
        for name in self.tables:
            yield from self.rows(name)
        for name in self.programs[0].variables:
            if name in self.programs[1].variables:
                yield self.variable(name)

    def _change(self, name: str) -> str:
        """Return how the optimizer of a table differs from that of its variable, or an empty text."""
        if name in self.programs[1].in_graph:
            return ""
        if name in self.freed:
            return "its ids gave up their buckets: those of one bucket are trained apart from the first step on"
        before, (title, stock) = self.programs[0].optimizers.get(name, ""), self.sides[1]["rules"][name]
        return "" if before in stock else f"{before or 'no optimizer'} became {title}, which computes other steps"

    def losses(self) -> Iterator[Comparison]:
        """Yield comparisons of the losses before each step; the first loss does not depend on optimizers."""
        for i, name in enumerate(self.programs[0].losses):
            values = [compare.stacked([step["losses"][i] for step in side["steps"]]) for side in self.sides]
            kind = "output" if len(self.steps) > 1 else "tensor"
            comparison = compare.compare("optimizer", f"loss {name}", *values, kind=kind)
            same = 1 if self.freed else 2
            comparison = self._consequence(comparison, values[0][:same], values[1][:same])
            comparison = self._explained_loss(comparison, i, values[0], values[1])
            yield training_record.by_step(comparison, *values)

    def memory(self) -> list[Memory]:
        """Return the memory of tables beside that of the variables that they replace."""
        values, memories = self.steps[-1][0]["variables"], []
        for name, table in self.tables.items():
            slots = [np.asarray(values[slot]) for slot in _slots_of(name, values)]
            of_table = None if not slots and table.name not in self.changed else slots  # Keras' are not recorded
            held = self.sides[1]["held"].get(table.name)
            memories += training_record.memory(table.name, held, [np.asarray(values[name])], of_table)
        return memories

    def variable(self, name: str) -> Comparison:
        """Compare a variable that both programs have: a trained variable, a slot or a counter."""
        by_step = []
        for at, step in enumerate(self.steps):
            if all(name in one["variables"] for one in step):
                values = [np.asarray(one["variables"][name]) for one in step]
                if values[0].dtype.kind != "f":
                    comparison = compare.exactly("optimizer", name, values[0], values[1])
                else:
                    comparison = self._explained(compare.compare("optimizer", name, *values), at, name)
                # Both first steps start from the same state, so a difference there has another cause than a table.
                first = at == 0 and len(self.steps) > 1
                by_step.append((at, comparison if first else self._consequence(comparison)))
        return _worst(by_step)

    def _explained_loss(self, comparison: Comparison, number: int, first: Array, second: Array) -> Comparison:
        """Compare differences of a loss, [steps], with the original's from itself."""
        if self.changed or not len(first) == len(second) == len(self.steps):
            return comparison
        gaps = np.abs(first - second).reshape(len(first), -1).max(axis=1)
        apart = [(at, float(gap)) for at, gap in enumerate(gaps) if gap > comparison.tolerance * comparison.scale]
        return self.drift.explained(comparison, apart, lambda step: step["losses"][number])

    def _explained(self, comparison: Comparison, at: int, name: str) -> Comparison:
        """Compare a difference with the original's from itself; both first steps start from the same state."""
        if self.changed:
            return comparison
        return self.drift.explained(comparison, [(at, comparison.max_abs)], lambda step: step["variables"][name])

    def _consequence(self, comparison: Comparison, *start: Array) -> Comparison:
        """Attribute a difference to a table whose optimizer is not equivalent, if there is one."""
        if comparison.verdict != "differs" or not self.changed:
            return comparison
        if start and compare.compare("", "", *start).verdict == "differs":
            return comparison
        cause = "the ids" if self.freed else "the optimizer"
        return compare.change_of_values(comparison, f"follows from {cause} of {', '.join(self.changed)}")

    def rows(self, name: str) -> Iterator[Comparison]:
        """Yield comparisons of a table's rows, its slots, and the rows that the original never changed."""
        if name in self.freed:
            yield from self._alone(name, self.freed[name])
            return
        label, rows, slots = self.tables[name].name, [], []
        for at, step in enumerate(self.steps):
            if name not in step[0]["variables"]:
                continue
            first, wide = (_rows(np.asarray(step[side]["variables"][name])) for side in (0, 2))
            values, extra = _ordered(step[1]["tables"][name], len(first))
            comparison = compare.compare("optimizer", f"{label} [table]", first, values, wide, note=extra)
            comparison = self._explained(comparison, at, name)
            rows.append((at, replace(comparison, verdict="differs") if extra else comparison))
            slots += [(at, one) for one in self._slots(name, step)]
        reason = self.changed.get(label, "")
        for group in filter(None, (rows, slots)):
            yield compare.change_of_values(_worst(group), reason) if reason else _worst(group)
        for one in self._idle(name):
            yield compare.change_of_values(one, reason) if reason and one.verdict != "equal" else one

    def _alone(self, name: str, buckets: Any) -> Iterator[Comparison]:
        """Yield a comparison of the rows, after the first step, of ids that shared their bucket with no other there."""
        first, second, wide = self.steps[0]
        keys, values, *_ = second["tables"][name]
        rows, counts = np.unique(buckets.row_of(keys[keys >= 0]), return_counts=True)
        alone = np.isin(buckets.row_of(keys), rows[counts == 1]) & (keys >= 0)
        if name in first["variables"] and alone.any():
            places = buckets.row_of(keys[alone])
            own, double = (_rows(np.asarray(one["variables"][name]))[places] for one in (first, wide))
            label = f"{self.tables[name].name} [ids alone in their bucket, step 1]"
            yield compare.compare("optimizer", label, own, values[alone], double)

    def _slots(self, name: str, step: tuple[Result, ...]) -> Iterator[Comparison]:
        """Yield a comparison of the optimizer slots if both programs have them."""
        own, (keys, rows, slots, meta, *_) = _slots_of(name, step[0]["variables"]), step[1]["tables"][name]
        width, count = rows.shape[1], len(step[0]["variables"][name])
        if not own or slots.shape[1] != len(own) * width:
            return
        order = np.argsort(keys)
        order = order[(keys[order] >= 0) & (keys[order] < count)]
        slots = slots[order].reshape(len(order), len(own), width)
        slots = slots[:, _SLOTS.get(int(meta[4]), range(len(own)))].reshape(len(order), -1)
        a, wide = (
            np.concatenate([_rows(np.asarray(step[side]["variables"][slot])) for slot in own], axis=1)[keys[order]]
            for side in (0, 2)
        )
        yield compare.compare("optimizer", f"{self.tables[name].name} [slots]", a, slots, wide)

    def _idle(self, name: str) -> Iterator[Comparison]:
        """Yield a comparison of the rows that the original never changed, which must be exactly unchanged."""
        start = _rows(np.asarray(self.sides[0]["state"][name]))
        end = _rows(np.asarray(self.steps[-1][0]["variables"][name]))
        idle = (start == end).all(axis=1)
        moved, _ = _ordered(self.steps[-1][1]["tables"][name], len(start))
        if idle.any():
            label = f"{self.tables[name].name} [idle rows]"
            yield compare.exactly("optimizer", label, end[idle], moved[idle], "first and last values")


def _worst(by_step: Sequence[tuple[int, Comparison]]) -> Comparison:
    return compare.worst([one for _, one in by_step], [f"at step {at + 1}" for at, _ in by_step])


def _slots_of(name: str, values: Mapping[str, Any]) -> list[str]:
    """Return the slots of a variable of the original, given all of its variables."""
    return [key for key in values if key.startswith(name + "/") and np.shape(values[key]) == np.shape(values[name])]


def _rows(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _ordered(snapshot: Any, rows: int) -> tuple[Array, str]:
    """Return rows 0, 1, 2, … of a table, and a message about keys out of range, if any."""
    keys, values = snapshot[0], snapshot[1]
    extra = keys[(keys < 0) | (keys >= rows)]
    result = np.full((rows, values.shape[1]), np.nan, values.dtype)
    inside = (keys >= 0) & (keys < rows)
    result[keys[inside]] = values[inside]
    return result, f"{len(extra)} keys that the variable does not have, the smallest is {extra.min()}" if len(
        extra
    ) else ""
