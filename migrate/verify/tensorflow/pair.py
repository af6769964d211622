"""Runs two TensorFlow programs in worker processes, and compares what they record."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from migrate.report.model import Comparison, Memory, Verification
from migrate.verify import compare, workers
from migrate.verify.comparer import Comparer
from migrate.verify.drift import Drift
from migrate.verify.keras import pair as keras
from migrate.verify.recording import STAGE, Array, Moment, Recording, memory_of
from migrate.verify.settings import Settings
from migrate.verify.tensorflow import partitioned_variables
from migrate.verify.tensorflow.measure import slots_of

Result = Mapping[str, Any]
_ORIGINAL, _CONVERTED = "migrate.verify.tensorflow.original", "migrate.verify.tensorflow.converted"


def verify(original: str, converted: str, settings: Settings) -> Verification:
    """Run both programs and compare them stage by stage; raises `MigrateError` as `measure`."""
    pair = measure(original, converted, settings)
    return Verification(original, converted, tuple(pair.comparisons()), pair.notes, pair.memory())


def measure(original: str, converted: str, settings: Settings) -> Pair:
    """Run the original, record its batches, and replay them on both programs.

    Raises:
        MigrateError: one of the programs cannot be run, or the two do not match.
    """
    file = Path(original).resolve()
    job = {"directory": str(file if file.is_dir() else file.parent), "settings": settings, "path": original}
    workers.expect(2)
    first = workers.run(_ORIGINAL, job)
    workers.expect((4 if first["traced"] else 2) if "eager" in first else 1)
    return follow(keras.original(job, first["traced"]) if "eager" in first else {**first, **job}, converted)


def follow(first: Result, converted: str) -> Pair:
    """Run a converted program with the recorded batches of the original; raises `MigrateError` as `measure`."""
    if "eager" in first:
        eager, *traced = (Pair(*run) for run in keras.converted(first, converted))
        eager.traced = next(iter(traced), None)
        return eager
    known = {key: first[key] for key in ("directory", "settings", "program", "batches")}
    job = {**known, "state": first["recording"].weights, "path": converted}
    return Pair(first, workers.run(_CONVERTED, job))


class Pair(Comparer):
    """What both programs record, of which tables stand for variables, and their comparisons."""

    def __init__(self, first: Result, second: Result) -> None:
        """Take the results of the workers."""
        #: as the workers gave them, for `follow`: parts of variables are apart
        self.recorded, self.told = first, second
        converted: Recording = second["recording"]
        self.tables = converted.tables
        #: table -> the original's variable
        self.matched = {table.name: name for name, table in self.tables.items()}
        self.freed = {name: one.buckets for name, one in self.tables.items() if one.buckets is not None}
        self.traced: Pair | None = None  #: the same programs as their users run them
        joined = functools.partial(partitioned_variables.joined, parted=second.get("parts", {}))
        own: Recording = joined(first["recording"])
        self._joined, self._last = joined, converted.steps[STAGE][-1].values
        super().__init__(self._with_slots(own), converted)
        #: table -> how its optimizer differs
        self.changed = {table.name: why for name, table in self.tables.items() if (why := self._change(name))}
        job = {key: first[key] for key in ("path", "directory", "settings", "batches", "traced") if key in first}
        job["state"] = first["recording"].weights  # batches are those of a session, Keras makes its own
        self.drift = Drift(own, keras.SIDE if "eager" in first else _ORIGINAL, job, joined)
        self._refer_to(first["double"])

    def _refer_to(self, double: Recording | str | None) -> None:
        """Take the original in float64 as the reference, or the sentence why there is none."""
        self._no_double = double if isinstance(double, str) else ""
        if isinstance(double, Recording):
            self.reference = self._with_slots(self._joined(double))
            self._sides = self.original, self.converted, self.reference

    def _with_slots(self, side: Recording) -> Recording:
        """Return the original's recording with the slots of a table's variable side by side, as those of the table."""
        steps = [replace(one, values={**one.values, **dict(self._slots(one.values))}) for one in side.steps[STAGE]]
        return replace(side, steps={STAGE: steps})

    def _slots(self, values: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
        for name in self.tables:
            slots = [np.asarray(values[slot]).reshape(len(values[slot]), -1) for slot in _slot_names(name, values)]
            of_table = self._last.get(slots_of(name))
            if slots and of_table is not None and of_table.shape[1] == sum(one.shape[1] for one in slots):
                yield slots_of(name), np.concatenate(slots, axis=1)

    @functools.cached_property
    def _all(self) -> Sequence[Comparison]:
        compared = tuple(self._stages())
        if "eager" in self.recorded and any(one.verdict in ("differs", "undetermined") for one in compared):
            self._refer_to(keras.in_float64(self.recorded))
            compared = tuple(self._stages())
        if self.traced and not self.traced.recorded["by_turns"]:
            compared += tuple(replace(one, stage="traced") for one in self.traced.comparisons())
        return compared

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on how the results were obtained."""
        notes = [
            f"table `{table}` replaces the variable `{name}`" for table, name in self.matched.items() if table != name
        ]
        if anew := [f"`{mine}` is `{theirs}`" for mine, theirs in self.told.get("renumbered", {}).items()]:
            more = f" and {len(anew) - 5} more" if len(anew) > 5 else ""
            notes.append(
                "TensorFlow gave variables of the converted program other numbers, so they are matched by the order "
                f"of creation: {', '.join(anew[:5])} of the original{more}; restore no checkpoint of the original "
                "by these names"
            )
        without = dict.fromkeys(pair._no_double for pair in (self, self.traced) if pair and pair._no_double)
        notes += without
        if self.traced and self.traced.recorded["by_turns"]:
            notes.append(
                "both programs train with their functions traced, but these steps are not compared, because some "
                "variables begin to train later than others: give a program with one training step"
            )
        if others := self.recorded.get("others"):
            notes.append(
                "the program runs several training steps by turns: the first of them is compared, what "
                f"{others} other optimizer(s) compute is not; give a program that runs those first, too"
            )
        notes += (
            [
                "the original has random values that cannot be fed, so two runs of it differ: leave them out for the "
                "proof, as by a dropout rate of 0"
            ]
            if self.recorded["random"]
            else []
        )
        notes += [
            f"table `{table.name}` is read in another form than the variable, such as a product with the whole matrix: "
            "its lookups are compared only by the loss and the gradients"
            for name, table in self.tables.items()
            if self.original.passes and not self.is_alike(name)
        ]
        if self.recorded.get("seeded") and (drawn := self._drawn_by_id()):
            notes.append(
                f"the first rows of {', '.join(drawn)} are drawn by id: your own runs of both programs begin with "
                "other values, also of variables that the graph draws after them, even with an equal seed. Here both "
                "began with equal values"
            )
        notes += [f"table `{table}`: {why}" for table, why in self.changed.items()]
        return tuple(notes)

    def _drawn_by_id(self) -> list[str]:
        """Return the tables whose first rows are random, and drawn from the seed and the id."""
        return [
            f"`{table.name}`"
            for table in self.tables.values()
            if table.distribution and any(":constant:" not in part for part in table.distribution.split(";"))
        ]

    def _change(self, name: str) -> str:
        """Return how the optimizer of a table differs from that of its variable, or an empty text."""
        if name in self.converted.in_graph:
            return ""
        if name in self.freed:
            return "each id has a row of its own, in place of its bucket's, and these rows are trained separately"
        before, (title, stock) = self.original.optimizers.get(name, ""), self.converted.optimizers[name]
        if before in stock:
            return ""
        if title == "no optimizer":
            return f"{before} trains it in the original, and no optimizer in the converted program"
        return f"{before or 'no optimizer'} became {title}, which computes other steps"

    def memory(self) -> tuple[Memory, ...]:
        """Return the memory of tables beside that of the variables that they replace."""
        values, memories = self.original.steps[STAGE][-1].values, []
        for name, table in self.tables.items():
            slots = [np.asarray(values[slot]) for slot in _slot_names(name, values)]
            of_table = None if not slots and table.name not in self.changed else slots  # Keras' are not recorded
            held = self.converted.held.get(name)
            memories += memory_of(table.name, held, [np.asarray(values[name])], of_table)
        return tuple(memories)

    def _label(self, name: str, what: str = "table") -> str:
        owner = name.removesuffix(" [slots]")
        return super()._label(owner, "slots" if owner != name and owner in self.tables else what)

    def of_loss(self, result: Comparison, number: int, values: Sequence[Array]) -> Comparison:
        """Return what a loss over steps says: a consequence of a table's optimizer, or the original's own drift."""
        same = 1 if self.freed else 2  # the first loss does not depend on optimizers
        result = self._consequence(result, values[0][:same], values[1][:same])
        first, second = values[:2]
        if self.changed or not len(first) == len(second) == len(self.original.steps[STAGE]):
            return result
        gaps = np.abs(first - second).reshape(len(first), -1).max(axis=1)
        apart = [(at, float(gap)) for at, gap in enumerate(gaps) if gap > result.tolerance * result.scale]
        return self.drift.explained(result, apart, lambda step: step.losses[number])

    def of_step(self, result: Comparison, at: int, name: str) -> Comparison:
        """Return what values after a step say; both first steps start from the same state."""
        if name.endswith(" [slots]"):
            return result
        if not self.changed:
            return self.drift.explained(result, [(at, result.max_abs)], lambda step: step.values[name])
        # A difference at the first of several steps has another cause than a table.
        return result if name in self.tables or (at == 0 and self._several) else self._consequence(result)

    @property
    def _several(self) -> bool:
        return len(self.original.steps[STAGE]) > 1

    def _consequence(self, comparison: Comparison, *start: Array) -> Comparison:
        """Attribute a difference to a table whose optimizer is not equivalent, if there is one."""
        if comparison.verdict != "differs" or not self.changed:
            return comparison
        if start and compare.compare("", "", *start).verdict == "differs":
            return comparison
        cause = "the ids" if self.freed else "the optimizer"
        return compare.change_of_values(comparison, f"follows from {cause} of {', '.join(self.changed)}")

    def values(self, stage: str, name: str, moments: Sequence[Sequence[Moment]]) -> Iterator[Comparison]:
        """Yield the comparisons of a variable or table; of one whose optimizer differs, that its values change."""
        if name in self.freed:
            yield from self._alone(stage, name, moments)
            return
        table = self.tables.get(name.removesuffix(" [slots]"))
        reason = self.changed.get(table.name, "") if table else ""
        for one in super().values(stage, name, moments):
            is_idle = one.name.endswith("[idle rows]") and one.verdict == "equal"
            yield compare.change_of_values(one, reason) if reason and not is_idle else one

    def _alone(self, stage: str, name: str, moments: Sequence[Sequence[Moment]]) -> Iterator[Comparison]:
        """Yield a comparison of the rows, after the first step, of ids that shared their bucket with no other there."""
        places, rows = moments[1][0].values.get(name, ((), ()))
        if name in moments[0][0].values and len(places):
            sides = (np.asarray(moments[side][0].values[name]) for side in (0, 2))
            own, double = (one.reshape(len(one), -1)[places] for one in sides)
            label = self._label(name, "ids alone in their bucket, step 1")
            yield compare.compare(stage, label, own, rows, double)


def _slot_names(name: str, values: Mapping[str, Any]) -> list[str]:
    """Return the slots of a variable of the original, given all of its variables."""
    return [key for key in values if key.startswith(name + "/") and np.shape(values[key]) == np.shape(values[name])]
