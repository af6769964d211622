"""How single values are written in all report formats: locations, verdicts, numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from migrate.report.model import Applicability, Comparison, Finding, Location, State, TableRecord

_APPLICABILITY = {
    Applicability.EXACT: "exact",
    Applicability.ASSUMPTION: "with an assumption",
    Applicability.CHANGES_VALUES: "changes values",
}
_STATE = {
    State.APPLIED: "converted",
    State.AVAILABLE: "convertible",
    State.SUGGESTED: "needs a decision",
    State.UNSUPPORTED: "left unchanged",
    State.OPAQUE: "not analysed",
    State.FAILED: "failed",
    State.NOTED: "note",
}
_COMPARISON = {
    "equal": "equal",
    "differs": "differs",
    "constant": "constant output: not conclusive",
    "zero": "all zero: not conclusive",
    "empty": "nothing compared",
    "changes-values": "changes values, as declared",
}


def place(location: Location) -> str:
    """Return `path:line`, the path alone for a whole file."""
    return f"{location.path}:{location.line}" if location.line else location.path


def line(location: Location) -> str:
    """Return `line 12`, or `whole file`."""
    return f"line {location.line}" if location.line else "whole file"


def verdict(item: Finding | TableRecord) -> str:
    """Return the verdict in words, e.g. `converted, exact` or `left unchanged`."""
    state = item.state if isinstance(item, Finding) else item.verdict
    if item.applicability is None or state not in {State.APPLIED, State.AVAILABLE, State.SUGGESTED}:
        return _STATE[state]
    return f"{_STATE[state]}, {_APPLICABILITY[item.applicability]}"


def comparison_verdict(comparison: Comparison) -> str:
    """Return the verdict of a comparison in words; an unknown verdict is returned as it is."""
    return _COMPARISON.get(comparison.verdict, comparison.verdict)


def number(value: float) -> str:
    """Return three significant digits: `0`, `3.1e-07`, `1.2`."""
    return f"{value:.3g}"


def largest(values: Iterable[float]) -> float:
    """Return the largest value; nan counts as the largest, which the built-in `max` does not ensure."""
    return max(values, key=lambda value: math.inf if math.isnan(value) else value, default=0.0)
