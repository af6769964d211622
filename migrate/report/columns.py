"""Aligns the cells of a table of text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

__all__ = ["aligned"]


def aligned(rows: Sequence[Sequence[str]], texts: Collection[int] = (0,)) -> Iterator[str]:
    """Yield the lines of a table, two blanks between columns: those numbered in `texts` from the left, numbers not."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  ".join(cell.ljust(w) if at in texts else cell.rjust(w) for at, (cell, w) in enumerate(cells)).rstrip()
