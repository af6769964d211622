"""Compares two reports. Findings are matched one to one, so that a vanished finding never hides a new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from migrate.report.model import Applicability, Finding, Report, State, with_ids
from migrate.report.words import STATES

T = TypeVar("T")


class Kind(str, Enum):
    """What happened to one finding, most important first."""

    NEW = "new"
    UPDATED = "updated"  # same id, but another state, applicability or message
    MOVED = "moved"  # same code in a file with another name
    FIXED = "fixed"  # no longer there
    UNSEEN = "unseen"  # in a file that the new report did not look at
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Change:
    """One finding in the old report, the new one, or both."""

    kind: Kind
    before: Finding | None
    after: Finding | None
    worse: bool  #: True when it makes the exit code 1
    changes: tuple[str, ...] = ()  #: e.g. `state: converted -> left unchanged`

    @property
    def finding(self) -> Finding:
        """The finding in the new report, or in the old one if it is not there."""
        finding = self.after or self.before
        assert finding is not None  # every change has at least one of the two
        return finding


_STATE_RANK = {
    State.NOTED: 0,
    State.APPLIED: 1,
    State.AVAILABLE: 1,  # `check` and `convert` of one file give the same verdict
    State.SUGGESTED: 2,
    State.UNSUPPORTED: 3,
    State.OPAQUE: 3,
    State.FAILED: 4,
}
_VALUE_RANK = {
    None: 0,
    Applicability.EXACT: 0,
    Applicability.OBSERVED: 1,
    Applicability.IN_GRAPH: 1,
    Applicability.ASSUMPTION: 2,
    Applicability.CHANGES_VALUES: 3,
}


def compare_findings(old: Report, new: Report) -> tuple[Change, ...]:
    """Return every finding of both reports once: matched by id, else by fallback id and rule, else of one alone."""
    before, after = _with_ids(old), _with_ids(new)
    same, gone, fresh = match(before, after, lambda finding: finding.id)
    moved, gone, fresh = match(gone, fresh, lambda finding: (finding.fallback_id, finding.rule))
    same_tool = old.tool_version == new.tool_version
    changes = [_matched(a, b, Kind.UNCHANGED, same_tool) for a, b in same]
    changes += [_matched(a, b, Kind.MOVED, same_tool) for a, b in moved]
    unseen = {one.path for one in old.inputs} - {one.path for one in new.inputs}
    changes += [
        Change(Kind.UNSEEN if one.location.path in unseen else Kind.FIXED, one, None, worse=False) for one in gone
    ]
    changes += [Change(Kind.NEW, None, finding, worse=finding.remains) for finding in fresh]
    return tuple(sorted(changes, key=_order))


def match(
    before: Sequence[T], after: Sequence[T], key: Callable[[T], Hashable]
) -> tuple[list[tuple[T, T]], list[T], list[T]]:
    """Pair items of equal keys one to one, in order; return the pairs and the unmatched items of each side."""
    waiting: dict[Hashable, list[T]] = {}
    for item in after:
        waiting.setdefault(key(item), []).append(item)
    pairs, left = [], []
    for item in before:
        partners = waiting.get(key(item))
        if partners:
            pairs.append((item, partners.pop(0)))
        else:
            left.append(item)
    remaining = {id(item) for items in waiting.values() for item in items}
    return pairs, left, [item for item in after if id(item) in remaining]


def _with_ids(report: Report) -> tuple[Finding, ...]:
    complete = all(finding.id and finding.fallback_id for finding in report.findings)
    return report.findings if complete else with_ids(report.findings)


def _matched(before: Finding, after: Finding, kind: Kind, same_tool: bool) -> Change:
    changes = [
        f"{name}: {_word(a)} -> {_word(b)}"
        for name, a, b in (
            ("state", before.state, after.state),
            ("applicability", before.applicability, after.applicability),
            ("message", before.message, after.message),
            ("reason", before.reason, after.reason),
        )
        if a != b
    ]
    ways = [" -> ".join(step.text for step in one.steps) for one in (before, after)]
    if ways[0] != ways[1] and (same_tool or all(ways)):  # older reports have none
        changes.append(f"way: {_word(ways[0])} -> {_word(ways[1])}")
    worse = _worse(before, after) or (same_tool and after.remains and _other_problem(before, after))
    if kind is Kind.MOVED:
        changes.insert(0, f"path: {before.location.path} -> {after.location.path}")
    elif changes:
        kind = Kind.UPDATED
    return Change(kind, before, after, worse, tuple(changes))


def _word(value: object) -> str:
    if isinstance(value, State):
        return STATES[value]
    return str(value.value) if isinstance(value, Enum) else str(value or "none")


def _worse(before: Finding, after: Finding) -> bool:
    worse_state = after.remains and _STATE_RANK[after.state] > _STATE_RANK[before.state]
    return worse_state or _VALUE_RANK[after.applicability] > _VALUE_RANK[before.applicability]


def _other_problem(before: Finding, after: Finding) -> bool:
    """Return True when the messages differ: the same version of the tool would word the same problem the same way."""
    return _unnumbered(before.message) != _unnumbered(after.message)


def _unnumbered(text: str) -> str:
    return re.sub(r"\d+", "0", text)  # line numbers in messages change when code moves


def _order(change: Change) -> tuple[bool, int, str, int]:
    place = change.finding.location
    return not change.worse, list(Kind).index(change.kind), place.path, place.line
