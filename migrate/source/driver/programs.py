"""The programs of a directory, as someone who moves it asks for them: what each converts, needs decided, and keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from migrate.report import words
from migrate.report.model import Report, State, TableRecord
from migrate.report.summary import plural
from migrate.source.files.notebook import notebook_of
from migrate.source.project.starts import Starts
from migrate.source.tensorflow.base.other_sdks import RULE as OTHER_SDK

_MOVES = {State.APPLIED, State.AVAILABLE}
#: So many programs are told, and so many are named in an option; more are only counted.
MANY, FEW = 10, 5


@dataclass(frozen=True)
class Program:
    """A file that is started, and the tables of the files that it imports."""

    path: str
    tables: tuple[TableRecord, ...]

    def of(self, *states: State) -> list[TableRecord]:
        """Return its tables with one of these verdicts."""
        return [table for table in self.tables if table.verdict in states]


def programs(starts: Starts, report: Report, *, running: bool = True) -> list[Program]:
    """Return the programs that reach a table, those with most tables first.

    A file is a program if it asks whether it is the main module, or if no other file imports it; `running`: and if it
    does something when it is started.
    """
    listed = []
    for path in starts.roots():
        reached = starts.project.closure(path)
        tables = tuple(one for one in report.tables if notebook_of(one.location.path) in reached)
        if tables and (not running or starts.does_something(path)):
            listed.append(Program(path, tables))
    return sorted(listed, key=lambda program: (-len(program.tables), program.path))


def used_files(starts: Starts, report: Report) -> frozenset[str]:
    """Return the files that programs and other files with tables reach, notebooks among them."""
    listed = programs(starts, report, running=False)
    return frozenset[str]().union(*(starts.project.closure(one.path) for one in listed))


def program_lines(starts: Starts, report: Report) -> Iterator[str]:
    """Yield what each program of a project of several files converts; nothing for a single file."""
    project = starts.project
    listed = programs(starts, report) if len(project.files) > 1 else []
    if not listed:
        return
    yield f"{plural(len(listed), 'program')} with tables:"
    for program in listed[:MANY]:
        yield _told(program)
    if len(listed) > MANY:
        yield f"  and {plural(len(listed) - MANY, 'more program')}"
    yield from _unused(starts, listed, report)
    outside = len(set(project.files) - frozenset[str]().union(*(project.closure(one.path) for one in listed)))
    names = ",".join(one.path for one in listed)
    if outside and len(listed) <= FEW and "*" not in names:
        yield f"  to leave out {plural(outside, 'file')} that they do not import: `--entry {words.quoted(names)}`"
    # A program of another SDK runs under its façade alone, as its finding says.
    apart = {one.location.path for one in report.findings if one.rule == OTHER_SDK and one.state is State.UNSUPPORTED}
    runs = (one for one in listed if apart.isdisjoint(project.closure(one.path)))
    left = [one.path for one in runs if one.of(State.SUGGESTED, State.UNSUPPORTED) and one.path.endswith(".py")]
    asked = starts.program(among=left) or next(iter(left), None)
    if asked is None:
        return
    run = f"-- python {words.quoted(asked)}{' ARGUMENTS' if starts.requires_arguments(asked) else ''}`"
    if not project.settings.evidence:
        traced = f"`migrate trace {run}"
        yield f"  what the source does not show, a run can: {traced}, then this command with `--evidence trace.json`"
    yield f"  to train with tables and leave the source as it is: `migrate run {run}"


def _unused(starts: Starts, listed: list[Program], report: Report) -> Iterator[str]:
    """Yield how many tables no program has, with the first files that make them."""
    reached = frozenset[str]().union(*(starts.project.closure(one.path) for one in listed))
    places = [notebook_of(table.location.path) for table in report.tables]
    apart = [path for path in places if path not in reached]
    if apart:
        names = [*dict.fromkeys(apart)]
        more = f" and {plural(len(names) - FEW, 'more file')}" if len(names) > FEW else ""
        yield f"  no program uses {plural(len(apart), 'table')}: {', '.join(names[:FEW])}{more}"


def _told(program: Program) -> str:
    """Return what becomes of a program's tables; the lines of its files have the reasons."""
    moving, asked = program.of(*_MOVES), program.of(State.SUGGESTED)
    rest = len(program.tables) - len(moving) - len(asked)
    converts = "converts" if len(program.tables) == 1 else "convert"
    counts = [
        f"{len(moving)} of {plural(len(program.tables), 'table')} {converts} at once",
        *([f"{len(asked)} after a decision"] if asked else ()),
        *([f"{rest} {'stay' if rest != 1 else 'stays'}"] if rest else ()),
    ]
    return f"  {program.path}: {', '.join(counts)}"
