"""Rows in fewer bits, and how much that changes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter.freezing.frozen_table import Numbers

__all__ = ["Error", "Stored", "stored"]

_MOST = 127  # of int8


@dataclass
class Error:
    """How far stored rows are from those of the table: the largest difference, and that over the largest value."""

    largest: float = 0.0
    value: float = 0.0

    @property
    def relative(self) -> float:
        """The largest difference, as a share of the largest absolute value of the table."""
        return self.largest / self.value if self.value else 0.0

    def note(self, rows: np.ndarray[Any, Any], read: np.ndarray[Any, Any]) -> None:
        """Compare rows with what the frozen model will read, where they are finite."""
        finite = np.isfinite(rows)
        rows, read = rows[finite], read[finite]
        if rows.size:
            self.largest = max(self.largest, float(np.abs(rows - read).max()))
            self.value = max(self.value, float(np.abs(rows).max()))


@dataclass(frozen=True)
class Stored:
    """A block of rows as it is stored, with scales [n] for int8."""

    rows: np.ndarray[Any, Any]
    scales: np.ndarray[Any, Any] | None = None


def stored(blocks: Iterable[np.ndarray[Any, Any]], numbers: Numbers, error: Error) -> Iterator[Stored]:
    """Yield blocks of rows, float32 [n, dim], as they are stored, and note the error.

    Raises:
        ValueError: a row that is to be int8 has a NaN or an infinity, which no scale fits.
    """
    for block in blocks:
        if numbers is Numbers.INT8:
            if not np.isfinite(block).all():
                raise ValueError(
                    "has a row with a NaN or an infinity, which int8 cannot hold: give --quantize bf16, or leave it out"
                )
            scales = (np.abs(block).max(1, initial=0) / np.float32(_MOST)).astype(np.float32)
            by = np.where(scales > 0, scales, 1)[:, None]
            rows = np.clip(np.rint(block / by), -_MOST, _MOST).astype(np.int8)
            error.note(block, rows.astype(np.float32) * scales[:, None])
            yield Stored(rows, scales)
        elif numbers is Numbers.BF16:
            rows = block.astype(tf.bfloat16.as_numpy_dtype)
            error.note(block, rows.astype(np.float32))
            yield Stored(rows)
        else:
            yield Stored(block)
