"""Compares the verifications of two reports: a comparison that was equal and no longer is counts as new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from migrate.report.diff import Kind, match
from migrate.report.model import Comparison, Report, Verification

_RANK = {"equal": 0, "changes-values": 1}  # all other verdicts: not verified


@dataclass(frozen=True)
class ProofChange:
    """One comparison of one pair of files in the old report, the new one, or both."""

    kind: Kind
    original: str
    before: Comparison | None
    after: Comparison | None
    worse: bool

    @property
    def comparison(self) -> Comparison:
        """The comparison in the new report, or in the old one if it is missing there."""
        found = self.after or self.before
        assert found is not None  # every change has at least one of the two
        return found

    @property
    def text(self) -> str:
        """What happened, e.g. `equal -> differs`, with `not compared` for a missing side."""
        sides = [side.verdict if side else "not compared" for side in (self.before, self.after)]
        return sides[0] if sides[0] == sides[1] else " -> ".join(sides)


def compare_proofs(old: Report, new: Report) -> tuple[ProofChange, ...]:
    """Return every comparison of both reports once; one that was equal and is now missing counts as worse."""
    pairs, gone, fresh = match(old.verifications, new.verifications, lambda item: (item.original, item.converted))
    renamed, gone, fresh = match(gone, fresh, lambda item: item.original)  # another output directory
    moved, gone, fresh = match(gone, fresh, lambda item: PurePath(item.original).name)
    changes = [change for a, b in (*pairs, *renamed, *moved) for change in _pair(a, b)]
    changes += [change for item in gone for change in _pair(item, Verification(item.original, item.converted, ()))]
    changes += [change for item in fresh for change in _pair(Verification(item.original, item.converted, ()), item)]
    return tuple(sorted(changes, key=lambda change: (not change.worse, list(Kind).index(change.kind))))


def _pair(before: Verification, after: Verification) -> Iterable[ProofChange]:
    same, gone, fresh = match(_keyed(before), _keyed(after), lambda item: item[0])
    for (_, a), (_, b) in same:
        yield ProofChange(_kind(a, b), after.original, a, b, _rank(b) > _rank(a))
    for _, a in gone:
        lost = _rank(a) == 0
        yield ProofChange(Kind.NEW if lost else Kind.FIXED, before.original, a, None, lost)
    yield from (ProofChange(Kind.NEW, after.original, None, b, _rank(b) == 2) for _, b in fresh)


def _kind(before: Comparison, after: Comparison) -> Kind:
    if _rank(before) == _rank(after):
        return Kind.UNCHANGED if before.verdict == after.verdict else Kind.UPDATED
    return Kind.NEW if _rank(after) > _rank(before) else Kind.FIXED


def _keyed(item: Verification) -> list[tuple[tuple[str, str, int], Comparison]]:
    """Return the comparisons with their keys: stage, name and ordinal, as a tensor may be compared at several steps."""
    seen: Counter[tuple[str, str]] = Counter()
    result = []
    for comparison in item.comparisons:
        key = (comparison.stage, comparison.name)
        result.append(((*key, seen[key]), comparison))
        seen[key] += 1
    return result


def _rank(comparison: Comparison) -> int:
    return _RANK.get(comparison.verdict, 2)
