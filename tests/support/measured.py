"""Stands for what both trainers of a Paddle folder measured, where a test is of what is done with it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from migrate.report.model import Comparison, Memory


class Measured:
    """A pair of trainers that has these comparisons, of which some weights are unsure."""

    notes: tuple[str, ...] = ()

    def __init__(self, comparisons: Sequence[Comparison] = (), unsure: Collection[str] = ()) -> None:
        self._comparisons, self._unsure = comparisons, unsure

    def undetermined(self) -> set[str]:
        return set(self._unsure)

    def trains(self) -> bool:
        return True

    def comparisons(self) -> Sequence[Comparison]:
        return self._comparisons

    def memory(self) -> tuple[Memory, ...]:
        return ()
