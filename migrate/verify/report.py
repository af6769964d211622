"""Makes a report of a verification."""

from __future__ import annotations

import hashlib
from pathlib import Path

from migrate import __version__
from migrate.report.model import InputFile, Report, Stage, Verification
from migrate.report.words import quoted
from migrate.source.paddle.model_files import texts_of
from migrate.verify.pair import imports
from migrate.verify.show import sentence


def make_report(result: Verification, schema: str | None) -> Report:
    """Return the report: the files, the stage `verify` and all comparisons."""
    inputs = [_input(path, _kind(path)) for given in (result.original, result.converted) for path in _files(given)]
    inputs += [_input(schema, "schema")] if schema else []
    stage = Stage("verify", "ok" if result.passed else "failed", sentence(result))
    command = f"migrate verify {quoted(result.original)} {quoted(result.converted)}"
    command += f" --schema {quoted(schema)}" if schema else ""
    return Report(command, __version__, tuple(inputs), (stage,), verifications=(result,))


def _files(given: str) -> list[str]:
    """Return the files that a path stands for: itself, or the texts of a model's folder."""
    return [str(path) for path in texts_of(Path(given))] if Path(given).is_dir() else [given]


def _input(path: str, kind: str) -> InputFile:
    return InputFile(Path(path).as_posix(), hashlib.sha256(Path(path).read_bytes()).hexdigest(), kind)


def _kind(path: str) -> str:
    found = imports(path) if path.endswith(".py") else frozenset()
    return "paddle" if "paddle" in found else "tensorflow" if "tensorflow" in found else "other"
