"""Runs two TensorFlow programs in worker processes, and compares what they record."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from migrate.report.model import Comparison, Memory, Verification
from migrate.verify import batches, compare, workers
from migrate.verify.batches import Unsteady
from migrate.verify.comparer import Comparer
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
    own: Recording = first["recording"]
    job = {**known, "state": own.weights, "lead": own.steps[STAGE], "path": converted}
    return Pair(first, workers.run(_CONVERTED, job))


#: What random values of a branch or a loop, which cannot be fed, leave open: `measure.random_again` has seen them.
UNFED = Unsteady(
    "the original has random values that cannot be fed, so two runs of it differ: leave them out for the proof, as by "
    "a dropout rate of 0",
    frozenset({"initial", "forward"}),
)


class Pair(Comparer):
    """What both programs record, of which tables stand for variables, and their comparisons."""

    def __init__(self, first: Result, second: Result) -> None:
        """Take the results of the workers."""
        #: as the workers gave them, for `follow`: parts of variables are apart
        self.recorded, self.converted_answer = first, second
        converted: Recording = second["recording"]
        self.tables = converted.tables
        #: table -> the original's variable
        self.matched = {table.name: name for name, table in self.tables.items()}
        self.traced: Pair | None = None  #: the same programs as their users run them
        self.unsteady: Unsteady | None = UNFED if first.get("random") else None
        joined = functools.partial(partitioned_variables.joined, parted=second.get("parts", {}))
        own: Recording = joined(first["recording"])
        self._joined, self._last = joined, converted.steps[STAGE][-1].values
        super().__init__(self._with_slots(own), converted)
        #: table -> how its optimizer differs
        self.changed = {table.name: why for name, table in self.tables.items() if (why := self._change(name))}
        self._refer_to(first["double"])

    def _refer_to(self, double: Recording | str | None) -> None:
        """Take the original in float64 as the reference, or the sentence why there is none."""
        self._no_double = double if isinstance(double, str) else ""
        if isinstance(double, Recording):
            self.reference = self._with_slots(self._joined(double))

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

    def _compared(self) -> tuple[Comparison, ...]:
        compared = super()._compared()
        if "eager" in self.recorded and any(one.verdict in ("differs", "undetermined") for one in compared):
            double, self.unsteady = keras.run_again(self.recorded, self.converted)
            self._refer_to(double)
            compared = super()._compared()
            if any(one.verdict == "differs" for one in compared):
                compared = (*batches.inputs(self.original, self.converted), *compared)
        if self.unsteady:
            compared = tuple(self.unsteady.judged(compared))
        elif self.traced and not self.traced.recorded["by_turns"]:
            compared += tuple(replace(one, stage="traced") for one in self.traced.comparisons())
        return compared

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on how the results were obtained."""
        renamed = ((table, name) for table, name in self.matched.items() if table != name)
        notes = [*super().notes, *(f"table `{table}` replaces the variable `{name}`" for table, name in renamed)]
        if anew := [f"`{mine}` is `{theirs}`" for mine, theirs in self.converted_answer.get("renumbered", {}).items()]:
            more = f" and {len(anew) - 5} more" if len(anew) > 5 else ""
            notes.append(
                "TensorFlow gave variables of the converted program other numbers, so they are matched by the order "
                f"of creation: {', '.join(anew[:5])} of the original{more}; restore no checkpoint of the original "
                "by these names"
            )
        known = [pair for pair in (self, self.traced) if pair and not pair.unsteady]
        notes += dict.fromkeys(pair._no_double for pair in known if pair._no_double)
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
        notes += [
            f"table `{table.name}` is read in another form than the variable, such as a product with the whole matrix: "
            f"its lookups are compared only by the loss and {self._else_compared(name)}"
            for name, table in self.tables.items()
            if self.original.passes and not self.unsteady and not self.is_alike(name)
        ]
        if self.recorded.get("seeded") and (drawn := self._drawn_by_id()):
            notes.append(
                f"the first rows of {', '.join(drawn)} are drawn by id: your own runs of both programs begin with "
                "other values, also of variables that the graph draws after them, even with an equal seed. Here both "
                "began with equal values"
            )
        notes += [f"table `{table}`: {why}" for table, why in self.changed.items()]
        notes += [pair.unsteady.sentence for pair in (self, self.traced) if pair and pair.unsteady]
        return tuple(notes)

    def _else_compared(self, name: str) -> str:
        return "its rows after each step" if name in self.converted.in_graph else "the gradients"

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

    def values(self, stage: str, name: str, moments: Sequence[Sequence[Moment]]) -> Iterator[Comparison]:
        """Yield the comparisons of a variable or table; of one whose optimizer differs, that its values change."""
        table = self.tables.get(name.removesuffix(" [slots]"))
        reason = self.changed.get(table.name, "") if table else ""
        for comparison in super().values(stage, name, moments):
            is_idle = comparison.name.endswith("[idle rows]") and comparison.verdict == "equal"
            yield compare.change_of_values(comparison, reason) if reason and not is_idle else comparison


def _slot_names(name: str, values: Mapping[str, Any]) -> list[str]:
    """Return the slots of a variable of the original, given all of its variables."""
    return [key for key in values if key.startswith(name + "/") and np.shape(values[key]) == np.shape(values[name])]
