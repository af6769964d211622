"""A trial for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from migrate.report.columns import aligned
from migrate.report.pictures.memory import size
from migrate.report.visible import one_line, shortened
from migrate.trial import words
from migrate.trial.result import Table, Trial

_WIDTH, _INDENT = 80, 11
_HEAD = ("table", "needed", "of rows", "before", "every row", "on demand")


def to_text(trial: Trial) -> str:
    """Return the lines."""
    lines = [*_wrapped(words.headline(trial), 0), ""]
    for answer in words.answers(trial):
        lines += _wrapped(answer.text, _INDENT, f"{answer.question:{_INDENT}}")
    if trial.tables:
        names = words.short_names(trial)
        columns = zip(_HEAD, *(_row(one, names[one.name]) for one in trial.tables), strict=True)
        rows = list(zip(*(column for column in columns if any(column[1:])), strict=True))
        lines += ["", *aligned(rows), ""]
        for called, text in words.details(trial):
            lines += _wrapped(f"{called}: {text}", 2, "  ")
    if trial.stay_lines:
        lines += ["", "stays:"]
    for text in (*trial.stay_lines, *trial.notes):
        lines += _wrapped(text, 4, "  - ")
    if trial.proof and trial.differs:
        lines += ["", *(one_line(line) for line in trial.proof.splitlines())]
    return "\n".join(line.rstrip() for line in lines).replace("\n\n\n", "\n\n") + "\n"


def _row(table: Table, name: str) -> Sequence[str]:
    needed = "" if table.used is None else f"{table.used:,}"
    on_demand = "" if table.on_demand is None else size(table.on_demand)
    rows = f"{table.shape[0]:,}"
    return shortened(name, 28), needed, rows, size(table.before), size(table.after), on_demand


def _wrapped(text: str, indent: int, first: str = "") -> list[str]:
    """Return a text in lines; what a user types is not broken."""
    room = {"width": _WIDTH, "break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(one_line(text), initial_indent=first, subsequent_indent=" " * indent, **room)  # type: ignore[arg-type]
