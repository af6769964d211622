"""Converts many files and makes the report; the caller writes the results."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from migrate import __version__
from migrate.errors import MigrateError
from migrate.report.model import Finding, InputFile, Location, Report, Stage, State, with_ids
from migrate.report.summary import plural
from migrate.source.configuration.config_files import for_file, is_excluded
from migrate.source.driver.convert_file import convert_bytes, failed
from migrate.source.driver.given_files import scoped
from migrate.source.driver.process_pool import Outcome, Task, convert_all
from migrate.source.driver.result_cache import Cache, key_of
from migrate.source.evidence.in_graph import RULE as IN_GRAPH
from migrate.source.evidence.in_graph import moved_in_graph
from migrate.source.files.atomic_write import unified_diff
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.encoding import decode, read_source, source_bytes
from migrate.source.files.generated_files import is_generated, left_out
from migrate.source.files.notebook import NotebookResult
from migrate.source.files.path_lookup import is_file, shown
from migrate.source.paddle.model_files import folder_of, in_folder, is_trainer, texts_of
from migrate.source.project.analysis_units import programs_of
from migrate.source.project.discovery import Input, find_inputs, mentions_framework
from migrate.source.project.file_imports import outside
from migrate.source.settings.options import Options

#: Files of a Paddle model's data of which the times are compared, before an earlier result is used.
_STAMPED = 20_000
#: Rules whose finding is work at the file with the cause, and a note at the other files of its model.
_TOLD_ONCE = frozenset({"paddle-inputs", "paddle-unsupported"})


@dataclass(frozen=True)
class Converted:
    """One input, its result and the bytes to write."""

    source: Input
    original: bytes
    data: bytes
    result: SourceResult

    def outputs(self, everything: bool) -> dict[Path, bytes]:
        """Return relative path -> bytes to write for an output directory; an unchanged file only with `everything`."""
        files: dict[Path, bytes] = {}
        if self.result.changed or everything:
            files[self.source.relative] = self.data
        for name, text in self.result.outputs.items():
            files[self.source.relative.parent / name] = _as_beside(self.source.path.parent / name, text)
        return files

    @property
    def diff(self) -> str:
        """The change as a unified diff; for a notebook, one per cell."""
        if isinstance(self.result, NotebookResult):
            return "".join(unified_diff(cell.path, cell.before, cell.after) for cell in self.result.cells)
        return unified_diff(self.result.path, self.result.original, self.result.converted)


def _as_beside(path: Path, text: str) -> bytes:
    """Return a text in the encoding of the file of this path, with its byte-order mark; in UTF-8 if there is none."""
    return decode(source_bytes(path)).encode(text) if is_file(path) else text.encode()


@dataclass(frozen=True)
class How:
    """The settings of a run."""

    skip: Path | None = None  #: a directory to skip: that of the results
    only: Path | None = None  #: convert only this file and those that are analysed with it
    gitignore: bool = True  #: skip files that git ignores
    generated: bool = False  #: also convert generated files
    jobs: int = 1  #: number of processes
    cache: Cache | None = None
    progress: Callable[[int, int], None] | None = None  #: called with the number of files done, and of all files


def convert_paths(paths: Sequence[str], options: Options, how: How | None = None) -> list[Converted]:
    """Convert every file below `paths` in memory; files without a framework are skipped unless named in `paths`.

    Raises MigrateError for a path that does not exist.
    """
    how = how or How()
    work: list[tuple[Input, Task | Converted]] = []
    inputs = find_inputs(paths, how.skip, how.gitignore, how.generated)
    options, scope = scoped(paths, inputs, options)
    within = [one for one in inputs if scope.takes(shown(one.path))]
    for source in within if how.only is None else _judged_with(how.only, within, options):
        prepared = _prepare(source, options, how)
        if prepared is not None:
            work.append((source, prepared))
    outcomes = iter(_outcomes([task for _, task in work if isinstance(task, Task)], how))
    done = []
    for source, task in work:
        converted = task if isinstance(task, Converted) else _done(source, task.data, next(outcomes))
        if converted.result.kind != "other" or converted.result.findings or source.explicit:
            done.append(converted)
    results = _with_causes([one.result for one in done])
    noted = scope.with_notes(results)
    results = [noted.pop(one.path, one) for one in results]
    final = {one.path: one for one in (*_in_graph(results, options), *noted.values())}
    done = [_final(one, final.pop(before.path)) for one, before in zip(done, results, strict=True)]
    beside = [(one, final[path]) for one in inputs if (path := shown(one.path)) in final]
    return [*done, *(_final(_unjudged(one, result), result) for one, result in beside)]


def _in_graph(results: list[SourceResult], options: Options) -> list[SourceResult]:
    """Return the results with what moves in the graphs of the evidence."""
    files = options.project.files if options.project is not None else {}
    runs = [one for one in options.evidence if one.entry in files]
    runs = [one for one in runs if for_file(files[one.entry], options).selection.wants(IN_GRAPH)]
    if not runs or options.project is None:
        return results
    return moved_in_graph(results, runs, {path: options.project.text(path) for path in files})


def _unjudged(source: Input, result: SourceResult) -> Converted:
    data = source_bytes(source.path)
    return Converted(source, data, data, result)


def _final(done: Converted, result: SourceResult) -> Converted:
    """Return a file with its last result, which may have another text."""
    changed = result.converted != done.result.converted or (done.data == done.original and result.changed)
    data = decode(done.original).encode(result.converted) if changed else done.data
    return replace(done, result=result, data=data)


def convert_stream(data: bytes, name: str, options: Options) -> Converted:
    """Convert the text of a stream; `name` is its file name in findings, whose suffix distinguishes notebooks."""
    source = Input(Path(name), Path(name), explicit=True)
    return _done(source, data, convert_bytes(name, data, for_file(Path(name), options), {}))


def _done(source: Input, data: bytes, outcome: tuple[SourceResult, bytes]) -> Converted:
    result, converted = outcome
    return Converted(source, data, converted, result)


def _prepare(source: Input, options: Options, how: How) -> Task | Converted | None:
    """Read a file and return its task, or its result if it needs none; None for a file without a framework."""
    if not source.explicit and is_excluded(source.path, options.overrides):
        return None
    if source.leads_to:
        return Converted(source, b"", b"", not_followed(shown(source.path), source.leads_to))
    try:
        if source.problem:
            raise OSError(0, source.problem)
        data = source_bytes(source.path)
    except OSError as error:
        result = failed(
            shown(source.path),
            "",
            f"the file cannot be read ({error.strerror})",
            "give a regular file" if error.errno == errno.EINVAL else "check its permissions",
        )
        return Converted(source, b"", b"", result)
    path = shown(source.path)
    concerned = mentions_framework(data) or _uses_project(path, options)
    if not source.explicit and not concerned:
        return None
    if source.written or (not (source.explicit or how.generated) and is_generated(source.path.name, data)):
        return Converted(source, data, data, left_out(path, source.written))
    siblings = siblings_of(source.path) if b"paddle" in data else {}
    group = programs_of(options.project).group(path) if options.project is not None else path
    return Task(path, data, for_file(source.path, options), siblings, group)


def _outcomes(tasks: Sequence[Task], how: How) -> list[tuple[SourceResult, bytes]]:
    """Return the outcomes of the tasks, in order, from the cache or by converting the files.

    Raises the MigrateError of the first file that has one.
    """
    keys = [key_of(task.path, task.data, task.options, _read_with(task)) if how.cache else "" for task in tasks]
    known = [how.cache.get(key) if how.cache else None for key in keys]
    outcomes: list[Outcome | None] = [
        (kept[0], task.data if kept[1] is None else kept[1]) if kept else None
        for kept, task in zip(known, tasks, strict=True)
    ]
    left = [index for index, outcome in enumerate(outcomes) if outcome is None]
    for count, (at, outcome) in enumerate(convert_all([tasks[index] for index in left], how.jobs), 1):
        outcomes[left[at]] = outcome
        if how.cache and not isinstance(outcome, MigrateError):
            _keep(how.cache, keys[left[at]], tasks[left[at]], *outcome)
        if how.progress is not None:
            how.progress(count, len(left))
    if how.cache:
        how.cache.prune()
    return [_raised(outcome) for outcome in outcomes]


def _read_with(task: Task) -> dict[str, str]:
    """Return what else a result depends on: texts beside the file, and digests of files analysed with it."""
    project = task.options.project
    others = programs_of(project).dependencies(task.path) if project is not None else ()
    if any(map(is_trainer, (*task.siblings, task.path))):
        folder, _ = in_folder(task.path, task.siblings)
        return {**task.siblings, "data": _stamps(folder)}  # a reader is executed on its sample data
    if project is None or task.path not in project.files:
        return dict(task.siblings)
    read = {f"project:{other}": project.digest(other) for other in others}
    read |= {f"outside:{place}": text for place, text in outside(project, task.path).items()}
    return {**task.siblings, **read, "opened": " ".join(programs_of(project).opened(task.path))}


def _stamps(folder: Path) -> str:
    """Return the names, sizes and times of the files below a folder; of too many, what no other run returns."""
    stamps: list[tuple[str, str, int, int]] = []
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = (Path(place) / name).stat()
                stamps.append((place, name, status.st_size, status.st_mtime_ns))
        if len(stamps) > _STAMPED:
            return str(time.time_ns())
    return repr(sorted(stamps))


def _keep(cache: Cache, key: str, task: Task, result: SourceResult, data: bytes) -> None:
    """Cache a result unless the file failed, which may be due to this machine (memory, a crash)."""
    if not any(finding.state is State.FAILED for finding in result.findings):
        cache.put(key, result, data if data != task.data else None)


def _raised(outcome: Outcome | None) -> tuple[SourceResult, bytes]:
    if isinstance(outcome, MigrateError):
        raise outcome
    assert outcome is not None, "every task has an outcome"
    return outcome


def _judged_with(only: Path, inputs: Sequence[Input], options: Options) -> list[Input]:
    """Return the inputs that are analysed with the file `only`, including it; none if the run skips it."""
    project, wanted = options.project, only.resolve()
    own = next((one for one in inputs if one.path.resolve() == wanted), None)
    if own is None or own.written or project is None:
        return []
    group = programs_of(project).group
    return [one for one in inputs if one is own or group(shown(one.path)) == group(shown(own.path))]


def _uses_project(path: str, options: Options) -> bool:
    """True for a file that is analysed with others of the run, e.g. because it imports them."""
    project = options.project
    return project is not None and path in project.files and path in programs_of(project).concerned


def siblings_of(path: Path) -> dict[str, str]:
    """Return name -> text of the files beside a file that a front end may need; unreadable ones are skipped.

    Names are relative to the file's folder. Beside the files of a Paddle model are those of its packages.
    """
    siblings, own = {}, path.absolute()
    try:
        others = texts_of(folder_of(own))
    except OSError:  # the directory cannot be listed
        return {}
    for other in others:
        if other != own:
            try:
                siblings[Path(os.path.relpath(other, own.parent)).as_posix()] = read_source(other)
            except (OSError, SyntaxError, UnicodeDecodeError):
                continue
    return siblings


def make_report(command: str, done: Sequence[Converted], written: str, dry: bool) -> Report:
    """Return the report of a run; with `dry`, applied edits are reported as available."""
    findings = with_ids(finding for one in done for finding in one.result.findings)
    tables = tuple(table for one in done for table in one.result.tables)
    if dry:
        available = {State.APPLIED: State.AVAILABLE}
        findings = tuple(replace(f, state=available.get(f.state, f.state)) for f in findings)
        tables = tuple(replace(t, verdict=available.get(t.verdict, t.verdict)) for t in tables)
    inputs = tuple(
        InputFile(r.path, hashlib.sha256(one.original).hexdigest(), r.kind, one.diff, r.target)
        for one in done
        for r in [one.result]
    )
    return Report(command, __version__, inputs, _stages(done, written), findings, tables)


def _stages(done: Sequence[Converted], written: str) -> tuple[Stage, ...]:
    bad = sum(any(f.state is State.FAILED for f in one.result.findings) for one in done)
    changed = sum(one.result.changed for one in done)
    tables = sum(len(one.result.tables) for one in done)
    return (
        Stage("parse", "failed" if bad else "ok", f"{len(done) - bad} of {len(done)} files read"),
        Stage("judge", "ok", f"{tables} {'table' if tables == 1 else 'tables'} found"),
        Stage("convert", "ok", f"{changed} {'file' if changed == 1 else 'files'} changed"),
        Stage("write", "ok" if written else "not run", written),
    )


def all_failed(done: Sequence[Converted]) -> str:
    """Return the error message if all inputs failed, else an empty string."""
    failures = [f for one in done for f in one.result.findings if f.state is State.FAILED]
    if not failures or any(not any(f.state is State.FAILED for f in one.result.findings) for one in done):
        return ""
    first = failures[0]
    alike = {one.location.path for one in failures if one.message == first.message} - {first.location.path}
    others = f" and {plural(len(alike), 'other file')}" if alike else ""
    return f"{first.location.path}{others}: {first.message}" + (f"; {first.action}" if first.action else "")


def nothing_found(paths: Sequence[str]) -> MigrateError:
    """Return the error for paths without any file of a known framework."""
    return MigrateError(f"{', '.join(paths)}: no Python file here imports TensorFlow or Paddle; give other paths")


def _with_causes(results: Sequence[SourceResult]) -> list[SourceResult]:
    """Return the results; a note on a file that stays is work where no file of the run has the cause."""
    rules = {finding.rule for one in results for finding in one.findings if finding.remains}
    return [replace(one, findings=tuple(_work(finding, rules) for finding in one.findings)) for one in results]


def _work(finding: Finding, rules: set[str]) -> Finding:
    is_left = finding.state is State.NOTED and finding.subject == "file" and finding.rule in _TOLD_ONCE - rules
    return replace(finding, state=State.UNSUPPORTED) if is_left else finding


RULE = "outside-link"


def not_followed(path: str, target: str) -> SourceResult:
    """Return the result of a link: nothing is converted, and a note says where it leads."""
    finding = Finding(
        RULE,
        "file",
        State.NOTED,
        Location(path, 0, 0),
        "a link out of the given directory, not followed",
        reason=f"it leads to {target}",
        action="to convert that file, give its path, too",
    )
    return SourceResult(path, "other", "", "", with_ids([finding]))
