"""Whole programs and what is reported of them; `python -m tests.support.source.corpus` writes the reports anew.

The programs are those of `tests/migrate/source/corpus/`, which are written as public models are, and the examples; the
idioms of the docs say their verdicts themselves. A report has the verdict of each table, place, rule and state of each
finding but those of what was applied, and a digest of the text; words are tested with the rules that say them.
"""

from __future__ import annotations

import hashlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from migrate.report.model import Finding, State, TableRecord
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from tests.support.paths import ROOT

HERE = ROOT / "tests" / "migrate" / "source" / "corpus"
EXAMPLES = ROOT / "examples" / "tensorflow"


@dataclass(frozen=True)
class Program:
    """A program: its name, the file of reports that it belongs to, and how it is converted."""

    name: str
    group: str
    convert: Callable[[bool], Sequence[SourceResult]]  #: with assumptions, or without

    def report(self) -> str:
        """Return what is reported without assumptions, then with them, where that is something else."""
        plain, assumed = (self._lines(assume) for assume in (False, True))
        other = ["-- under assumptions", *assumed] if assumed != plain else []
        return "\n".join([f"== {self.name}", *plain, *other]) + "\n"

    def _lines(self, assume: bool) -> list[str]:
        return [line for result in self.convert(assume) for line in _of_file(result)]


def _of_file(result: SourceResult) -> Iterator[str]:
    """Yield the lines of one file."""
    digest = hashlib.sha256(result.converted.encode()).hexdigest()[:12]
    yield f"{Path(result.path).name}: {f'becomes {digest}' if result.changed else 'stays'}"
    yield from sorted(map(_of_table, result.tables))
    left = [one for one in result.findings if one.state is not State.APPLIED]  # the digest has what was applied
    yield from (told for _, told in sorted({(one.location.line, _of_finding(one)) for one in left}))


def _of_table(table: TableRecord) -> str:
    applicability = f" {table.applicability.value}" if table.applicability else ""
    return f"  table {table.name} of line {table.location.line}: {table.verdict.value}{applicability}"


def _of_finding(finding: Finding) -> str:
    said = [finding.state.value, *([finding.applicability.value] if finding.applicability else [])]
    return f"  line {finding.location.line}, {finding.rule}, {' '.join(said)}"


def _of_text(path: Path) -> Callable[[bool], Sequence[SourceResult]]:
    text = path.read_text(encoding="utf-8")
    return lambda assume: [convert_text(path.name, text, Options(assume=assume), {})]


def programs() -> Iterator[Program]:
    """Yield all programs."""
    for path in sorted(HERE.glob("*/*.py")):
        yield Program(path.relative_to(HERE).with_suffix("").as_posix(), path.parent.name, _of_text(path))
    for path in sorted(EXAMPLES.glob("*.py")):
        yield Program(f"examples/{path.stem}", "examples", _of_text(path))


def grouped() -> Mapping[str, list[Program]]:
    """Return the programs by the file of their reports."""
    found: dict[str, list[Program]] = defaultdict(list)
    for program in programs():
        found[program.group].append(program)
    return found


def reported(group: str) -> Path:
    """Return the file of a group's reports."""
    return HERE / f"{group}.txt"


def main() -> None:
    """Write all reports."""
    for group, members in grouped().items():
        reported(group).write_text("\n".join(one.report() for one in members), encoding="utf-8")
        sys.stdout.write(f"{reported(group).relative_to(ROOT)}: {len(members)} programs\n")


if __name__ == "__main__":
    main()
