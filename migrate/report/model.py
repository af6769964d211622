"""The report as data: findings, tables, comparisons. Writers and the diff read it; nothing here prints or renders.

Format history (`SCHEMA`): 1.0 first version; 1.1 `drawing` of a finding, line 0 for a whole file;
1.2 `by_parts` and `identity` of a table; 1.3 `target` of a file; 1.4 `steps` of a finding.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from rewriter.plan.region import Region

#: The rule of findings on a graph's tables, which another command can move than those in source.
GRAPH_RULE = "graph-table"
SCHEMA = ("recmigrate-report", 1, 4)


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
    line: int  #: first line, from 1; 0 for the whole file
    end_line: int
    scope: str = ""  #: enclosing qualified name, e.g. `Model.forward`; empty at module level


@dataclass(frozen=True)
class FlowStep:
    """One place on the way of a table from where it is made to where it is used."""

    location: Location
    text: str  #: what happens to it there, e.g. "returned by `build`"


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
    drawing: Region | None = None  #: what a rewrite changed around that table in a graph
    #: how the table gets there, from where it is made to here; empty where it is named as it was made
    steps: tuple[FlowStep, ...] = ()
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
    identity: str = "name"  #: what tells its variable in a checkpoint; `order` of creation, and `run time`, do not
    by_parts: bool = False  #: row r of the variable is not that of id r: it is partitioned, and ids go round its parts


@dataclass(frozen=True)
class Comparison:
    """One tensor compared between original and converted."""

    stage: str  #: `initial`, `forward`, `loss`, `gradient`, `sgd`, `adagrad`, `adam`, `optimizer`
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
    target: str = ""  #: the SDK that it was converted to, where it was converted


@dataclass(frozen=True)
class Report:
    """Everything that one command found and did."""

    command: str  #: the command line that does it again, e.g. `migrate convert net.py --schema s.yaml`
    tool_version: str
    inputs: tuple[InputFile, ...] = ()
    stages: tuple[Stage, ...] = ()
    findings: tuple[Finding, ...] = ()
    tables: tuple[TableRecord, ...] = ()
    verifications: tuple[Verification, ...] = ()
    #: facts of the run (versions, platform), the only part that may differ between machines; None: not collected yet
    environment: tuple[tuple[str, str], ...] | None = field(default=None, compare=False)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]


#: strings (kept as they are), comments (dropped), blanks and line continuations (dropped), anything else
_TOKEN = re.compile(
    r"""(?P<string>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<drop>\#[^\n]*|\\\r?\n|\s+)|(?P<name>\w+)|(?P<other>.)""",
    re.DOTALL,
)


def _normal_code(text: str) -> str:
    """Return code without comments, blanks and the comma before a closing bracket: what a formatter may change."""
    tokens = [match.group() for match in _TOKEN.finditer(text) if match.lastgroup != "drop"]
    following = [*tokens, ""][1:][: len(tokens)]
    return " ".join(a for a, b in zip(tokens, following, strict=True) if not (a == "," and b in {")", "]", "}"}))


def with_ids(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with `migrateFingerprint/v1` ids, which survive moved lines and reformatting.

    The id hashes rule, subject, path, scope, the matched text (code: without comments and blanks; else the message with
    blanks folded) and the ordinal among equals in that scope of that file; no line number, so keep line numbers out of
    messages. `fallback_id` leaves the path out: equal code in two files has one fallback id.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    result = []
    for finding in findings:
        text = _normal_code(finding.before) or " ".join(finding.message.split())
        parts = (finding.rule, finding.subject, finding.location.scope, text)
        key = (*parts, finding.location.path)
        ordinal = str(seen[key])
        seen[key] += 1
        own, fallback = "v1:" + _digest(*key, ordinal), "v1:" + _digest(*parts, ordinal)
        result.append(replace(finding, id=own, fallback_id=fallback))
    return tuple(result)
