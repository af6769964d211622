"""Compares the training steps of two programs, with their own optimizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison, Memory
from migrate.verify import compare, training_record
from migrate.verify.drift import Drift
from migrate.verify.tensorflow.measure import Program
from runtime.native.update_rules import UPDATE_RULES

Array = NDArray[Any]
Result = Mapping[str, Any]

#: Optimizer kind -> order of its slots in the stock optimizer, where the two differ.
_SLOTS = {8: (0, 2, 1)}


class Training:
    """Compares losses, variables, slots and rows after every step."""

    def __init__(self, first: Result, double: Result, second: Result, drift: Drift) -> None:
        """Take the results of the original in two precisions, of the converted program, and what explains drift."""
        self.sides, self.drift = (first, double, second), drift
        self.programs: tuple[Program, Program] = (first["program"], second["program"])
        self.matched: Mapping[str, str] = second["matched"]
        self.moments = [f"at step {i + 1}" for i in range(len(first["steps"]))]
        self.freed = {name: one.buckets for name, one in self.programs[1].tables.items() if one.buckets is not None}
        self.changed = {table: why for table in self.matched if (why := self._change(table))}

    def notes(self) -> list[str]:
        """Return a note for each table whose optimizer is not equivalent."""
        return [f"table `{table}`: {why}" for table, why in self.changed.items()]

    def comparisons(self) -> Iterator[Comparison]:
        """Yield all comparisons, for each tensor that of its worst step."""
        yield from self.losses()
        for table in self.matched:
            yield from self.rows(table)
        for name in self.programs[0].variables:
            if name in self.programs[1].variables:
                yield self.variable(name)

    def _change(self, table: str) -> str:
        """Return how the optimizer of a table differs from that of its variable, or an empty text."""
        if table in self.programs[1].in_graph:
            return ""
        if table in self.freed:
            return "its ids gave up their buckets: those of one bucket are trained apart from the first step on"
        kind = int(self.sides[2]["steps"][-1]["tables"][table][3][4])
        before = self.programs[0].optimizers.get(self.matched[table], "")
        rule = UPDATE_RULES.get(kind)
        if rule is not None and before in rule.stock:
            return ""
        return (
            f"{before or 'no optimizer'} became {rule.title or rule.name if rule else kind}, which computes other steps"
        )

    def losses(self) -> Iterator[Comparison]:
        """Yield comparisons of the losses before each step; the first loss does not depend on optimizers."""
        for i, name in enumerate(self.programs[0].losses):
            first, wide, second = (compare.stacked([s["losses"][i] for s in side["steps"]]) for side in self.sides)
            kind = "output" if len(self.moments) > 1 else "tensor"
            comparison = compare.compare("optimizer", f"loss {name}", first, second, wide, kind=kind)
            same = 1 if self.freed else 2
            comparison = self._consequence(comparison, first[:same], second[:same])
            comparison = self._explained_loss(comparison, i, first, second)
            yield training_record.by_step(comparison, first, second, wide)

    def memory(self) -> list[Memory]:
        """Return the memory of tables beside that of the variables that they replace."""
        values, memories = self.sides[0]["steps"][-1]["variables"], []
        for table, name in self.matched.items():
            whole = np.asarray(values[name])
            slots = [np.asarray(values[slot]) for slot in self._slot_names(name, self.sides[0]["steps"][-1])]
            of_table = None if not slots and table not in self.changed else slots  # Keras' slots are not recorded
            memories += training_record.memory(table, self.sides[2]["held"].get(table), [whole], of_table)
        return memories

    @staticmethod
    def _slot_names(name: str, step: Result) -> list[str]:
        shape = np.shape(step["variables"][name])
        return [k for k, v in step["variables"].items() if k.startswith(name + "/") and np.shape(v) == shape]

    def variable(self, name: str) -> Comparison:
        """Compare a variable that both programs have: a trained variable, a slot or a counter."""
        by_step, last = [], len(self.moments) - 1
        for at, steps in enumerate(zip(*(side["steps"] for side in self.sides), strict=True)):
            if all(name in step["variables"] for step in steps):
                a, wide, b = (np.asarray(step["variables"][name]) for step in steps)
                whole = a.dtype.kind != "f"
                if whole:
                    comparison = compare.exactly("optimizer", name, a, b)
                else:
                    comparison = self._explained(compare.compare("optimizer", name, a, b, wide), at, name)
                # Both first steps start from the same state, so a difference there has another cause than a table.
                by_step.append((comparison if at == 0 and last else self._consequence(comparison), at))
        return compare.worst([c for c, _ in by_step], [self.moments[at] for _, at in by_step])

    def _explained_loss(self, comparison: Comparison, number: int, first: Array, second: Array) -> Comparison:
        """Compare differences of a loss, [steps], with the original's from itself."""
        if self.changed or not len(first) == len(second) == len(self.moments):
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

    def rows(self, table: str) -> Iterator[Comparison]:
        """Yield comparisons of a table's rows, its slots, and the rows that the original never changed."""
        if table in self.freed:
            yield from self._alone(table, self.freed[table])
            return
        name, rows, slots = self.matched[table], [], []
        for at, steps in enumerate(zip(*(side["steps"] for side in self.sides), strict=True)):
            if name not in steps[0]["variables"]:
                continue
            first, wide = (_rows(np.asarray(step["variables"][name])) for step in steps[:2])
            values, extra = _ordered(steps[2]["tables"][table], len(first))
            comparison = compare.compare("optimizer", f"{table} [table]", first, values, wide, note=extra)
            comparison = self._explained(comparison, at, name)
            rows.append((replace(comparison, verdict="differs") if extra else comparison, at))
            slots += [(slot, at) for slot in self._slots(table, steps)]
        reason = self.changed.get(table, "")
        for group in (rows, slots):
            if group:
                folded = compare.worst([c for c, _ in group], [self.moments[at] for _, at in group])
                yield compare.change_of_values(folded, reason) if reason else folded
        yield from self._idle(table, name, reason)

    def _alone(self, table: str, buckets: Any) -> Iterator[Comparison]:
        """Yield a comparison of the rows, after the first step, of ids that shared their bucket with no other there."""
        sides = [side["steps"][0] for side in self.sides]
        name, (keys, values, *_) = self.matched[table], sides[2]["tables"][table]
        rows, counts = np.unique(buckets.row_of(keys[keys >= 0]), return_counts=True)
        alone = np.isin(buckets.row_of(keys), rows[counts == 1]) & (keys >= 0)
        if name in sides[0]["variables"] and alone.any():
            places = buckets.row_of(keys[alone])
            first, wide = (_rows(np.asarray(side["variables"][name]))[places] for side in sides[:2])
            label = f"{table} [ids alone in their bucket, step 1]"
            yield compare.compare("optimizer", label, first, values[alone], wide)

    def _slots(self, table: str, steps: Any) -> Iterator[Comparison]:
        """Yield a comparison of the optimizer slots if both programs have them."""
        name, snapshot = self.matched[table], steps[2]["tables"][table]
        shape = np.shape(steps[0]["variables"][name])
        own = self._slot_names(name, steps[0])
        touched, width = snapshot[0], snapshot[1].shape[1]
        if not own or snapshot[2].shape[1] != len(own) * width:
            return
        inside = touched[(touched >= 0) & (touched < shape[0])]
        order = np.argsort(touched)
        slots = snapshot[2][order][: len(inside)].reshape(len(inside), len(own), width)
        slots = slots[:, _SLOTS.get(int(snapshot[3][4]), range(len(own)))].reshape(len(inside), -1)
        a, wide = (np.concatenate([_rows(np.asarray(s["variables"][k])) for k in own], axis=1) for s in steps[:2])
        yield compare.compare("optimizer", f"{table} [slots]", a[np.sort(inside)], slots, wide[np.sort(inside)])

    def _idle(self, table: str, name: str, reason: str) -> Iterator[Comparison]:
        """Yield a comparison of the rows that the original never changed, which must be exactly unchanged."""
        start = _rows(np.asarray(self.sides[0]["state"][name]))
        end = _rows(np.asarray(self.sides[0]["steps"][-1]["variables"][name]))
        idle = (start == end).all(axis=1)
        moved, _ = _ordered(self.sides[2]["steps"][-1]["tables"][table], len(start))
        if idle.any():
            comparison = compare.exactly(
                "optimizer", f"{table} [idle rows]", end[idle], moved[idle], "first and last values"
            )
            yield (
                compare.change_of_values(comparison, reason) if reason and comparison.verdict != "equal" else comparison
            )


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
