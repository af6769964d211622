"""The rows that a table has after each step."""

from __future__ import annotations

from collections.abc import Sequence

from migrate.report.pictures.losses import HEIGHT, Plot
from migrate.report.pictures.svg import framed, label

#: Where the text above the plot begins, and its baseline.
_LEFT, _BASE = 46, 14


def draw(rows: Sequence[int], text: str, name: str, title: str) -> str:
    """Return the plot; `name` is for element ids, `text` stands above it and describes it."""
    plot = Plot(len(rows), 0, max(rows, default=0) or 1)
    parts = [*plot.axes(), *plot.converted(rows), label(_LEFT, _BASE, text)]
    return framed(name, title, text, HEIGHT, parts)
