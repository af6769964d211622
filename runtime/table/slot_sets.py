"""Which optimizers of a graph have slots in a table's rows: each has its own, as on a variable."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

#: As many as the engine can number (`updates/slot_sets.h`).
_MOST = 8

_numbering = itertools.count(1)
_numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def trainer_number(optimizer: Any) -> int:
    """Return the number from 1 on by which an eager table knows an optimizer; no other ever gets it."""
    return _numbers.setdefault(optimizer, next(_numbering))  # atomic, as threads may share an optimizer


class SlotSets:
    """Numbers from 0 on for the optimizers that update a table, in the order in which the graph gets their updates."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._owners: list[Hashable] = []
        self._only: tuple[object, str] | None = None

    def number_of(self, owner: Hashable) -> int:
        """Return the number of an optimizer, or of what several updates have in common.

        Raises:
            ValueError: there are more optimizers than a table can have.
        """
        if owner not in self._owners:
            if len(self._owners) == _MOST:
                raise ValueError(
                    f"the table `{self._table}` has {_MOST} optimizers in this graph: use one of them again, since "
                    "each has slots of its own"
                )
            self._owners.append(owner)
        return self._owners.index(owner)

    def require_only(self, owner: object, name: str) -> None:
        """Note the optimizer with slots where a table of a graph has a set for one alone.

        Raises:
            ValueError: it is another one than before: on a variable it would have slots of its own.
        """
        if self._only is not None and self._only[0] is not owner:
            raise ValueError(
                f"the table `{self._table}` has slots for one optimizer, but {self._only[1]} and {name} train it: "
                "minimize the sum of the losses by one optimizer, or let the first one make all steps"
            )
        self._only = (owner, name)
