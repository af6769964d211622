"""The idioms of embedding tables, by examples; `python -m tests.support.source.idiom_table` prints their page.

An example is a file below `idioms/`, or a directory with a `model.py`. The docstring at its head says what it is:
the idiom, then lines `key: value`.

    verdict   what becomes of it: a key of `VERDICTS`
    becomes   what the converted code has in its place
    says      `TABLE; PHRASE` of what stays: a finding names the table, or no finding does, and says the phrase
    batch     `every row`: each batch has every id, because otherwise the values are known to differ
    compare   what is equal, where it is known that not all is: kinds of tensors, then what is said of the rest
    bound     the greatest relative difference, where it is not `BOUND`
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from migrate.report import words
from migrate.report.model import Applicability, Finding, State, TableRecord
from migrate.source.driver.run import Converted, convert_paths
from migrate.source.rules.pages import prose
from migrate.source.settings.options import Options
from tests.support.paths import ROOT

HERE = ROOT / "tests" / "migrate" / "source" / "idioms"
BOUND = 1e-6
SECTIONS = {
    "made": "How a table is made",
    "read": "How a table is read",
    "columns": "Feature columns",
    "whole": "Uses of a whole table",
}
_DECISION = f"{words.STATES[State.SUGGESTED]}: `--assume` converts it"
#: What the header says -> what the page says.
VERDICTS = {
    "exact": f"{words.STATES[State.APPLIED]}, exact",
    "assumed": f"{_DECISION} {words.APPLICABILITIES[Applicability.ASSUMPTION]}",
    "changes values": f"{_DECISION} and {words.APPLICABILITIES[Applicability.CHANGES_VALUES]}",
    "in part": f"{words.STATES[State.APPLIED]} in part, exact",
    "stays": words.STATES[State.UNSUPPORTED],
    "left alone": f"{words.STATES[State.UNSUPPORTED]}: the file has no table",
}
APPLICABILITY = {
    "exact": Applicability.EXACT,
    "in part": Applicability.EXACT,
    "assumed": Applicability.ASSUMPTION,
    "changes values": Applicability.CHANGES_VALUES,
}
HEAD = """# Idioms

The ways in which public recommendation code makes and reads embedding tables. Each has an example that was written for
this project. [Convert source](convert/index.md) says more of each.

**What converts** is converted, run and compared with its original by the tests. Both start from the same rows.

- On three batches, the outputs are compared, and the gradients of the loss with respect to every variable and row.
- Then three training steps are taken. Their losses are compared, and all variables and rows after them.
- Differences are relative to the greatest value of the tensor. The greatest that passes is {bound:.0e}, if no other
  bound is given.

**What is left unchanged** comes out byte for byte as it was. The reason is that of the finding.

"""


@dataclass(frozen=True)
class Idiom:
    """One example and what its header says."""

    path: Path  #: the file with the header
    title: str
    verdict: str
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The file, or the directory of several."""
        return self.path.parent if self.path.name == "model.py" else self.path

    @property
    def id(self) -> str:
        """Section and name, e.g. `made/get_variable`."""
        return self.root.relative_to(HERE).with_suffix("").as_posix()

    @property
    def section(self) -> str:
        """The directory that it lies in."""
        return self.id.partition("/")[0]

    @property
    def converts(self) -> bool:
        """True when its code changes."""
        return self.verdict in APPLICABILITY

    @property
    def assumed(self) -> bool:
        """True when it converts under `--assume` only."""
        return self.verdict in {"assumed", "changes values"}

    @property
    def bound(self) -> float:
        """The greatest relative difference."""
        return float(self.fields.get("bound", BOUND))

    @property
    def kinds(self) -> list[str]:
        """What is equal: kinds of tensors, or nothing for all."""
        return self.fields.get("compare", "").partition(";")[0].split()

    def converted(self, *, assume: bool) -> Conversion:
        """Convert its files as one project."""
        return Conversion(tuple(convert_paths([str(self.root)], Options(assume=assume))))


@dataclass(frozen=True)
class Conversion:
    """What came of an example."""

    files: tuple[Converted, ...]

    @property
    def changed(self) -> bool:
        """True when a byte of it changed."""
        return any(one.original != one.data for one in self.files)

    @property
    def tables(self) -> list[TableRecord]:
        """The tables of all its files."""
        return [table for one in self.files for table in one.result.tables]

    @property
    def findings(self) -> list[Finding]:
        """What was found in all its files."""
        return [finding for one in self.files for finding in one.result.findings]

    @property
    def applicability(self) -> set[Applicability | None]:
        """How far the tables that moved compute the same."""
        return {table.applicability for table in self.tables if table.verdict is State.APPLIED}

    def says(self, wanted: str) -> bool:
        """True when a finding that is about a table of that name, or about none, has the phrase."""
        name, _, phrase = (part.strip() for part in wanted.partition(";"))
        spoken = [f"{f.message} ({f.reason})" for f in self.findings if f.remains and (not name or f.table == name)]
        return any(phrase in text for text in spoken)

    def transcript(self) -> str:
        """Every finding, for the message of a failing test."""
        return "\n".join(f"{f.state.value} {f.table}: {f.message} ({f.reason})" for f in self.findings)


@functools.cache
def idioms() -> tuple[Idiom, ...]:
    """Return all examples, by section and name."""
    paths = [p for section in SECTIONS for p in sorted((HERE / section).iterdir())]
    files = [p / "model.py" if p.is_dir() else p for p in paths if p.suffix == ".py" or (p / "model.py").is_file()]
    return tuple(_read(path) for path in files)


def _read(path: Path) -> Idiom:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, _, rest = text.partition("\n\n")
    pairs = [line.partition(":") for line in rest.splitlines() if line.strip()]
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    return Idiom(path, " ".join(title.split()).removesuffix("."), fields.pop("verdict"), fields)


def page() -> str:
    """Return the page; its links are those of a file in docs/."""
    parts = [HEAD.format(bound=BOUND)]
    for section, title in SECTIONS.items():
        entries = [_entry(one) for one in idioms() if one.section == section]
        parts.append(f"## {title}\n\n{''.join(entries)}")
    return "".join(parts).rstrip("\n") + "\n"


def _entry(idiom: Idiom) -> str:
    """Return a heading-like line and a list of what becomes of an idiom."""
    link = idiom.path.relative_to(ROOT).as_posix()
    lines = [prose(f"**{idiom.title}**") + "\n", prose(f"verdict: {VERDICTS[idiom.verdict]}", "- ")]
    lines += [prose(f"becomes: {idiom.fields['becomes']}", "- ")] if idiom.fields.get("becomes") else []
    lines += [prose(f"reason: {why}", "- ") for why in _why(idiom)]
    if idiom.converts:
        bound = f"; bound {idiom.bound:.0e}" if idiom.bound != BOUND else ""
        lines.append(prose(f"compared: {_compared(idiom)}{bound}", "- "))
    return "\n".join([*lines, f"- example: [{idiom.id}](../{link})", "", ""])


def _why(idiom: Idiom) -> Iterator[str]:
    """Yield what the findings say of what stays, the first that the header asks for."""
    if not idiom.fields.get("says"):
        return
    conversion = idiom.converted(assume=True)
    for finding in conversion.findings:
        if Conversion.says(_Only(conversion.files, finding), idiom.fields["says"]):
            yield f"{finding.message} ({finding.reason})"
            return


@dataclass(frozen=True)
class _Only(Conversion):
    """One finding of a conversion."""

    finding: Finding

    @property
    def findings(self) -> list[Finding]:
        return [self.finding]


def _compared(idiom: Idiom) -> str:
    if idiom.kinds:
        return idiom.fields["compare"]
    text = idiom.path.read_text(encoding="utf-8")
    found = re.findall(r"tf\.train\.(\w+)Optimizer|keras\.optimizers\.(\w+)", text)
    optimizer = next(name for pair in found for name in pair if name)
    batch = f"; {idiom.fields['batch']}" if "batch" in idiom.fields else ""
    return f"values, gradients, 3 steps of {optimizer}{batch}"


if __name__ == "__main__":
    sys.stdout.write(page())
