"""Converted programs whose ids gave up their buckets: what their first step has as the original, and what it has not.

Ids of one bucket begin as its row. So outputs, the loss and the sum of their gradients are those of the bucket, and so
is the row of an id behind the first step, if it was alone in its bucket there. All others are trained apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from migrate.report.model import Comparison
from migrate.verify import compare
from migrate.verify.comparer import Comparer
from migrate.verify.recording import Array, Recording, unpacked

#: Numbers of buckets, one for each id, and the rows of these ids.
Shared = tuple[Array, Array]
#: Why no weight is as in the original behind a step whose optimizer clips by a norm.
CLIPPED = "the norm that clips gradients is that of the rows of ids, which ids of one bucket have apart"


def of_buckets(weight: Any, gradient: Any) -> Any:
    """Return a gradient with the bucket of each id, if ids of the weight, a `TableWeight` or not, have such."""
    buckets = _buckets_of(weight)
    if buckets is None or not isinstance(gradient, tuple):
        return gradient
    return buckets.row_of(gradient[0]), gradient[1]


def gave_up(weight: Any) -> bool:
    """Return whether ids of the weight gave up their buckets, as far as it is known to have looked any up."""
    return _buckets_of(weight) is not None and weight.gives_up is not False


def by_bucket(weight: Any, base: Array, ids: Array, rows: Array) -> tuple[Array, Shared]:
    """Return a row for each bucket, and the rows of ids that share one.

    Args:
        weight: its ids gave up their buckets.
        base: the rows of the buckets.
        ids: those that have rows of their own.
        rows: of these ids; that of one that is alone in its bucket is in the place of the bucket's.
    """
    places = _buckets_of(weight).row_of(ids)
    inside = places < len(base)  # an embedding that was written by hand may have less rows than buckets
    places, rows = places[inside], rows[inside]
    counts = np.bincount(places, minlength=len(base))
    alone = counts[places] == 1
    matrix = np.array(base)
    matrix[places[alone]] = rows[alone]
    return matrix, (places[~alone], rows[~alone])


def clips_by_norm(optimizer: Any) -> bool:
    """Return whether an optimizer of the runtime clips by a norm, to which each row of an id belongs."""
    clips = [group.settings.get("grad_clip") for group in getattr(optimizer, "_groups", ())]
    return any(clip is not None and type(clip).__name__ != "ClipGradByValue" for clip in clips)


def _buckets_of(weight: Any) -> Any:
    # An embedding that has become a variable still knows the rules of a table.
    return weight.rules.buckets if getattr(weight, "is_table", False) else None


class FirstStep(Comparer):
    """The comparer of converted programs of Paddle: what ids do that share a bucket is said to differ by intention."""

    def __init__(
        self,
        original: Recording,
        converted: Recording,
        reference: Recording | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Take what `Comparer` does; an original that makes its steps by itself may have made more."""
        if converted.freed:
            original, *others = (_cut(side, converted) for side in (original, reference) if side is not None)
            reference = others[0] if others else None
        super().__init__(original, converted, reference, notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return how the recordings were made, and which ids gave up their buckets."""
        freed = [f"`{name}`" for name in self.converted.freed]
        if not freed:
            return super().notes
        return (
            *super().notes,
            f"each id of {', '.join(freed)} has a row of its own, in place of its bucket's: after the first step that "
            "trains them, the rows of one bucket differ on purpose, and later steps are not compared",
        )

    def _stages(self) -> Iterator[Comparison]:
        for one in super()._stages():
            yield _meant(one, self.converted.apart.get(one.stage, ""))
        for stage, steps in self.converted.steps.items():
            for step, own in zip(steps, self.original.steps.get(stage, ()), strict=False):
                for name, (rows, values) in step.shared.items():
                    trained = rows != self.converted.padding.get(name)
                    if trained.any() and name in own.values:
                        whole = unpacked(own.values[name], self.original.weights[name])[rows[trained]]
                        label = f"{name} [ids that shared a bucket]"
                        one = compare.compare(stage, label, whole, values[trained])
                        yield _meant(one, "rows of one bucket are trained separately, on purpose")

    def _rows(self, name: str, value: Array) -> Array:
        """Return the values without those of the buckets that several ids shared in the steps."""
        moments = [one for steps in self.converted.steps.values() for one in steps if name in one.shared]
        shared = [one.shared[name][0] for one in moments]
        if not shared:
            return super()._rows(name, value)
        keeps = np.ones(len(value), bool)
        keeps[np.concatenate(shared)] = False
        padding = self.converted.padding.get(name)
        keeps[[] if padding is None else padding] = False
        kept: Array = value[keeps]
        return kept


def _cut(side: Recording, other: Recording) -> Recording:
    """Return a recording with no more steps of a stage than another has."""
    return replace(side, steps={name: steps[: len(other.steps.get(name, ()))] for name, steps in side.steps.items()})


def _meant(one: Comparison, reason: str) -> Comparison:
    return compare.change_of_values(one, reason) if reason and one.verdict == "differs" else one
