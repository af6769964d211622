"""What `migrate check` and `convert -o` suggest next: to convert, and to prove it by a program that trains."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from migrate.report.model import Report
    from migrate.source.driver.run import Converted

#: Methods that train, or run what does: of sessions, Estimators, Keras models, optimizers and `tf.app`.
TRAINS = frozenset({"fit", "train_on_batch", "train", "train_and_evaluate", "run", "apply_gradients", "backward"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def next_step(
    command: str, done: Sequence[Converted], directory: Path, schema: str | None, recorded: Sequence[str] = ()
) -> str:
    """Return what to type after `command`, a `migrate convert`; empty if nothing that a proof can run changed.

    It is the proof, or the same command with the files that the proof needs. `recorded` is the folder that was
    converted, empty if we are not in it, and the command that was traced; empty if none was.
    """
    changed = [one for one in done if _verifiable(one)]
    if not changed:
        return ""
    folder, *words = recorded or ("",)
    program = next((one for one in done if one.result.path in words), None)
    arguments = words[words.index(program.result.path) + 1 :] if program is not None else []
    program = program or _program([*changed, *done])
    if not folder and program is not None and changed[0].result.kind != "paddle":
        below = _below(program)
        folder, words = (below[0], [*below[1:], *arguments]) if below else ("", words)
    if folder:
        return f"{_verify(folder, directory.as_posix())} -- {shlex.join(words)}"
    if any(one.result.kind == "paddle" and not _as_it_is(one) for one in changed):
        return _verify(*_paddle(changed[0], done, directory), *(["--schema", schema] if schema is not None else []))
    if program is None:
        return (
            f"migrate verify PROGRAM {shlex.quote(directory.as_posix())}/PROGRAM, for a program that trains the model"
        )
    own = ["--", *arguments] if arguments else []
    proof = _verify(program.result.path, (directory / program.source.relative).as_posix(), *own)
    if _needs_rest(program, lambda path: (directory / path).exists()):
        return f"{command} --copy-rest, as the program needs files that did not change; then {proof}"
    return proof


def to_go_on(command: str, folders: Sequence[Path], reports: Sequence[str]) -> str:
    """Return what to type after `command`, a `migrate convert`, to train on from folders of checkpoints."""
    known = next((path for path in reports if path.lower().endswith(".json")), None)
    old = folders[0]
    new = old / "moved" if old.name in {"", ".."} else old.with_name(f"{old.name}_moved")
    moving = shlex.join(["migrate", "checkpoint", str(old), f"{new}/", "--report", known or "convert.json"])
    more = f", as from {len(folders) - 1} more" if len(folders) > 1 else ""
    return f"to train on from {old}{more}: " + (moving if known else f"{command} --report convert.json; then {moving}")


def after_check(report: Report, command: str, done: Sequence[Converted]) -> str:
    """Return what to type after `command`, a `migrate check`, or a `migrate convert` that changed nothing.

    It is what converts, else what needs no conversion or records a run, or explains the first finding, else a check
    that reads the files beside the given ones.
    """
    from migrate.report.model import State
    from migrate.report.words import place, quoted
    from migrate.source.driver.untouched import reader_of_tables_elsewhere

    if any(finding.state is State.AVAILABLE for finding in report.findings):
        changed = [one for one in done if one.result.changed]
        written = {one.source.relative for one in changed}
        program = _program([*changed, *done])
        rest = " --copy-rest" if program is not None and _needs_rest(program, written.__contains__) else ""
        return command.replace("migrate check", "migrate convert", 1) + rest
    useless = report.tables and all(one.verdict is not State.SUGGESTED for one in report.tables)
    asking = (*(() if useless else (State.SUGGESTED,)), State.OPAQUE, State.UNSUPPORTED)
    open_ = [one for state in asking for one in report.findings if one.state is state and one.location.line]
    if open_:
        program = None if open_[0].state is State.SUGGESTED else _to_try(report, done)
        if program is not None:
            run = f"-- python {quoted(program.result.path)}"
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


def _below(program: Converted) -> tuple[str, ...]:
    """Return the folder that was converted and a command, if the program lies in a folder of it and we are in it.

    Such a program runs in our working directory, where its data are, and not in the folder of its file.
    """
    relative = program.source.relative
    if program.source.explicit or len(relative.parts) < 2:
        return ()
    folder = program.source.path.parents[len(relative.parts) - 1]
    command = ("python", Path(program.result.path).as_posix())
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


def _to_try(report: Report, done: Sequence[Converted]) -> Converted | None:
    """Return a program of TensorFlow that `migrate trial` may run where nothing converts; None for other frameworks."""
    from migrate.source.tensorflow.base.other_sdks import RULE

    foreign = any(one.kind == "paddle" for one in report.inputs) or any(one.rule == RULE for one in report.findings)
    return None if foreign else _program(done)


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


def _verifiable(one: Converted) -> bool:
    """True for a changed file that `migrate verify` can compare: nothing for another SDK."""
    from migrate.report.model import Applicability, State

    moved = any(
        f.state is State.APPLIED and (f.subject == "table" or f.applicability is Applicability.IN_GRAPH)
        for f in one.result.findings
    )
    runs_here = one.result.target == "runtime"
    return one.result.changed and (moved or one.result.kind == "paddle") and runs_here


def trains(text: str, *, imported_too: bool = True) -> bool:
    """True if code that runs with the file calls something that trains, or (`imported_too`) what it imports."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    functions = {node.name: node for node in module.body if isinstance(node, _DEFINITIONS)}
    imported = set(_imported_names(module)) if imported_too else set()
    waiting: list[ast.AST] = [node for node in module.body if not isinstance(node, _DEFINITIONS)]
    seen: set[str] = set()
    while waiting:
        for call in ast.walk(waiting.pop()):
            if not isinstance(call, ast.Call):
                continue
            if isinstance(call.func, ast.Attribute) and call.func.attr in TRAINS:
                return True
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name in imported:
                return True
            if name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name])
    return False


def _imported_names(module: ast.Module) -> Iterator[str]:
    """Yield the names that the file imports from modules that are no framework's."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and (node.level or _is_own(node.module or "")):
            yield from (alias.asname or alias.name for alias in node.names)


def _is_own(module: str) -> bool:
    import sys

    from migrate.source.project.discovery import FRAMEWORKS

    top = module.partition(".")[0]
    return top not in FRAMEWORKS and top not in sys.stdlib_module_names


def _program(files: Sequence[Converted]) -> Converted | None:
    """Return the first program that trains by itself, else the first that calls what it imports."""
    for imported_too in (False, True):
        for file in files:
            if trains(file.result.original, imported_too=imported_too):
                return file
    return None


def _needs_rest(program: Converted, is_written: Callable[[Path], bool]) -> bool:
    """True if a program of a folder needs a file that is not written: itself, or a module that it imports from there.

    Modules are looked for beside the program, and in the folder that was given, to which written paths are relative.
    """
    if program.source.explicit:
        return False
    path, relative = program.source.path, program.source.relative
    given = path.parents[len(relative.parts) - 1]
    beside = {path.parent, given}
    waiting, seen = [path], {path}
    while waiting:
        path = waiting.pop()
        if path.is_relative_to(given) and not is_written(path.relative_to(given)):
            return True
        for found in _modules_beside(path, beside):
            if found not in seen:
                seen.add(found)
                waiting.append(found)
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
