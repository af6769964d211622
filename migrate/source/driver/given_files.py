"""The files of a run as one project: without what is excluded, within entry points, with the evidence of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from migrate.report.model import Finding, Location, State, with_ids
from migrate.source.configuration.config_files import entry_points, is_excluded
from migrate.source.evidence.runs import read_evidence
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.notebook import SUFFIX
from migrate.source.files.path_lookup import shown
from migrate.source.project.discovery import Input, find_inputs
from migrate.source.project.entries import Pattern, entries_of, reached
from migrate.source.project.import_graph import Project
from migrate.source.settings.options import Options

_RULE = "entry-point"
#: A note names so many entry points; more are only counted.
NAMED = 3


def project_of(
    paths: Sequence[str], options: Options, gitignore: bool = True, generated: bool = False, skip: Path | None = None
) -> Project:
    """Return the files below `paths` as a run judges them; `skip` is a directory to skip.

    Raises MigrateError for a path that does not exist, an entry point without a file, and a record of another text.
    """
    return scoped(paths, find_inputs(paths, skip, gitignore, generated), options)[1].part


def scoped(paths: Sequence[str], inputs: Sequence[Input], options: Options) -> tuple[Options, _Scope]:
    """Return the options with the project and the evidence, and which of the files the run judges."""
    files = _files(inputs, options)
    if options.overrides is not None:
        options = replace(options, evidence=read_evidence(options.overrides.evidence, files))
    named = [shown(one.path) for one in inputs if one.explicit]
    scope = _scope_of(Project(files, settings=options, named=named), entry_points(paths, options.overrides))
    return replace(options, project=scope.part), scope


def _files(inputs: Sequence[Input], options: Options) -> dict[str, Path]:
    """Return all files and notebooks of the run by their paths in reports, without those that are excluded."""
    return {
        shown(one.path): one.path
        for one in inputs
        if one.path.suffix in {".py", SUFFIX} and not (one.problem or one.leads_to or one.written)
        if one.explicit or not is_excluded(one.path, options.overrides)
    }


@dataclass(frozen=True)
class _Scope:
    """The project of a run, and the entry points that limit it; without any, all files belong to the run."""

    project: Project
    entries: tuple[str, ...] = ()

    @cached_property
    def files(self) -> frozenset[str]:
        """The files of the run, by their paths in reports."""
        return reached(self.project, self.entries) if self.entries else frozenset(self.project.files)

    def takes(self, path: str) -> bool:
        """True for a file of the run; without entry points also for one that cannot be read."""
        return not self.entries or path in self.files

    @cached_property
    def part(self) -> Project:
        """The project of these files alone."""
        if not self.entries:
            return self.project
        files = {path: place for path, place in self.project.files.items() if path in self.files}
        return Project(files, settings=self.project.settings, named=self.project.named & self.files)

    def with_notes(self, results: Sequence[SourceResult]) -> dict[str, SourceResult]:
        """Return the results that get a note, and new ones of files outside, by path.

        The first entry point is told how many files are outside, and each of these that imports a file whose tables
        move is named: it may fail with the converted file.
        """
        if not self.entries:
            return {}
        known = {one.path: one for one in results}
        moved = {path for path, one in known.items() if one.changed}
        outside = [path for path in self.project.files if path not in self.files]
        notes = {self.entries[0]: self._count(len(outside))} if outside else {}
        for path in outside:
            used = min(self.project.closure(path) & moved, default="")
            if used:
                notes[path] = self._use(path, used)
        return {path: _noted(known.get(path), note) for path, note in notes.items()}

    def _count(self, outside: int) -> Finding:
        where = f"{outside} of {len(self.project.files)} files"
        return self._note(
            self.entries[0], f"{where} are outside: left unchanged, and not analysed", f"not reached from {self._names}"
        )

    def _use(self, path: str, used: str) -> Finding:
        action = "add it to --entry, or test that it still runs with the converted files"
        return self._note(
            path,
            "outside of the entry points: left unchanged, and not analysed",
            f"it imports `{used}`, which is converted",
            action,
        )

    def _note(self, path: str, message: str, reason: str, action: str = "") -> Finding:
        return Finding(_RULE, "file", State.NOTED, Location(path, 0, 0), message, reason=reason, action=action)

    @property
    def _names(self) -> str:
        more = f" and {len(self.entries) - NAMED} more" if len(self.entries) > NAMED else ""
        return ", ".join(f"`{entry}`" for entry in self.entries[:NAMED]) + more


def _noted(known: SourceResult | None, note: Finding) -> SourceResult:
    result = known or SourceResult(note.location.path, "other", "", "")
    return replace(result, findings=with_ids([*result.findings, note]))


def _scope_of(project: Project, patterns: Sequence[Pattern]) -> _Scope:
    """Return the part of a project that the patterns' files start; raises MigrateError for a pattern without a file."""
    return _Scope(project, entries_of(project, patterns))
