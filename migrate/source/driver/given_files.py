"""The files of a run as one project: without what is excluded, within entry points, with the evidence of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from migrate.source.configuration.config_files import entry_points, is_excluded
from migrate.source.driver.scope import Scope, scope_of
from migrate.source.evidence.runs import read_evidence
from migrate.source.files.notebook import SUFFIX
from migrate.source.files.path_lookup import shown
from migrate.source.project.discovery import Input, find_inputs
from migrate.source.project.import_graph import Project
from migrate.source.settings.options import Options


def project_of(paths: Sequence[str], options: Options, gitignore: bool = True, generated: bool = False) -> Project:
    """Return the files below `paths` as a run judges them.

    Raises MigrateError for a path that does not exist, an entry point without a file, and a record of another text.
    """
    return scoped(paths, find_inputs(paths, None, gitignore, generated), options)[1].part


def scoped(paths: Sequence[str], inputs: Sequence[Input], options: Options) -> tuple[Options, Scope]:
    """Return the options with the project and the evidence, and which of the files the run judges."""
    files = _files(inputs, options)
    if options.given is not None:
        options = replace(options, evidence=read_evidence(options.given.evidence, files))
    named = [shown(one.path) for one in inputs if one.explicit]
    scope = scope_of(Project(files, settings=options, named=named), entry_points(paths, options.given))
    return replace(options, project=scope.part), scope


def _files(inputs: Sequence[Input], options: Options) -> dict[str, Path]:
    """Return all files and notebooks of the run by their paths in reports, without those that are excluded."""
    return {
        shown(one.path): one.path
        for one in inputs
        if one.path.suffix in {".py", SUFFIX} and not (one.problem or one.leads_to or one.written)
        if one.explicit or not is_excluded(one.path, options.given)
    }
