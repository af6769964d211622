"""The data model of a report: findings, tables, comparisons. Writers and the diff read it; nothing here renders it.

Format history (`SCHEMA`): 1.0 first version; 1.1 `drawing` of a finding, line 0 for a whole file;
1.2 `by_parts` and `identity` of a table; 1.3 `target` of a file; 1.4 `steps` of a finding;
1.5 `rules`; 1.6 errors to float64 and losses by step of a comparison, `memory` of a verification, `remaining` in
`summary`; 1.7 `evidence` of a finding, the applicability `observed`; 1.8 the applicability `in-graph`;
1.9 `growth`, `bound` and `base_buckets` of a table; 1.10 the `identity` `shared`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from rewriter.plan.region import Region

#: The rule of findings about tables of a graph, which another command converts than tables in source.
GRAPH_RULE = "graph-table"
SCHEMA = ("recmigrate-report", 1, 10)


class State(str, Enum):
    """The verdict of a finding."""

    APPLIED = "applied"  # the code was changed
    AVAILABLE = "available"  # `migrate convert` would change the code
    SUGGESTED = "suggested"  # it converts if something holds that you must know
    UNSUPPORTED = "unsupported"  # it stays as it was, and the reason is given
    OPAQUE = "opaque"  # code that cannot be followed, so that tables may be hidden there
    FAILED = "failed"  # the tool could not read or write it
    NOTED = "noted"  # information only; no work remains


class Applicability(str, Enum):
    """Whether the converted code computes the same values."""

    EXACT = "exact"
    ASSUMPTION = "assumption"
    CHANGES_VALUES = "changes-values"
    OBSERVED = "observed"  # exact for what recorded runs did: in reports of version 0.1 alone
    IN_GRAPH = "in-graph"  # the source stays as it was: the program rewrites its graphs when it runs


@dataclass(frozen=True)
class Location:
    """A place in the source, with line numbers as an editor shows them."""

    path: str  #: POSIX path relative to the directory the command ran in (or as given when outside it)
    line: int  #: first line, from 1; 0 for the whole file
    end_line: int  #: last line
    scope: str = ""  #: enclosing qualified name, e.g. `Model.forward`; empty at module level


@dataclass(frozen=True)
class FlowStep:
    """One place on the way of a table from where it is made to where it is used."""

    location: Location  #: the place
    text: str  #: what happens to it there, e.g. "returned by `build`"


@dataclass(frozen=True)
class Finding:
    """One thing that was found in the source, and what was done about it."""

    rule: str  #: stable rule id, e.g. `tf-embedding-lookup`
    subject: str  #: kind of thing found: `table`, `lookup`, `optimizer`, `layer`, `import`, `file`, `loss`, `use`
    state: State  #: what became of it
    location: Location  #: where it stands
    message: str  #: what was found, one line, no full stop
    reason: str = ""  #: why this verdict
    action: str = ""  #: what the user should do; empty when nothing remains
    applicability: Applicability | None = None  #: whether values stay the same; None where nothing is converted
    assumptions: tuple[str, ...] = ()  #: what must hold for that
    before: str = ""  #: the source text concerned
    after: str = ""  #: the text that replaced it
    table: str = ""  #: the table concerned, when there is one
    drawing: Region | None = None  #: the part of the graph around that table, before and after a rewrite
    #: how the table gets there, from where it is made to here; empty where it is named as it was made
    steps: tuple[FlowStep, ...] = ()
    evidence: tuple[str, ...] = ()  #: what recorded runs decided, on which the verdict rests
    id: str = ""  #: fingerprint, set by `with_ids`
    fallback_id: str = ""  #: the fingerprint without the path, to recognise a renamed file
    baseline: str = ""  #: `new`, or `unchanged` where the baseline has it; empty where there is none

    @property
    def remains(self) -> bool:
        """True when this finding needs further work by the user."""
        return self.state in {State.AVAILABLE, State.SUGGESTED, State.UNSUPPORTED, State.OPAQUE, State.FAILED}


@dataclass(frozen=True)
class TableRecord:
    """One embedding table."""

    name: str  #: of its variable or layer
    location: Location  #: where it is made
    verdict: State  #: what became of it
    applicability: Applicability | None  #: whether values stay the same; None where it is not converted
    dim: str  #: source text or number
    rows: str  #: source text or number; empty when unknown
    initializer: str  #: source text, or a distribution with its parameters
    optimizer: str  #: what trains it; empty when unknown
    lookups: tuple[Location, ...] = ()  #: where its rows are read
    reasons: tuple[str, ...] = ()  #: why it stays as it was
    #: what identifies its variable in a checkpoint: `name`, or not: `order`, `run time`; `shared` for columns that
    #: share it, whose table has the end of the variable's name
    identity: str = "name"
    by_parts: bool = False  #: the variable is partitioned and ids alternate between parts: row r is not that of id r
    #: whether a converted table can grow: `bounded`, `free`, or `unknown` to the text; empty for others
    growth: str = ""
    bound: str = ""  #: what bounds its ids, as far as the source shows it
    base_buckets: str = ""  #: source text or number: its ids gave up so many buckets, whose rows they begin as

    @property
    def is_named_at_run_time(self) -> bool:
        """Whether the name of its table is complete only when the program runs."""
        return self.identity in {"run time", "shared"}


@dataclass(frozen=True)
class Series:
    """A loss of both programs, one number a training step, each before that step."""

    name: str  #: of the loss
    original: tuple[float, ...]  #: in float32
    converted: tuple[float, ...]  #: as many
    reference: tuple[float, ...] = ()  #: as many, of the original in float64; empty where it was not run so

    def __post_init__(self) -> None:
        if len(self.converted) != len(self.original) or len(self.reference) not in {0, len(self.original)}:
            raise ValueError("has another number of losses for one program than for the other")


@dataclass(frozen=True)
class Comparison:
    """The comparison of one tensor between the original and the converted program."""

    stage: str  #: such as `initial`, `forward`, `loss`, `gradient`, `evaluation`, `adam`
    name: str  #: of the tensor
    count: int  #: number of elements that were compared
    max_abs: float  #: the largest of |original - converted|
    max_rel: float  #: `max_abs` divided by `scale`
    scale: float  #: the largest absolute value of the reference: of the original, in float64 where it was run so
    tolerance: float  #: the relative tolerance that was applied
    needed: float  #: the smallest relative tolerance that would pass
    #: `equal`, `differs`, `not-comparable`, `undetermined`, `constant`, `zero`, `empty`, `changes-values`
    verdict: str
    note: str = ""  #: what else is known, such as the step with the largest difference
    #: the largest of |original - reference|, the reference being the original in float64; None without one
    original_error: float | None = None
    converted_error: float | None = None  #: the largest of |converted - reference|
    series: tuple[Series, ...] = ()  #: of losses over training steps


@dataclass(frozen=True)
class Memory:
    """What a table takes, measured after the steps of a proof, in which it holds every row of its variable."""

    table: str  #: its name
    rows: int  #: of the variable, and of the table
    slots: int  #: optimizer slots of each row
    before: int  #: bytes of the variable and of its slots
    after: int  #: bytes of the table: rows, slots and index, reserved memory included


@dataclass(frozen=True)
class Verification:
    """All comparisons of one pair of files."""

    original: str  #: path of the original
    converted: str  #: path of the converted program
    comparisons: tuple[Comparison, ...]  #: one a tensor and stage
    notes: tuple[str, ...] = ()  #: what the comparison took for granted or left out
    memory: tuple[Memory, ...] = ()  #: of the tables whose memory was measured

    @property
    def passed(self) -> bool:
        """True when there are comparisons and all of them are `equal`."""
        return bool(self.comparisons) and all(c.verdict == "equal" for c in self.comparisons)


@dataclass(frozen=True)
class Stage:
    """One step of the conversion, listed at the top of a report."""

    name: str  #: `parse`, `judge`, `convert`, `write`, `verify`
    state: str  #: `ok`, `failed`, `not run`
    message: str = ""  #: what was done, or why not


@dataclass(frozen=True)
class InputFile:
    """A file that the command read."""

    path: str  #: as in `Location`
    sha256: str  #: of its bytes, in hexadecimal digits
    kind: str  #: `tensorflow`, `paddle`, `schema`, `other`
    diff: str = ""  #: unified diff of the conversion; empty when nothing changed
    target: str = ""  #: the SDK that it was converted to; empty when it was not converted


@dataclass(frozen=True)
class RuleRecord:
    """What a rule of the findings says of itself."""

    id: str  #: as in `rule` of a finding
    title: str  #: one line, no full stop
    text: str = ""  #: paragraphs, with an empty line between them


@dataclass(frozen=True)
class Report:
    """Everything that one command found and did."""

    command: str  #: the command line that reproduces it, e.g. `migrate convert net.py --schema s.yaml`
    tool_version: str
    inputs: tuple[InputFile, ...] = ()
    stages: tuple[Stage, ...] = ()
    findings: tuple[Finding, ...] = ()
    tables: tuple[TableRecord, ...] = ()
    verifications: tuple[Verification, ...] = ()
    #: versions and platform, the only part that may differ between machines; None: not collected yet
    environment: tuple[tuple[str, str], ...] | None = field(default=None, compare=False)
    rules: tuple[RuleRecord, ...] = ()  #: those of the findings that are known, by id; old reports have none


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]


#: Strings (kept verbatim), comments, blanks and line continuations (all dropped), names, anything else.
_TOKEN = re.compile(
    r"""(?P<string>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<drop>\#[^\n]*|\\\r?\n|\s+)|(?P<name>\w+)|(?P<other>.)""",
    re.DOTALL,
)


def _normal_code(text: str) -> str:
    """Return code without what a formatter may change: comments, blanks, and the comma before a closing bracket."""
    tokens = [match.group() for match in _TOKEN.finditer(text) if match.lastgroup != "drop"]
    following = [*tokens, ""][1:][: len(tokens)]
    return " ".join(a for a, b in zip(tokens, following, strict=True) if not (a == "," and b in {")", "]", "}"}))


def by_stage(comparisons: Iterable[Comparison]) -> dict[str, tuple[Comparison, ...]]:
    """Return the comparisons of each stage, in the order in which they were made; stages in that of their first one.

    A stage may be compared twice, on batches of the reader and on drawn ones.
    """
    stages: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        stages.setdefault(comparison.stage, []).append(comparison)
    return {stage: tuple(group) for stage, group in stages.items()}


def with_ids(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with `migrateFingerprint/v1` ids, which do not change when lines move or are reformatted.

    The id is a hash of rule, subject, path, scope, the matched text (the code without comments and blanks, or else the
    message with blanks folded) and the ordinal among equal findings in that scope of that file. It contains no line
    number, so messages should not either. `fallback_id` omits the path: equal code in two files has the same one.
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
