"""Compares two recordings, stage by stage: one comparer for every framework. Pure numpy."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.report.model import Comparison, Memory
from migrate.verify import compare, distributions, rounding, workers
from migrate.verify.recording import Moment, Recording, after_steps, by_step, memory_of, unpacked

Array = NDArray[Any]


class Comparer:
    """Two recordings, and what float64 says of the first."""

    def __init__(
        self,
        original: Recording,
        converted: Recording,
        reference: Recording | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Take the recordings of both programs, that of the original in float64, if there is one, and notes."""
        self._notes = notes
        self.original, self.converted = original, converted
        self.reference = original if reference is None else reference
        self._unsure: set[str] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return how the recordings were made, and which ids gave up their buckets."""
        if not self.converted.freed:
            return self._notes
        freed = ", ".join(f"`{name}`" for name in self.converted.freed)
        return (
            *self._notes,
            f"each id of {freed} has a row of its own, in place of its bucket's: after the first step that trains "
            "them, the rows of one bucket differ on purpose, and later steps are not compared",
        )

    @property
    def _sides(self) -> tuple[Recording, Recording, Recording]:
        return self.original, self.converted, self.reference

    def undetermined(self) -> set[str]:
        """Return the weights whose gradients or running values these batches do not determine, in the original either.

        An example is a maximum over a sequence that ends in padding: a recurrent layer comes to rest there, and how
        many of its values are the largest is a matter of their last place. Paddle gives each the whole gradient.
        """
        self.comparisons()
        return self._unsure

    def trains(self) -> bool:
        """Return whether a gradient is more than 0 and rounding on these batches; else a step shows nothing."""
        values = (self._on_batches(name) for name in self._gradient_names() if name not in self.undetermined())
        return any(not rounding.is_cancelled(np.concatenate([first, second]), wide) for first, second, wide in values)

    def comparisons(self) -> Sequence[Comparison]:
        """Return all comparisons, stage by stage."""
        return self._all

    @functools.cached_property
    def _all(self) -> Sequence[Comparison]:
        workers.begin("comparing")
        return self._compared()

    def _compared(self) -> tuple[Comparison, ...]:
        compared = ((one, self.converted.apart.get(one.stage, "")) for one in self._stages())
        return tuple(
            compare.change_of_values(one, reason) if reason and one.verdict == "differs" else one
            for one, reason in (*compared, *self._of_shared_buckets())
        )

    def _of_shared_buckets(self) -> Iterator[tuple[Comparison, str]]:
        """Yield comparisons of the rows of ids that shared a bucket in a step, and why they may differ."""
        for stage, steps in self.converted.steps.items():
            for step, own in zip(steps, self.original.steps.get(stage, ()), strict=False):
                for name, (rows, values) in step.shared.items():
                    trained = rows != self.converted.padding.get(name)
                    if trained.any() and name in own.values:
                        whole = unpacked(own.values[name], self.original.weights[name])[rows[trained]]
                        comparison = compare.compare(
                            stage, f"{name} [ids that shared a bucket]", whole, values[trained]
                        )
                        yield comparison, "rows of one bucket are trained separately, on purpose"

    def _stages(self) -> Iterator[Comparison]:
        yield from self.initial()
        if self.original.passes:
            yield from self.outputs("forward")
            yield from self._losses("loss", [side.passes for side in self._sides])
            yield from self.gradients()
            for stage in ("running", "metrics", "evaluation"):
                yield from self.outputs(stage)
        for stage in self.original.steps:
            if stage in self.converted.steps:
                yield from self.steps(stage)

    def memory(self) -> tuple[Memory, ...]:
        """Return what the tables take beside the original's matrices, each with the slots of the last optimizer."""
        held = self.converted.held.items()
        weights = self.original.weights
        return tuple(one for name, own in held for one in memory_of(name, own, [weights[name]], None))

    def _label(self, name: str, what: str = "table") -> str:
        """Return the name of a variable in the report: that of the table in its place, with what is compared of it."""
        variable, again, number = name.partition(" #")
        table = self.converted.tables.get(variable)
        return f"{table.name}{again}{number} [{what}]" if table else name

    def initial(self) -> Iterator[Comparison]:
        """Yield comparisons of initial values: of constants exactly, of drawn ones by their distributions."""
        for name, second in self.converted.initial.items():
            if name in self.original.initial:
                distribution = self.original.distributions.get(name)
                both = distribution, self.converted.distributions.get(name, distribution)
                first, second = compare.alike([self.original.initial[name], second])
                if name in self.converted.padding:
                    first, second = (np.delete(one, self.converted.padding[name], axis=0) for one in (first, second))
                yield distributions.compare_initial(self._label(name), first, second, *both)
        for name, number in self.original.untrained.items():
            own = self.converted.untrained.get(name, number)
            if number != own and not math.isnan(number):
                note = "it is not trained; passes and steps begin with the original's value"
                yield compare.exactly("initial", name, np.array(number), np.array(own), note)

    def outputs(self, stage: str) -> Iterator[Comparison]:
        """Yield comparisons of the tensors of a stage, each over all batches."""
        wide = self.reference if stage in self.reference.passes[0].outputs else self.original
        sides = [[one.outputs.get(stage, {}) for one in side.passes] for side in (self.original, self.converted, wide)]
        names = [name for name in sides[0][0] if sides[1][0]]
        for name in names:
            if name not in sides[1][0] and not self.converted.tables:
                yield compare.missing(stage, name, "the converted program does not have it")
            if name not in sides[1][0] or (name in self.converted.tables and not self.is_alike(name)):
                continue
            parts = [[batch[name] for batch in side] for side in sides]
            if not isinstance(parts[0][0], list | tuple):
                yield self._output(stage, name, parts)
                continue
            counts = {len(batch) for side in parts for batch in side}
            if len(counts) != 1:
                raise MigrateError(
                    f"the original returns {len(parts[0][0])} outputs and the converted model {len(parts[1][0])}; "
                    "convert it again"
                )
            table = self.converted.tables.get(name)
            for at in range(counts.pop()):
                label = f"{table.name} lookup {at}" if table else f"{name} {at}"
                yield self._output(stage, label, [[batch[at] for batch in side] for side in parts], bool(table))

    def is_alike(self, name: str) -> bool:
        """True if both programs look as often up in a table and its variable, and as many rows."""
        looked_up = [[batch.outputs["forward"][name] for batch in side.passes] for side in self._sides[:2]]
        return all(
            [np.size(rows) for rows in a] == [np.size(rows) for rows in b] for a, b in zip(*looked_up, strict=True)
        )

    def _output(self, stage: str, name: str, sides: Sequence[Sequence[Array]], of_rows: bool = False) -> Comparison:
        varied = self.original.varied and stage in ("forward", "evaluation")
        if of_rows:
            shapes = [np.shape(rows) for rows in sides[1]]
            values = [
                compare.concatenated(
                    [compare.by_row(np.reshape(v, shape)) for v, shape in zip(side, shapes, strict=True)]
                )
                for side in sides
            ]
        else:
            values = [np.concatenate(side) if varied else compare.flat(side) for side in sides]
        result = compare.compare(stage, name, *values, kind="output" if varied else "tensor")
        if stage not in ("running", "metrics"):
            return result
        return self._sure(result, values[0], self.original.noise, False)

    def _losses(self, stage: str, sides: Sequence[Sequence[Moment]]) -> Iterator[Comparison]:
        """Yield comparisons of losses over batches, or before each step, with those of steps in their order."""
        for number, name in enumerate(self.original.losses):
            joined = compare.stacked if self.original.varied else compare.flat
            values = [joined([one.losses[number] for one in side]) for side in sides]
            varied = self.original.varied and len(values[0]) > 1
            result = compare.compare(stage, name, *values, kind="output" if varied else "tensor")
            if sides[0] is not self.original.passes:
                result = by_step(result, *values)
            yield result

    def _gradient_names(self) -> list[str]:
        sides = (self.original, self.converted)
        return list(dict.fromkeys(name for side in sides for batch in side.passes for name in batch.gradients))

    def gradients(self) -> Iterator[Comparison]:
        """Yield comparisons of all gradients; of rows by their ids, with the rows of equal ids summed."""
        for name in self._gradient_names():
            if name.partition(" #")[0] in self.converted.in_graph:
                continue  # its steps are compared
            if self.original.varied and self._has(self.original, name) and not self._has(self.converted, name):
                yield compare.missing("gradient", self._label(name), "the converted program has no gradient for it")
            elif self.is_compared(name):
                values = self._on_batches(name)
                result = compare.compare("gradient", self._label(name), *values, kind="gradient")
                yield self._sure(result, values[0], self.original.noise)

    @staticmethod
    def _has(side: Recording, name: str) -> bool:
        return any(batch.gradients.get(name) is not None for batch in side.passes)

    def is_compared(self, name: str) -> bool:
        """Return whether a loss depends on a variable; of weights that are not drawn, whether a gradient is not 0.

        `trains` may ask other batches then.
        """
        values = self._on_batches(name)
        if self.original.varied:
            return self._has(self.original, name) or bool(values[1].any())
        return any(value.any() for value in values)

    def _on_batches(self, name: str) -> list[Array]:
        """Return the gradients of a variable on all batches: in the original, the converted program, and float64."""
        moments = list(zip(*(side.passes for side in self._sides), strict=True))
        by_batch = [self._gradients_of(name, one) for one in moments]
        return [compare.flat(side) for side in zip(*by_batch, strict=True)]

    def _gradients_of(self, name: str, moments: Sequence[Moment]) -> list[Array]:
        """Return the gradients of a variable in one moment of each side, but for the padding row.

        Where any is of rows, these are summed by their ids, and there are those that any side has.
        """
        gradients = [one.gradients.get(name) for one in moments]
        padding = self.converted.padding.get(name)
        if any(isinstance(one, tuple | list) for one in gradients):
            return compare.by_id(gradients, padding)
        like = next((np.asarray(one) for one in gradients if one is not None), None)
        if like is None:  # another optimizer's step
            return [np.zeros(0)] * len(gradients)
        return [self._rows(name, np.zeros_like(like) if one is None else np.asarray(one)) for one in gradients]

    def _rows(self, name: str, value: Array) -> Array:
        """Return the values without the padding row, which Paddle trains under `sparse=True`, but never reads.

        Buckets that several ids shared in the steps are left out as well: their ids are compared by themselves.
        """
        padding = self.converted.padding.get(name)
        moments = [one for steps in self.converted.steps.values() for one in steps if name in one.shared]
        out = [*(one.shared[name][0] for one in moments), *([] if padding is None else [np.array([padding])])]
        return np.delete(value, np.concatenate(out), axis=0) if out else value

    def steps(self, stage: str) -> Iterator[Comparison]:
        """Yield comparisons of the losses, and for each tensor that of its worst step."""
        count = len(self.converted.steps[stage]) if self.converted.freed else None  # the original may make more
        moments = [side.steps.get(stage, self.original.steps[stage])[:count] for side in self._sides]
        alone = self.original.follows and not self.original.passes  # of a program, only steps are known
        yield from self._losses("loss" if alone else stage, moments)
        names = dict.fromkeys(name for one in moments[0] for name in one.values)
        for name in dict.fromkeys([*self.converted.tables, *names]):
            if not any(name in one.values for one in moments[1]):
                if alone or name in self.original.initial or self._is_kept(name.rpartition("/")[0]):
                    yield compare.missing(stage, self._label(name), "the converted program does not have it")
            elif self.original.follows:
                results = list(self._movements(stage, name, moments))
                parts = [[one for one in results if ("gradient" in one[1]) == of] for of in (True, False)]
                for part, own in zip(parts, ("gradient", stage), strict=True) if alone else [(results, stage)]:
                    if part:
                        yield replace(compare.worst(*zip(*part, strict=True)), stage=own)
            else:
                yield from self.values(stage, name, moments)

    def _is_kept(self, name: str) -> bool:
        """Return whether both programs have a variable of this name, whose slots are then compared."""
        return name in self.original.initial and name in self.converted.initial.keys() - self.converted.tables.keys()

    def values(self, stage: str, name: str, moments: Sequence[Sequence[Moment]]) -> Iterator[Comparison]:
        """Yield the comparison of a variable after its worst step, and of rows that the original never changed.

        Where each step begins with the original's weights, it is of how far they move in each, and in all together.
        """
        label, steps, moved, idle, results = self._label(name), [], [], [], []
        start = before = self.original.weights.get(name)
        moves = self.converted.follows and name in self.original.initial
        for at, sides in enumerate(zip(*(after_steps(name, start, steps) for steps in moments), strict=True)):
            if any(side is None for side in sides):
                before = None  # as of large ones, of which the last values alone are known
                continue
            after = [self._rows(name, side) for side in compare.alike(sides)]
            if moves and before is not None and len({one.shape for one in after}) == 1:
                before = self._rows(name, compare.alike([before, sides[1]])[0])
                moved.append([value.astype(np.float64) - before for value in after])
            before = sides[0]
            steps.append((at, after))
        if steps and name in self.converted.freed and not steps[0][1][0].size:
            return  # ids share all buckets, and are compared by themselves
        usual = rounding.usual_errors([(first, wide) for first, _, wide in moved])
        moved = moved if len(moved) == len(steps) else []
        for number, (at, after) in enumerate(steps):
            where, note = f"at step {at + 1}", moments[1][at].notes.get(name, "")
            if after[0].dtype.kind != "f":
                result = compare.exactly(stage, label, after[0], after[1], note)
            elif moved:
                first, second, wide = moved[number]
                second = first + rounding.beyond(second - first, after[1], 0)
                result = compare.compare(stage, label, first, second, wide, note=note, usual=usual[number])
            else:
                result = compare.compare(stage, label, *after, note=note)
            results.append((replace(result, verdict="differs") if note else result, where))
            if name in self.converted.tables:
                idle += [(one, where) for one in self._idle_rows(stage, name, after[0], after[1])]
        if len(moved) > 1:
            results.append(compare.together(stage, label, steps[-1][1][0], moved))
        if not results:
            yield compare.missing(stage, label, "it was not recorded after the same step of both programs")
            return
        yield compare.worst(*zip(*results, strict=True))
        if idle:
            yield compare.worst(*zip(*idle, strict=True))

    def _idle_rows(self, stage: str, name: str, first: Array, second: Array) -> Iterator[Comparison]:
        """Yield a comparison of the rows that the original has not changed yet, which must be exactly unchanged."""
        start = self._rows(name, self.original.weights[name]).reshape(first.shape)
        idle = (start == first).reshape(len(first), -1).all(axis=1)
        if idle.any() and first.shape == second.shape:
            label = self._label(name, "idle rows")
            yield compare.exactly(stage, label, first[idle], second[idle], "first and last values")

    def _movements(self, stage: str, name: str, sides: Sequence[Sequence[Moment]]) -> Iterator[tuple[Comparison, str]]:
        """Yield the comparisons of a weight at each step, and where each is: its gradient, and how far it moves."""
        whole = self.original.weights[name]
        steps = list(zip(*sides, strict=True))
        trained = any(name in one.gradients for one in (*self.original.passes, *sides[0]))
        idle = np.ones(np.shape(self._rows(name, whole))[:1], bool)  # rows that no gradient has moved so far
        gradients = [self._gradients_of(name, step) for step in steps] if trained else []
        usual, moved = rounding.usual_errors([(first, wide) for first, _, wide in gradients]), []
        for number, step in enumerate(steps):
            noise, where = step[0].noise, f"step {number + 1}"
            if any(one.gradients.get(name) is not None for one in step[:2]):
                first, second, wide = gradients[number]
                result = compare.compare(stage, name, first, second, wide, usual=usual[number])
                yield self._sure(result, first, noise), f"gradient of {where}"
            if any(name not in one.values for one in step):
                continue
            values = [unpacked(one.values[name], whole) for one in step]
            before, after = self._rows(name, whole), [self._rows(name, value) for value in values]
            whole = values[1]
            first, second, wide = after
            if trained:
                moved.append([value.astype(np.float64) - before for value in after])
                first, second, wide = moved[-1]
                idle = idle & self._is_still(name, step[1].gradients.get(name), first)
                strange = bool(second[idle].any())
                second = first + rounding.beyond(second - first, after[1], self._repeats(name, step[1]))
            result = compare.compare(stage, name, first, second, wide)
            if trained and strange:
                result = replace(result, verdict="differs", note=rounding.joined("idle rows have moved", result.note))
            if step[0].gradients.get(name) is None:  # the pass changes it, not the optimizer
                result = self._sure(result, first, noise, False)
            yield result, f"{'movement of' if trained else 'value after'} {where}"
        if len(moved) > 1:
            yield compare.together(stage, name, after[0], moved)

    def _sure(self, result: Comparison, first: Array, noise: Mapping[str, float], gradient: bool = True) -> Comparison:
        """Return the comparison of a gradient or a running value: equal where the original's own is as uncertain."""
        wide = None if self.reference is self.original else self.reference.noise.get(result.name)
        largest = self.largest if gradient else 0.0
        result, is_sure = rounding.by_noise(result, first, noise.get(result.name, 0.0), largest, wide)
        self._unsure |= set() if is_sure else {result.name}
        return result

    @functools.cached_property
    def largest(self) -> float:
        """The largest element of the original's gradients."""
        moments = self.original.passes or [one for steps in self.original.steps.values() for one in steps]
        values = [compare.numbers(one) for moment in moments for one in moment.gradients.values() if one is not None]
        return max((float(np.abs(value).max(initial=0.0)) for value in values), default=0.0)

    def _is_still(self, name: str, gradient: Any, movement: Array) -> Array:
        """Return a mask of the rows that have no gradient, and that the original leaves alone."""
        if not movement.ndim or gradient is None:
            return np.zeros(movement.shape[:1], bool)
        count = len(self.original.weights[name])
        touched = (
            np.isin(np.arange(count), gradient[0]) if isinstance(gradient, tuple) else compare.any_by_row(gradient)
        )
        return ~(self._rows(name, touched) | compare.any_by_row(movement))

    def _repeats(self, name: str, step: Moment) -> Array | int:
        """Return how often each row was looked up: Paddle's SGD rounds a row as often as it adds to it."""
        gradient, shape = step.gradients.get(name), self.original.weights[name].shape
        if not isinstance(gradient, tuple):
            return 0
        counts = np.bincount(gradient[0].reshape(-1), minlength=shape[0]).reshape(-1, *[1] * (len(shape) - 1))
        return self._rows(name, counts)
