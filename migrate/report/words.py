"""How single values are written in all report formats: locations, verdicts, numbers."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from migrate.report.model import Applicability, Comparison, Finding, FlowStep, Location, State, TableRecord

APPLICABILITIES = {
    Applicability.EXACT: "exact",
    Applicability.ASSUMPTION: "with an assumption",
    Applicability.CHANGES_VALUES: "changes values",
    Applicability.OBSERVED: "exact for what was run",
    Applicability.IN_GRAPH: "at run time",
}
#: The verdict of each state, in all formats and in the terminal.
STATES = {
    State.APPLIED: "converted",
    State.AVAILABLE: "convertible",
    State.SUGGESTED: "needs a decision",
    State.UNSUPPORTED: "left unchanged",
    State.OPAQUE: "unsupported",
    State.FAILED: "failed",
    State.NOTED: "note",
}
#: What to do where the source does not show how many ids of a table there can be.
ASK_A_RUN = "run `migrate trial` to see"
_COMPARISON = {
    "equal": "equal",
    "differs": "differs",
    "not-comparable": "not comparable: the original computes other values in each run",
    "constant": "constant output: not conclusive",
    "undetermined": "not determined in the original either: not conclusive",
    "zero": "all zero: not conclusive",
    "empty": "nothing compared",
    "changes-values": "changes values, as declared",
}
#: A use more lines than this behind the place where its table is made is far from it.
_FAR = 10
#: So many steps of a way are named in a sentence.
_LAST = 2


def quoted(path: str | Path) -> str:
    """Return a path as a word of a command that is suggested: a shell takes it as one word, a program as no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def place(location: Location) -> str:
    """Return `path:line`, the path alone for a whole file."""
    return f"{location.path}:{location.line}" if location.line else location.path


def file_of(location: Location) -> tuple[str, str]:
    """Return the path of the file, and `cell ID` for a place in a notebook, whose lines are not those of the file."""
    path, colon, cell = location.path.partition(".ipynb:")
    return (f"{path}.ipynb", cell) if colon else (location.path, "")


def line(location: Location) -> str:
    """Return `line 12`, or `whole file`."""
    return f"line {location.line}" if location.line else "whole file"


def table_state(table: TableRecord, plural: bool = False) -> str:
    """Return what becomes of a table, e.g. `converted`, or `moves at run time`."""
    if table.applicability is Applicability.IN_GRAPH:
        return "move at run time" if plural else "moves at run time"
    return "need a decision" if plural and table.verdict is State.SUGGESTED else STATES[table.verdict]


def growth(table: TableRecord) -> str:
    """Return whether a converted table can grow, and what bounds it: a part of a sentence; empty where it stays."""
    if table.base_buckets:
        return f"can grow: each id gets a row of its own, in place of its bucket's (buckets: {table.base_buckets})"
    if table.growth == "bounded":
        return f"cannot grow: {table.bound}"
    if table.growth == "free":
        return "can grow: each new id gets a row, if the rest of the model takes it"
    known = f"{table.bound}; " if table.bound else ""
    return f"{known}the source does not show how many ids there can be: {ASK_A_RUN}" if table.growth else ""


def verdict(item: Finding | TableRecord) -> str:
    """Return the verdict in words, e.g. `converted, exact` or `left unchanged`."""
    state = item.state if isinstance(item, Finding) else item.verdict
    if isinstance(item, TableRecord) and item.applicability is Applicability.IN_GRAPH:
        return table_state(item)
    if item.applicability is None or state not in {State.APPLIED, State.AVAILABLE, State.SUGGESTED}:
        return STATES[state]
    return f"{STATES[state]}, {APPLICABILITIES[item.applicability]}"


def comparison_verdict(comparison: Comparison) -> str:
    """Return the verdict of a comparison in words; an unknown verdict is returned as it is."""
    return _COMPARISON.get(comparison.verdict, comparison.verdict)


def number(value: float) -> str:
    """Return three significant digits: `0`, `3.1e-07`, `1.2`."""
    return f"{value:.3g}"


def largest(values: Iterable[float]) -> float:
    """Return the largest value; nan counts as the largest, which the built-in `max` does not ensure."""
    return max(values, key=lambda value: math.inf if math.isnan(value) else value, default=0.0)


def way(finding: Finding, at: Callable[[Location], str] | None = None) -> str:
    """Return how the table gets to a finding, in one line; empty where it is named as it was made.

    `at` gives the words for a place; by default `line 12`, or `path:12` for another file than the finding's.
    """
    if not finding.steps:
        return ""
    *before, last = finding.steps
    return " -> ".join([*_placed(before, at or _near(finding)), last.text])


def came(finding: Finding) -> str:
    """Return a sentence on the last steps by which the table gets to a finding far from where it is made, or nothing.

    Work that remains is done at the finding, and who does it must know why that place has to do with the table.
    """
    creation, between = finding.steps[:1], finding.steps[1:-1]
    if not between or not finding.remains or not any(_is_far(finding.location, one.location) for one in creation):
        return ""
    steps = "" if len(between) <= _LAST else f" in {len(between)} steps, the last ones"
    what = creation[0].text.removesuffix(" is created")
    return f"{what} reaches this line{steps}: {', '.join(_placed(between[-_LAST:], _near(finding)))}"


def _near(finding: Finding) -> Callable[[Location], str]:
    return lambda location: line(location) if location.path == finding.location.path else place(location)


def _is_far(here: Location, creation: Location) -> bool:
    apart = (here.path, here.scope) != (creation.path, creation.scope)
    return apart or abs(here.line - creation.line) > _FAR


def _placed(steps: Sequence[FlowStep], at: Callable[[Location], str]) -> list[str]:
    """Return the steps with their places; a place is said once for neighbours."""
    following = [at(one.location) for one in steps[1:]] + [""]
    placed, texts = [], []
    for step, after in zip(steps, following, strict=True):
        texts.append(step.text)
        if at(step.location) != after:
            placed.append(f"{', '.join(texts)} ({at(step.location)})")
            texts = []
    return placed


def counted(lines: Iterable[str]) -> Iterator[str]:
    """Yield equal lines once, with their number: one line of code may keep many tables, each for the same reason."""
    for line, times in Counter(lines).items():
        first, newline, others = line.partition("\n")
        yield (f"{first} [{times} times]" if times > 1 else first) + newline + others
