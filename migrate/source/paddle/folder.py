"""Converts the files of a model's folder from one execution of its trainer."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path

from migrate.errors import MigrateError
from migrate.schema_batch import Batch
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.modules import imported_files
from migrate.source.paddle.abstract.program import Program, execute, settings, trainer_of
from migrate.source.paddle.abstract.readers import batch_of
from migrate.source.paddle.abstract.run import Problem
from migrate.source.paddle.eager.program import runs_as_it_is
from migrate.source.paddle.emission import table_rules
from migrate.source.paddle.emission.files import Written, write, write_reader
from migrate.source.paddle.emission.tables import dense_places
from migrate.source.paddle.model_files import STATIC, TRAINER, in_folder, is_trainer, named_in_folder
from migrate.source.paddle.report import folder_findings
from migrate.source.paddle.static.program import execute_static, take_in
from migrate.source.project.discovery import framework_of
from migrate.targets.switches import Switches

NO_SWITCHES = Switches()

#: Files and folders that would hide a package that converted files import.
_TAKEN = {"runtime", "runtime.py", "tensorflow", "tensorflow.py"}
_SLOTS = "MultiSlot"  #: in the names of base classes of readers of slots


def concerns(path: str, siblings: Mapping[str, str]) -> bool:
    """Return whether a file is a trainer, or stands beside one."""
    return any(map(is_trainer, (path, *siblings)))


def convert(
    path: str,
    text: str,
    siblings: Mapping[str, str],
    inputs: Batch = (),
    switches: Switches = NO_SWITCHES,
    unbucket: tuple[str, ...] = (),
) -> SourceResult:
    """Convert one file of a model's folder; nothing is written.

    Args:
        path: the file's path, as reports show it.
        text: its contents.
        siblings: the other Python and YAML files of the folder and its packages, name -> contents; names are relative
            to the file's own folder.
        inputs: the items of a batch, if the schema gives them.
        switches: what its tables do, checked by `table_rules.check`.
        unbucket: the embeddings whose ids give up their buckets; `all` stands for each.

    Returns:
        The converted file and its findings. If a construct that the trainer executes is not supported, all files of the
        model are left unchanged.
    """
    place, name = in_folder(path, siblings)
    files = {**named_in_folder(name, siblings), name: text}
    shown = folder_findings.File(path, name, text)
    trainer = trainer_of(files)
    try:
        program = _executed(tuple(sorted(files.items())), str(place), inputs)
    except MigrateError as error:
        return folder_findings.no_batch(shown, str(error), trainer, _runs_as_it_is(files, trainer, set(files)))
    except SyntaxError as error:
        at, message = (error.lineno or 1, 0) * 2, f"is not valid Python ({error.msg})"
        return folder_findings.refused(shown, [Problem(error.filename or name, at, "", message, "")])
    readers = _readers(files, program.path == STATIC)
    if name == TRAINER and program.instead_of is not None:
        return folder_findings.replaced(shown, list(program.instead_of.run.problems.values()))
    if name not in {module.path for module in program.run.modules.values()} | readers.keys():
        return folder_findings.not_reached(shown, program.path, program.apart if name == STATIC else "")
    problems = list(program.run.problems.values())
    rules = table_rules.arguments(switches)
    texts = {} if problems else _texts(tuple(sorted(files.items())), str(place), inputs, rules, unbucket)
    for where, written in texts.items():
        lines = files[where].splitlines()
        refused = written.refused.items()
        problems += [Problem(where, span, "", message, lines[span[0] - 1].strip()) for span, message in refused]
    beside = _beside(texts, files)
    tops = {one.partition("/")[0] for one in (*texts, *beside)}
    problems += [_hiding(program, other) for other in sorted(tops & _TAKEN)]
    if problems:
        executed = {module.path for module in program.run.modules.values()} | readers.keys()
        runs = _runs_as_it_is(files, program.path, executed)
        return folder_findings.refused(shown, problems, runs)
    if name not in texts:
        return folder_findings.not_reached(shown, program.path)
    converted = texts[name].text
    compile(converted, path, "exec")
    result = folder_findings.converted(
        shown, texts[name], program, name in readers, settings(files), switches, unbucket
    )
    return replace(result, outputs=beside) if name == program.path else result


@functools.lru_cache(maxsize=2)
def _executed(files: tuple[tuple[str, str], ...], folder: str, inputs: Batch) -> Program:
    texts = dict(files)
    if trainer_of(texts) == STATIC:
        return execute_static(texts, DataFiles(Path(folder)))
    program = execute(texts, batch_of(texts, folder, inputs), DataFiles(Path(folder)))
    return _with_static(program, texts, folder) if STATIC in texts else program


def _with_static(program: Program, texts: Mapping[str, str], folder: str) -> Program:
    """Return the program with the static model beside it, if both can be rewritten; that alone if only it can."""
    try:
        static = execute_static(texts, DataFiles(Path(folder)))
    except (MigrateError, SyntaxError) as error:
        program.apart = str(error)
        return program
    if program.run.problems:
        static.instead_of = program
        return static if static.complete else program
    if dense_places(program) != {place: why for place, why in dense_places(static).items() if place[0] != STATIC}:
        program.apart = "other embeddings than those of the trainer are tables"
    else:
        program.apart = take_in(program, static)
    return program


def _runs_as_it_is(files: Mapping[str, str], trainer: str, executed: Container[str]) -> bool:
    eager = {name: text for name, text in files.items() if name != STATIC}
    return trainer == TRAINER and runs_as_it_is(eager, executed)


def _readers(files: Mapping[str, str], static: bool) -> dict[str, bool]:
    """Return the files with readers -> whether it is that of training; evaluation may have another.

    Of a static model, those that read slots in lines of text are all of training.
    """
    values = settings(files)
    paths = {kind: f"{values.get(f'runner.{kind}_reader_path')}".replace(".", "/") for kind in ("infer", "train")}
    named = {f"{path}.py": kind == "train" for kind, path in paths.items()}
    slots = [name for name, text in files.items() if name.endswith(".py") and _SLOTS in text]
    readers = {name: trains for name, trains in named.items() if name in files}
    return readers | (dict.fromkeys(slots, True) if static else {})


@functools.lru_cache(maxsize=2)
def _texts(
    sorted_files: tuple[tuple[str, str], ...], folder: str, inputs: Batch, rules: str, unbucket: tuple[str, ...]
) -> dict[str, Written]:
    """Return the files of the program that are of the framework, rewritten once for all of them.

    A reader of evaluation alone that cannot be rewritten is left out: training does without it.
    """
    files, program = dict(sorted_files), _executed(sorted_files, folder, inputs)
    readers = _readers(files, program.path == STATIC)
    executed = {module.path for module in program.run.modules.values()} - readers.keys()
    texts = {name: write(program, name, rules, unbucket) for name in sorted(executed) if name in files}
    for reader, trains in readers.items():
        with contextlib.nullcontext() if trains else contextlib.suppress(SyntaxError):
            written = write_reader(reader, files[reader])
            if trains or not written.refused:
                texts[reader] = written
    return texts


def _beside(texts: Mapping[str, Written], files: Mapping[str, str]) -> dict[str, str]:
    """Return the files without Paddle that the program imports, name -> text: it does not run without them."""
    beside: dict[str, str] = {}
    left = [*texts]
    while left:
        for other in sorted(imported_files(left.pop(), files) - beside.keys()):
            if framework_of(files[other]) == "other":
                beside[other] = texts[other].text if other in texts else files[other]
                left.append(other)
    return beside


def _hiding(program: Program, name: str) -> Problem:
    """Return the problem of a file with the name of a package that converted files import."""
    message = f"the converted model imports the package `{name.removesuffix('.py')}`, which the file {name} would hide"
    return Problem(program.path, (1, 0, 1, 0), "", f"{message}; rename that file", "")
