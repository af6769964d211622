"""How many of PaddleRec's models convert, equal Paddle and were trained, counted in the table of docs/paddle.md.

python -m benchmarks.paddle.counts
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "paddle.md"
_HEAD = "| family | model | converts | proof | trains |"


@dataclass(frozen=True)
class Counts:
    """The numbers that README, docs/paddle.md and RESULTS tell."""

    models: int
    convert: int
    equal: int  #: in all stages of the proof
    in_part: int  #: in those stages that were run
    trained: int


def counts(page: str) -> Counts:
    """Return the numbers of the table in the text of the page."""
    lines = page[page.index(_HEAD) :].splitlines()[2:]
    table = lines[: next(i for i, line in enumerate(lines) if not line.startswith("|"))]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    proofs = [row[3] for row in rows]
    return Counts(
        len(rows),
        sum(row[2] != "no" for row in rows),
        proofs.count("equal"),
        proofs.count("equal in part"),
        sum(row[4] == "yes" for row in rows),
    )


if __name__ == "__main__":
    print(counts(_PAGE.read_text(encoding="utf-8")))
