"""The report as data: findings, tables, comparisons. Writers and the diff read it; nothing here prints or renders.

Format history (`SCHEMA`): 1.0 first version.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

SCHEMA = ("recmigrate-report", 1, 0)


class State(str, Enum):
    """What became of a finding."""

    APPLIED = "applied"  # the edit was made
    AVAILABLE = "available"  # the edit would be made (check)
    SUGGESTED = "suggested"  # a person must decide
    UNSUPPORTED = "unsupported"  # refused, with the reason
    OPAQUE = "opaque"  # code that cannot be followed
    FAILED = "failed"  # the tool could not read or write it
    NOTED = "noted"  # information only; no work remains


class Applicability(str, Enum):
    """How far the converted code computes the same."""

    EXACT = "exact"
    ASSUMPTION = "assumption"
    CHANGES_VALUES = "changes-values"


@dataclass(frozen=True)
class Location:
    """Where in the source, as the user's editor shows it."""

    path: str  #: POSIX path relative to the directory the command ran in (or as given when outside it)
    line: int  #: first line, from 1
    end_line: int
    scope: str = ""  #: enclosing qualified name, e.g. `Model.forward`; empty at module level


@dataclass(frozen=True)
class Finding:
    """One thing found in the source and what was done about it."""

    rule: str  #: stable rule id, e.g. `tf-embedding-lookup`
    subject: str  #: what it is about: `table`, `lookup`, `optimizer`, `layer`, `import`, `file`, `loss`, `use`
    state: State
    location: Location
    message: str  #: what was found, one line, no full stop
    reason: str = ""  #: why this verdict
    action: str = ""  #: what the user should do; empty when nothing remains
    applicability: Applicability | None = None
    assumptions: tuple[str, ...] = ()
    before: str = ""  #: the source text concerned
    after: str = ""  #: what it became
    table: str = ""  #: the table concerned, when there is one
    id: str = ""  #: fingerprint, set by `with_ids`
    fallback_id: str = ""  #: the same without the path, to follow a renamed file

    @property
    def remains(self) -> bool:
        """True when a person still has work to do because of this finding."""
        return self.state in {State.AVAILABLE, State.SUGGESTED, State.UNSUPPORTED, State.OPAQUE, State.FAILED}


@dataclass(frozen=True)
class TableRecord:
    """One embedding table, the unit a user thinks in."""

    name: str
    location: Location
    verdict: State
    applicability: Applicability | None
    dim: str  #: source text or number
    rows: str  #: source text or number; empty when unknown
    initializer: str
    optimizer: str
    lookups: tuple[Location, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """One tensor compared between original and converted."""

    stage: str  #: `initial`, `forward`, `loss`, `gradient`, `sgd`, `adagrad`, `optimizer`
    name: str
    count: int  #: how many numbers were compared
    max_abs: float  #: max |original - converted|
    max_rel: float  #: max_abs / max |reference|
    scale: float  #: max |reference|
    tolerance: float  #: the relative tolerance that was applied
    needed: float  #: the relative tolerance that would pass
    verdict: str  #: `equal`, `differs`, `constant`, `zero`, `empty`, `changes-values`
    note: str = ""


@dataclass(frozen=True)
class Verification:
    """The numeric proof for one pair of files."""

    original: str
    converted: str
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True when something was compared and every comparison is `equal`."""
        return bool(self.comparisons) and all(c.verdict == "equal" for c in self.comparisons)


@dataclass(frozen=True)
class Stage:
    """One step of the check-list at the top of a report."""

    name: str  #: `parse`, `judge`, `convert`, `write`, `verify`
    state: str  #: `ok`, `failed`, `not run`
    message: str = ""


@dataclass(frozen=True)
class InputFile:
    """A file the report speaks of."""

    path: str
    sha256: str
    kind: str  #: `tensorflow`, `paddle`, `schema`, `other`
    diff: str = ""  #: unified diff of the conversion; empty when nothing changed


@dataclass(frozen=True)
class Report:
    """Everything that one command found and did."""

    command: str
    tool_version: str
    inputs: tuple[InputFile, ...] = ()
    stages: tuple[Stage, ...] = ()
    findings: tuple[Finding, ...] = ()
    tables: tuple[TableRecord, ...] = ()
    verifications: tuple[Verification, ...] = ()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def with_ids(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with `migrateFingerprint/v1` ids, which survive moved lines.

    The id hashes rule, path, scope, the matched text with white space folded, and the ordinal among equals in that
    scope; no line number. `fallback_id` leaves the path out.
    """
    seen: Counter[str] = Counter()
    seen_fallback: Counter[str] = Counter()
    result = []
    for finding in findings:
        text = " ".join((finding.before or finding.message).split())
        base = _digest(finding.rule, finding.location.path, finding.location.scope, text)
        fallback = _digest(finding.rule, finding.location.scope, text)
        result.append(
            replace(
                finding,
                id="v1:" + _digest(base, str(seen[base])),
                fallback_id="v1:" + _digest(fallback, str(seen_fallback[fallback])),
            )
        )
        seen[base] += 1
        seen_fallback[fallback] += 1
    return tuple(result)
