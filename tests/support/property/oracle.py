"""What a table must hold: a dict from key to a numpy row, changed one call at a time."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence

import numpy as np

from tests.support.property.initial import initial_rows
from tests.support.property.rules import Rule


class Oracle:
    """A table as a dict: key -> float32 [1 + slots, dim], the value above its optimizer slots."""

    def __init__(self, initializer: str, seed: int, dim: int, rule: Rule) -> None:
        """Start with no rows."""
        self.dim, self.rule = dim, rule
        self.initial = functools.partial(_initial, initializer, seed)
        self.rows: dict[int, np.ndarray] = {}
        self.steps = 0
        #: Whether the table has slots already: the first update of a row brings them.
        self.has_slots = False

    def read(self, keys: Sequence[int]) -> np.ndarray:
        """Return values [len(keys), dim]; unseen keys have their initial ones."""
        unseen = dict(zip(keys, self._fresh(keys), strict=True))
        found = [self.rows.get(key, unseen.get(key)) for key in keys]
        return np.array([row[0] for row in found if row is not None], np.float32).reshape(len(keys), self.dim)

    def insert(self, keys: Sequence[int]) -> None:
        """Insert unseen keys."""
        unseen = [key for key in dict.fromkeys(keys) if key not in self.rows]
        self.rows.update(zip(unseen, self._fresh(unseen), strict=True))

    def update(self, keys: Sequence[int], gradients: np.ndarray, rate: float) -> None:
        """Sum the gradients of equal keys in input order, then move each row once."""
        distinct, sums = summed(keys, gradients)
        self.insert(distinct)
        if distinct:
            rows = np.stack([self.rows[key] for key in distinct])
            self.rule.step(rows[:, 0], rows[:, 1:], sums, np.float32(rate), self.steps)
            self.rows.update(zip(distinct, rows, strict=True))
            self.has_slots = True
        self.steps += 1

    def overwrite(self, keys: Sequence[int], values: np.ndarray) -> None:
        """Set values, the last of equal keys wins; slots stay."""
        self.insert(keys)
        for key, value in zip(keys, values, strict=True):
            self.rows[key][0] = value

    def remove(self, keys: Sequence[int]) -> None:
        """Forget rows with their slots."""
        for key in keys:
            self.rows.pop(key, None)

    def reset(self) -> None:
        """Forget all rows; the optimizer's step count belongs to the optimizer and stays."""
        self.rows, self.has_slots = {}, False

    def copy(self) -> Oracle:
        """Return a copy that shares nothing that changes."""
        other = copy.copy(self)
        other.rows = {key: row.copy() for key, row in self.rows.items()}
        return other

    def sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return keys in order, values [n, dim] and slots [n, slots * dim]."""
        keys = np.array(sorted(self.rows), np.int64)
        shape = (len(keys), 1 + len(self.rule.starts), self.dim)
        rows = np.array([self.rows[key] for key in keys.tolist()], np.float32).reshape(shape)
        return keys, rows[:, 0], rows[:, 1:].reshape(len(keys), (shape[1] - 1) * self.dim)

    def compare(self, expected: np.ndarray, got: np.ndarray) -> None:
        """Assert that the table's values are these, to the last bit."""
        same(expected, got)

    def compare_slots(self, expected: np.ndarray, got: np.ndarray) -> None:
        """Assert that the table's slots are these, to the last bit."""
        same(expected, got)

    def _fresh(self, keys: Sequence[int]) -> np.ndarray:
        rows = np.empty((len(keys), 1 + len(self.rule.starts), self.dim), np.float32)
        if keys:
            rows[:, 0] = self.initial(keys)
        rows[:, 1:] = np.array(self.rule.starts, np.float32)[None, :, None]
        return rows


_KNOWN: dict[tuple[str, int], dict[int, np.ndarray]] = {}


def _initial(text: str, seed: int, keys: Sequence[int]) -> np.ndarray:
    """Return initial rows, each computed once: the inverse normal distribution is slow in Python."""
    known = _KNOWN.setdefault((text, seed), {})
    unseen = [key for key in dict.fromkeys(keys) if key not in known]
    if unseen:
        known.update(zip(unseen, initial_rows(text, seed, unseen), strict=True))
    return np.array([known[key] for key in keys])


def same(expected: np.ndarray, actual: np.ndarray) -> None:
    """Assert the same shape and bits."""
    assert expected.shape == actual.shape, (expected.shape, actual.shape)
    if expected.tobytes() != np.ascontiguousarray(actual).tobytes():
        np.testing.assert_array_equal(actual, expected)
        raise AssertionError(f"equal numbers of other bits: {actual!r}, not {expected!r}")


def summed(keys: Sequence[int], gradients: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return the distinct keys and the sum of each one's gradients, added up in input order."""
    distinct = list(dict.fromkeys(keys))
    number = {key: place for place, key in enumerate(distinct)}
    seen = np.zeros(len(distinct), np.int64)
    groups = np.array([number[key] for key in keys], np.int64)
    ranks = np.empty(len(groups), np.int64)
    for position, group in enumerate(groups.tolist()):
        ranks[position] = seen[group]
        seen[group] += 1
    sums = np.empty((len(distinct), gradients.shape[-1]), np.float32)
    for rank in range(int(seen.max(initial=0))):
        chosen = np.flatnonzero(ranks == rank) if rank < 64 else None
        if chosen is None:  # few keys repeat so often: add up their rest one by one
            for position in np.flatnonzero(ranks >= rank).tolist():
                sums[groups[position]] += gradients[position]
            break
        sums[groups[chosen]] = gradients[chosen] if rank == 0 else sums[groups[chosen]] + gradients[chosen]
    return distinct, sums
