"""One conversion of many files: read, convert, report. Writing is the caller's choice."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from migrate import __version__
from migrate.errors import MigrateError
from migrate.report.model import InputFile, Report, Stage, State, with_ids
from migrate.source.config import for_file, is_excluded
from migrate.source.convert import convert_bytes, failed
from migrate.source.discover import Input, find_inputs, mentions_framework
from migrate.source.options import Options
from migrate.source.result import SourceResult
from migrate.source.writing import unified_diff

SIBLINGS = (".py", ".yaml", ".yml")


@dataclass(frozen=True)
class Converted:
    """One input with its result and the bytes to write."""

    source: Input
    original: bytes
    data: bytes
    result: SourceResult

    def outputs(self, everything: bool) -> dict[Path, bytes]:
        """Return what to write below an output directory; an unchanged file only when `everything` is wanted."""
        found: dict[Path, bytes] = {}
        if self.result.changed or everything:
            found[self.source.relative] = self.data
        for name, text in self.result.outputs.items():
            found[self.source.relative.parent / name] = text.encode()
        return found

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        return unified_diff(self.result.path, self.result.original, self.result.converted)


def convert_paths(
    paths: Sequence[str], options: Options, skip: Path | None = None, progress: Callable[[str], None] | None = None
) -> list[Converted]:
    """Convert every file below `paths` in memory; files that use no framework are left out unless named themselves.

    Raises MigrateError for a path that does not exist.
    """
    done = []
    for source in find_inputs(paths, skip):
        if not source.explicit and is_excluded(source.path):
            continue
        if progress is not None:
            progress(shown(source.path))
        converted = _convert(source, options)
        if converted.result.kind != "other" or converted.result.findings or source.explicit:
            done.append(converted)
    return done


def _convert(source: Input, options: Options) -> Converted:
    path = shown(source.path)
    try:
        data = source.path.read_bytes()
    except OSError as error:
        return Converted(
            source, b"", b"", failed(path, "", f"it cannot be read ({error.strerror})", "allow reading it")
        )
    if not source.explicit and not mentions_framework(data):
        return Converted(source, data, data, SourceResult(path, "other", "", ""))
    siblings = _siblings(source.path) if b"paddle" in data else {}
    result, encoded = convert_bytes(path, data, for_file(source.path, options), siblings)
    return Converted(source, data, encoded, result)


def _siblings(path: Path) -> dict[str, str]:
    """Return the texts beside a file that a frontend may need, name -> text; unreadable ones are left out."""
    found = {}
    for other in sorted(path.parent.iterdir()):
        if other != path and other.suffix in SIBLINGS and other.is_file():
            try:
                found[other.name] = other.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
    return found


def shown(path: Path) -> str:
    """Return a path as reports show it: relative to the working directory when it lies below, with `/`."""
    relative = os.path.relpath(path)
    return path.as_posix() if relative.startswith("..") else Path(relative).as_posix()


def make_report(command: str, done: Sequence[Converted], written: str, dry: bool) -> Report:
    """Return the report of a run; with `dry`, what was applied is only available."""
    findings = with_ids(finding for one in done for finding in one.result.findings)
    tables = tuple(table for one in done for table in one.result.tables)
    if dry:
        available = {State.APPLIED: State.AVAILABLE}
        findings = tuple(replace(f, state=available.get(f.state, f.state)) for f in findings)
        tables = tuple(replace(t, verdict=available.get(t.verdict, t.verdict)) for t in tables)
    inputs = tuple(
        InputFile(one.result.path, hashlib.sha256(one.original).hexdigest(), one.result.kind, one.diff) for one in done
    )
    return Report(command, __version__, inputs, _stages(done, written), findings, tables)


def _stages(done: Sequence[Converted], written: str) -> tuple[Stage, ...]:
    bad = sum(any(f.state is State.FAILED for f in one.result.findings) for one in done)
    changed = sum(one.result.changed for one in done)
    tables = sum(len(one.result.tables) for one in done)
    return (
        Stage("parse", "failed" if bad else "ok", f"{len(done) - bad} of {len(done)} files read"),
        Stage("judge", "ok", f"{tables} {'table' if tables == 1 else 'tables'} judged"),
        Stage("convert", "ok", f"{changed} {'file' if changed == 1 else 'files'} changed"),
        Stage("write", "ok" if written else "not run", written),
    )


def all_failed(done: Sequence[Converted]) -> str:
    """Return the sentence to print when no input could be converted at all, else an empty string."""
    failures = [f for one in done for f in one.result.findings if f.state is State.FAILED]
    if not failures or any(not any(f.state is State.FAILED for f in one.result.findings) for one in done):
        return ""
    first = failures[0]
    return f"{first.location.path}: {first.message}; {first.action}"


def nothing_found(paths: Sequence[str]) -> MigrateError:
    """Return the error for paths that hold no file of a known framework."""
    return MigrateError(f"{', '.join(paths)}: no Python file that imports TensorFlow or Paddle; give other paths")
