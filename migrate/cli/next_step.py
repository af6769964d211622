"""What `migrate check` and `convert -o` suggest next: to convert, and to prove it by a program that trains."""

from __future__ import annotations

import ast
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from migrate.report.model import Report
    from migrate.source.driver.run import Converted
    from migrate.source.project.discovery import Input
    from migrate.source.project.starts import Starts


@dataclass(frozen=True)
class _Program:
    """The file that is started."""

    path: str  #: in reports
    source: Input


#: Stands for arguments of a program that only its user knows.
ARGUMENTS = "ARGUMENTS"


def next_step(
    command: str,
    done: Sequence[Converted],
    directory: Path,
    starts: Starts,
    schema: str | None,
    recorded: Sequence[str] = (),
) -> str:
    """Return what to type after `command`, a `migrate convert`; empty if nothing that a proof can run changed.

    It is the proof, or the same command with the files that the proof needs. `recorded` is the folder that was
    converted, empty if we are not in it, and the command that was traced; empty if none was.
    """
    changed = [one for one in done if _verifiable(one)]
    if not changed:
        return ""
    folder, *words = recorded or ("",)
    program = next((_Program(one.result.path, one.source) for one in done if one.result.path in words), None)
    arguments = words[words.index(program.path) + 1 :] if program is not None else []
    if program is None:
        program = _program(done, starts, changed)
        arguments = _arguments(program, starts) if program is not None else []
    if not folder and program is not None and changed[0].result.kind != "paddle":
        below = _below(program)
        folder, words = (below[0], [*below[1:], *arguments]) if below else ("", words)
    needs = f", with the arguments that {program.path} requires" if program and ARGUMENTS in arguments else ""
    if folder:
        return f"{_verify(folder, directory.as_posix())} -- {shlex.join(words)}{needs}"
    if any(one.result.kind == "paddle" and not _as_it_is(one) for one in changed):
        return _verify(*_paddle(changed[0], done, directory), *(["--schema", schema] if schema is not None else []))
    if program is None:
        return (
            f"migrate verify PROGRAM {shlex.quote(directory.as_posix())}/PROGRAM, for a program that trains the model"
        )
    own = ["--", *arguments] if arguments else []
    proof = _verify(program.path, (directory / program.source.relative).as_posix(), *own) + needs
    if _needs_rest(program, lambda path: (directory / path).exists()):
        return f"{command} --copy-rest, as the program needs files that did not change; then {proof}"
    return proof


def to_go_on(command: str, folders: Sequence[Path], reports: Sequence[str]) -> str:
    """Return what to type after `command`, a `migrate convert`, to train on from folders of checkpoints."""
    known = next((path for path in reports if path.lower().endswith(".json")), None)
    old = folders[0]
    moving = shlex.join(["migrate", "checkpoint", str(old), "--report", known or "convert.json"])
    more = f", as from {len(folders) - 1} more" if len(folders) > 1 else ""
    return f"to train on from {old}{more}: " + (moving if known else f"{command} --report convert.json; then {moving}")


def after_check(report: Report, command: str, done: Sequence[Converted], starts: Starts) -> str:
    """Return what to type after `command`, a `migrate check`, or a `migrate convert` that changed nothing.

    It is what makes Python 2 Python 3, without which other files are misread; then what converts, else what needs no
    conversion or records a run, or explains the first finding, else a check that reads the files beside the given ones.
    """
    from migrate.report.model import State
    from migrate.report.words import place, quoted
    from migrate.source.driver.untouched import reader_of_tables_elsewhere
    from migrate.source.files.encoding import IS_PYTHON2

    old = [one.source.path for one in done if any(finding.message == IS_PYTHON2 for finding in one.result.findings)]
    if old:
        whole = old[0] if len(old) == 1 else Path(os.path.commonpath([path.parent for path in old]))
        return f"python -m lib2to3 -w -n {quoted(whole.as_posix())}; then {command}"
    if any(finding.state is State.AVAILABLE for finding in report.findings):
        changed = [one for one in done if one.result.changed]
        written = {one.source.relative for one in changed}
        program = _program(done, starts, changed)
        rest = " --copy-rest" if program is not None and _needs_rest(program, written.__contains__) else ""
        return command.replace("migrate check", "migrate convert", 1) + rest
    useless = report.tables and all(one.verdict is not State.SUGGESTED for one in report.tables)
    asking = (*(() if useless else (State.SUGGESTED,)), State.OPAQUE, State.UNSUPPORTED)
    open_ = [one for state in asking for one in report.findings if one.state is state and one.location.line]
    if open_:
        program = None if open_[0].state is State.SUGGESTED else _to_try(report, done, starts)
        if program is not None:
            run = " ".join(["-- python", quoted(program.path), *_arguments(program, starts)])
            if report.tables and "--evidence" not in command:
                return f"migrate trace {run}; then {command} --evidence trace.json"
            return f"migrate trial {run}"
        return f"migrate explain {quoted(place(open_[0].location))}"
    reader = reader_of_tables_elsewhere(done) or _importer(done)
    if reader is None or not reader.source.explicit:
        return ""
    folder = reader.source.path.parent
    return f"migrate check {quoted(folder.as_posix())}" if len(list(folder.glob("*.py"))) > 1 else ""


def recorded_in(paths: Sequence[str], records: Sequence[str]) -> tuple[str, ...]:
    """Return the folder of a conversion, empty if we are not in it, and the command of its first record."""
    from migrate.trace.record import load_record

    command = load_record(Path(records[0])).command if records else ("",)
    if not Path(command[0]).name.startswith("python"):
        return ()
    is_ours = len(paths) == 1 and Path(paths[0]).is_dir() and _is_inside(Path(paths[0]))
    return (paths[0] if is_ours else "", *command)


def _below(program: _Program) -> tuple[str, ...]:
    """Return the folder that was converted and a command, if the program lies in a folder of it and we are in it.

    Such a program runs in our working directory, where its data are, and not in the folder of its file.
    """
    relative = program.source.relative
    if program.source.explicit or len(relative.parts) < 2:
        return ()
    folder = program.source.path.parents[len(relative.parts) - 1]
    command = ("python", Path(program.path).as_posix())
    return (folder.as_posix(), *command) if _is_inside(folder) else ()


def _is_inside(folder: Path) -> bool:
    """Return whether our working directory is this folder, or in it."""
    return Path().resolve().is_relative_to(folder.resolve())


def _paddle(first: Converted, done: Sequence[Converted], directory: Path) -> list[str]:
    files = [first.result.path, (directory / first.source.relative).as_posix()]
    if any(finding.rule == "paddle-trainer" for one in done for finding in one.result.findings):
        return [path.rpartition("/")[0] or "." for path in files]  # a trainer's model is proven as a whole
    return files


def _as_it_is(file: Converted) -> bool:
    from migrate.source.files.notebook import AS_IT_IS

    return any(finding.rule == AS_IT_IS for finding in file.result.findings)


def _to_try(report: Report, done: Sequence[Converted], starts: Starts) -> _Program | None:
    """Return a program of TensorFlow that `migrate trial` may run where nothing converts; None for other frameworks."""
    from migrate.source.tensorflow.base.other_sdks import RULE

    foreign = any(one.kind == "paddle" for one in report.inputs) or any(one.rule == RULE for one in report.findings)
    return None if foreign else _program(done, starts)


def _importer(done: Sequence[Converted]) -> Converted | None:
    """Return the first file that was given by its path and imports others, if nothing was said of any file."""
    if any(one.result.tables or one.result.findings for one in done):
        return None
    for file in done:
        if file.source.explicit and any(_modules_beside(file.source.path, {file.source.path.parent})):
            return file
    return None


def _verify(*arguments: str) -> str:
    return shlex.join(["migrate", "verify", *arguments])


def _verifiable(program: Converted) -> bool:
    """True for a changed file that `migrate verify` can compare: nothing for another SDK."""
    from migrate.report.model import Applicability, State

    moved = any(
        f.state is State.APPLIED and (f.subject == "table" or f.applicability is Applicability.IN_GRAPH)
        for f in program.result.findings
    )
    runs_here = program.result.target == "runtime"
    return program.result.changed and (moved or program.result.kind == "paddle") and runs_here


def _program(done: Sequence[Converted], starts: Starts, changed: Sequence[Converted] = ()) -> _Program | None:
    """Return the file that most likely trains, of those that use changed files; None if no file runs anything.

    It may be one without a framework, of which nothing was to be converted.
    """
    path = starts.program([one.result.path for one in changed])
    sources = {one.result.path: one.source for one in done}
    if path is None or path in sources:
        return _Program(path, sources[path]) if path is not None else None
    file = starts.project.files[path]
    roots = (one.path.parents[len(one.relative.parts) - 1] for one in sources.values())
    root = next((one for one in roots if file.is_relative_to(one)), file.parent)
    return _Program(path, replace(next(iter(sources.values())), path=file, relative=file.relative_to(root)))


def _arguments(program: _Program, starts: Starts) -> list[str]:
    """Return what stands for the arguments of a program that does not run without any."""
    return [ARGUMENTS] if starts.requires_arguments(program.path) else []


def _needs_rest(program: _Program, is_written: Callable[[Path], bool]) -> bool:
    """True if a program of a folder needs a file that is not written: itself, or a module that it imports from there.

    Modules are looked for beside the program, and in the folder that was given, to which written paths are relative.
    """
    if program.source.explicit:
        return False
    path, relative = program.source.path, program.source.relative
    root = path.parents[len(relative.parts) - 1]
    beside = {path.parent, root}
    waiting, seen = [path], {path}
    while waiting:
        path = waiting.pop()
        if path.is_relative_to(root) and not is_written(path.relative_to(root)):
            return True
        for module in _modules_beside(path, beside):
            if module not in seen:
                seen.add(module)
                waiting.append(module)
    return False


def _modules_beside(path: Path, places: set[Path]) -> Iterator[Path]:
    """Yield the files that a file imports from some folders: modules, and what leads to them in packages."""
    from migrate.source.files.encoding import source_bytes

    try:
        module = ast.parse(source_bytes(path))
    except (OSError, SyntaxError, ValueError):
        return
    for place, name in _imports(module, path, places):
        at = place
        for part in name.split("."):
            at = at / part
            yield from (file for file in (at.with_name(f"{part}.py"), at / "__init__.py") if file.is_file())


def _imports(module: ast.Module, path: Path, places: set[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each imported dotted name with the folders that it may lie in."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((place, alias.name) for alias in node.names for place in places)
        elif isinstance(node, ast.ImportFrom):
            own = {path.parents[node.level - 1]} if 0 < node.level <= len(path.parents) else places
            head = f"{node.module}." if node.module else ""
            yield from ((place, f"{head}{alias.name}") for alias in node.names for place in own)
