"""Writes a project that trains a Paddle model's folder on its own reader and sample data."""

from __future__ import annotations

import posixpath
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from migrate.errors import MigrateError
from migrate.folders import new_folder
from migrate.project.bound import check_bound
from migrate.project.build import rendered
from migrate.report.model import Finding, State
from migrate.schema_batch import Batch
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.encoding import decode, read_source, source_bytes
from migrate.source.paddle import folder as model_folder
from migrate.source.paddle.abstract.program import configuration, settings
from migrate.source.paddle.model_files import STATIC, TRAINER, beside, texts_of
from rewriter.copied_folders import not_copied

MOST = 64  #: MiB of data that are copied
#: File of a project -> its template.
_WRITTEN = {
    "train.py": "folder_train.py.jinja",
    "test_smoke.py": "folder_test.py.jinja",
    "README.md": "folder_readme.md.jinja",
}
_BAD = {State.UNSUPPORTED, State.FAILED}


@dataclass(frozen=True)
class _Texts:
    """The text files of the project by name."""

    converted: Mapping[str, str]
    kept: Mapping[str, str]
    notes: tuple[str, ...]
    module: str  #: name of the trainer's file
    trainer: str  #: name of the trainer's class


def write_folder(source: Path, output: Path, inputs: Batch = (), force: bool = False) -> list[str]:
    """Write the project atomically and return the names of its files and folders.

    Args:
        source: the model's folder.
        output: the project's.
        inputs: the items of a batch, if a schema gives them.
        force: replace the output folder.

    Raises:
        MigrateError: the folder has no trainer, something in it does not convert, or the output folder is not empty.
    """
    texts = _converted(source, inputs)
    config = settings(texts.kept)
    data = list(_data(source, config))
    texts_of_project = _made(source, texts, [path.as_posix() for path in data], _has_all(data, config))
    clash = sorted({*texts_of_project} & {*texts.converted, *texts.kept})
    if clash:
        raise MigrateError(f"{source / clash[0]}: the project has a file of this name; rename it")
    with new_folder(output, replace=force) as target:
        for name, text in {**texts.kept, **texts.converted}.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(decode(source_bytes(source / name)).encode(text))
        for name, text in texts_of_project.items():
            (target / name).write_text(text, encoding="utf-8")
        for path in data:
            _copy(source / path, target / path)
    return sorted([*texts.kept, *texts.converted, *texts_of_project, *(f"{path.as_posix()}" for path in data)])


def _converted(source: Path, inputs: Batch) -> _Texts:
    files = {path.relative_to(source).as_posix(): _read(path) for path in texts_of(source)}
    if not {TRAINER, STATIC} & set(files):
        raise MigrateError(
            f"{source}: has no {TRAINER} or {STATIC}; give a Paddle model's folder, or a file and its --schema"
        )
    results = {name: _result(source, name, files, inputs) for name in files if name.endswith(".py")}
    first = next((name for name in (TRAINER, STATIC) if name in results), "")
    module = next((name for name in (TRAINER, STATIC) if name in results and results[name].changed), first)
    if module != first:  # only the static model can be a graph
        del results[first]
    findings = [finding for result in results.values() for finding in result.findings]
    bad = [finding for finding in findings if finding.state in _BAD]
    if bad:
        where = bad[0].location
        raise MigrateError(f"{where.path}:{where.line}: {bad[0].message}; {bad[0].action}")
    converted = {name: result.converted for name, result in results.items() if result.changed}
    for name, text in converted.items():
        check_bound(source / name, files[name], text)
    # What the trainer does not use, and needs Paddle, stays behind.
    kept = {name: text for name, text in files.items() if name not in converted and "paddle" not in _code(name, text)}
    return _Texts(converted, kept, tuple(_notes(findings)), module, _class_of(results[module]))


def _result(source: Path, name: str, files: Mapping[str, str], inputs: Batch) -> SourceResult:
    return model_folder.convert((source / name).as_posix(), files[name], beside(name, files), inputs)


def _read(path: Path) -> str:
    try:
        return read_source(path)
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise MigrateError(f"{path}: cannot be read ({error}); save it as UTF-8") from error


def _code(name: str, text: str) -> str:
    """Return what may import Paddle: the text of a Python file without comments' lines."""
    lines = text.splitlines() if name.endswith(".py") else ()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _class_of(trainer: SourceResult) -> str:
    scopes = [
        f.location.scope for f in trainer.findings if f.rule in {"paddle-trainer", "paddle-optimizer", "paddle-loss"}
    ]
    default = "StaticModel" if Path(trainer.path).name == STATIC else "DygraphModel"
    return next((scope.partition(".")[0] for scope in scopes if scope), default)


def _notes(findings: list[Finding]) -> Iterator[str]:
    """Yield what the owner should know of the conversion."""
    for finding in findings:
        if finding.state in {State.NOTED, State.SUGGESTED} and finding.subject != "file":
            yield f"`{Path(finding.location.path).name}:{finding.location.line}`: {finding.message}"


def _data(source: Path, config: Mapping[str, object]) -> Iterator[Path]:
    """Yield the files and folders below the model's folder that its settings name, up to a bound on their size."""
    root = source.resolve()
    named = {str(value) for value in config.values() if isinstance(value, str) and value.strip(". /")}
    files = []
    for text in sorted(named):
        path = (root / text.replace("{workspace}", ".")).resolve()
        if path.exists() and path.is_relative_to(root) and path != root and path.suffix not in {".py", ".yaml", ".yml"}:
            files.append(path.relative_to(root))
    chosen = [path for path in files if not any(other in path.parents for other in files)]
    large = sum(_size(source / path) for path in chosen) > MOST * 2**20
    if not large and not any(not_copied(source / path, source) for path in chosen):
        yield from chosen


def _has_all(data: list[Path], config: Mapping[str, object]) -> bool:
    """Return whether the data of training and evaluation is copied."""
    named = [config.get(f"runner.{kind}_data_dir") for kind in ("train", "test")]
    wanted = [Path(posixpath.normpath(name)) for name in named if isinstance(name, str) and name]
    return all(any(path == own or own in path.parents for own in data) for path in wanted)


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def _made(source: Path, texts: _Texts, data: list[str], complete: bool) -> dict[str, str]:
    """Return the files that are written from templates; if data stays where it is, they name its folder."""
    values = {
        "name": source.resolve().name,
        "module": texts.module.removesuffix(".py"),
        "trainer": texts.trainer,
        "static": texts.module == STATIC,
        "settings": configuration(texts.kept),
        "converted": sorted(texts.converted),
        "kept": sorted([*texts.kept, *data]),
        "data_folder": "" if complete else str(source.resolve()),
        "notes": texts.notes,
        "most": MOST,
    }
    return rendered(_WRITTEN, values)
