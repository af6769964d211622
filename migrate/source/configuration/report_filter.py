"""Filters the findings of a file by selected rules and ignore comments."""

from __future__ import annotations

from collections.abc import Iterable

from migrate.report.model import Finding, with_ids
from migrate.source.rules.catalogue import known_ids
from migrate.source.settings.options import Options
from migrate.source.settings.suppressions import Comments, choose


def chosen(path: str, findings: Iterable[Finding], options: Options, comments: Comments) -> tuple[Finding, ...]:
    """Return the findings of selected rules; findings at an ignore comment become notes."""
    known = known_ids() if comments.lines else ()
    choice = choose(path, findings, options.selection, comments, known)
    return with_ids(sorted(choice, key=lambda f: (f.location.line, f.rule)))
