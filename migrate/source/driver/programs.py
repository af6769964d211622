"""The programs of a directory, as someone who moves it asks for them: what each converts, needs decided, and keeps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from migrate.report import words
from migrate.report.model import Report, State, TableRecord
from migrate.report.summary import plural
from migrate.source.files.notebook import notebook_of
from migrate.source.project.import_graph import Project
from migrate.source.tensorflow.base.other_sdks import RULE as OTHER_SDK

_STARTS = re.compile(r"""__name__\s*==\s*["']__main__["']""")
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


def programs(project: Project, report: Report) -> list[Program]:
    """Return the programs that reach a table, those with most tables first.

    A file is a program if it asks whether it is the main module, or if no other file imports it.
    """
    imported = {other for path in project.files for other in project.edges(path) if other != path}
    listed = []
    for path in project.files:
        if path not in imported or _STARTS.search(project.text(path)):
            reached = project.closure(path)
            tables = tuple(one for one in report.tables if notebook_of(one.location.path) in reached)
            if tables:
                listed.append(Program(path, tables))
    return sorted(listed, key=lambda one: (-len(one.tables), one.path))


def used_files(project: Project, report: Report) -> frozenset[str]:
    """Return the files of programs that reach a table, notebooks among them."""
    return frozenset[str]().union(*(project.closure(one.path) for one in programs(project, report)))


def program_lines(project: Project, report: Report) -> Iterator[str]:
    """Yield what each program of a project of several files converts; nothing for a single file."""
    listed = programs(project, report) if len(project.files) > 1 else []
    if not listed:
        return
    yield f"{plural(len(listed), 'program')} with tables:"
    for program in listed[:MANY]:
        yield _told(program)
    if len(listed) > MANY:
        yield f"  and {plural(len(listed) - MANY, 'more program')}"
    outside = len(set(project.files) - frozenset[str]().union(*(project.closure(one.path) for one in listed)))
    names = ",".join(one.path for one in listed)
    if outside and len(listed) <= FEW and "*" not in names:
        yield f"  to leave out {plural(outside, 'file')} that they do not import: `--entry {words.quoted(names)}`"
    # A program of another SDK runs under its façade alone, as its finding says.
    apart = {one.location.path for one in report.findings if one.rule == OTHER_SDK and one.state is State.UNSUPPORTED}
    runs = (one for one in listed if apart.isdisjoint(project.closure(one.path)))
    left = (one.path for one in runs if one.of(State.SUGGESTED, State.UNSUPPORTED))
    asked = next((path for path in left if path.endswith(".py") and _does_something(project.text(path))), "")
    if asked and not project.settings.evidence:
        traced = f"`migrate trace -- python {words.quoted(asked)}`"
        yield f"  what the source does not show, a run can: {traced}, then this command with `--evidence trace.json`"
    if asked:
        yield f"  to train with tables and leave the source as it is: `migrate run -- python {words.quoted(asked)}`"


def _does_something(text: str) -> bool:
    """Return whether a file does more than to import and to define, when it is started."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    words = (one for one in body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(not isinstance(one, kinds) for one in set(body) - set(words))


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
