"""Runs the comparison for the framework that two files use."""

from __future__ import annotations

import ast
from pathlib import Path

from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.schema import Schema
from migrate.source.files.encoding import IS_PYTHON2, is_python2
from migrate.verify import workers
from migrate.verify.program_files import code_of, packages, trees
from migrate.verify.settings import Settings


def verify(original: str, converted: str, schema: Schema | None, settings: Settings) -> Verification:
    """Compare an original file with its converted form.

    Raises:
        MigrateError: a file is missing or is not Python, the original uses no known framework, or a program fails.
    """
    if schema is None or schema.inputs:
        from migrate.verify.paddle.trainer import folder

        if folder.has_trainer(original) and (Path(original).is_dir() or "paddle" in imports(original)):
            _check_written(original, converted, "give the folder that `migrate convert` wrote")
            _take_none(settings)
            workers.prepare()  # TensorFlow is imported while the original runs
            return folder.verify(original, converted, schema, settings)
    if settings.changed or settings.ids:
        raise MigrateError("--set and --ids apply to folders of Paddle models; leave them out")
    _check_written(
        original, converted, "`migrate convert -o` writes changed files only; convert the directory with --copy-rest"
    )
    if Path(original).is_dir() and settings.arguments:
        from migrate.verify.tensorflow.pair import verify as verify_folder

        return verify_folder(original, converted, settings)
    kind, into = imports(original), imports(converted)
    if "paddle" in into - kind:
        raise MigrateError(f"{converted}: imports paddle, which the original does not; give the converted program")
    if "paddle" in kind & into and schema is None:
        from migrate.verify.paddle.program.pair import verify as verify_program

        return verify_program(original, converted, settings)
    if "paddle" in kind:
        from migrate.verify.paddle.pair import verify as verify_paddle

        _take_none(settings)
        workers.prepare()
        return verify_paddle(original, converted, schema, settings)
    beside = (packages(tree) for tree in trees(Path(original), Path(original).parent))
    if {"tensorflow", "keras"} & kind.union(*beside):
        from migrate.verify.tensorflow.pair import verify as verify_tensorflow

        return verify_tensorflow(original, converted, settings)
    raise MigrateError(f"{original}: imports neither paddle, nor tensorflow, nor keras; give the file of a model")


def _take_none(settings: Settings) -> None:
    if settings.arguments:
        raise MigrateError(
            f"`{' '.join(settings.arguments)}`: only TensorFlow programs take arguments; give --set for a Paddle model"
        )


def _check_written(original: str, converted: str, remedy: str) -> None:
    if Path(original).exists() and not Path(converted).exists():
        raise MigrateError(f"{converted}: does not exist; {remedy}")


def imports(path: str) -> set[str]:
    """Return the top-level packages that a file imports.

    Raises:
        MigrateError: the file is missing or is not Python.
    """
    try:
        tree = ast.parse(code_of(Path(path)))
    except IsADirectoryError as error:
        raise MigrateError(
            f"{path}: is a folder without a Paddle model; give the file in it that trains, or its command behind `--`"
        ) from error
    except OSError as error:
        raise MigrateError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (SyntaxError, ValueError) as error:
        if is_python2(path):
            raise MigrateError(f"{path}: {IS_PYTHON2}, then convert it") from error
        where, why = (f"line {error.lineno} ", error.msg) if isinstance(error, SyntaxError) else ("", error)
        raise MigrateError(f"{path}: {where}is not valid Python ({why}); correct it") from error
    return packages(tree)
