"""Reads the original files row by row, plain or gzipped."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from migrate.dataset.census.columns import COLUMNS, INCOME_HIGH, INCOME_LOW
from migrate.errors import MigrateError
from migrate.regular_files import check_regular

#: Characters of a line that are read at once; a longer one is no row.
_LONGEST = 100_000


@dataclass(frozen=True)
class Row:
    """One line of the file, its values stripped, with the line number for messages."""

    line: int
    values: list[str]
    length: int  #: characters of the line, for progress


@contextmanager
def open_original(path: Path) -> Iterator[IO[bytes]]:
    """Open one original file, plain or gzipped, for reading bytes.

    Raises:
        MigrateError: the file is missing, unreadable, damaged, or an archive.
    """
    try:
        check_regular(path)
        if path.is_file() and (zipfile.is_zipfile(path) or tarfile.is_tarfile(path)):
            raise MigrateError(f"{path} is an archive: unpack it, and give the path of the file")
        with cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise MigrateError(f"{path} is damaged ({error}); download or copy it again") from error
    except OSError as error:
        raise MigrateError(f"{path} cannot be read ({error.strerror or error}); check its permissions") from error


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of an original file; blank lines are skipped.

    Raises:
        MigrateError: as `open_original`; a line without 42 values; an unknown income; no text; no row at all.
    """
    number = 0
    with open_original(path) as stream, io.TextIOWrapper(stream, encoding="utf-8") as lines:
        is_read = False
        try:
            for number, line in enumerate(iter(partial(lines.readline, _LONGEST), ""), start=1):
                if line.isspace():
                    continue
                values = [value.strip() for value in line.split(",")]
                _check(path, number, values)
                is_read = True
                yield Row(number, values, len(line))
        except UnicodeDecodeError as error:
            raise MigrateError(
                f"{path}: not UTF-8 text after line {number}; give an original census-income file"
            ) from error
    if not is_read:
        raise MigrateError(f"{path} is empty; give a file with rows of {len(COLUMNS)} comma-separated values")


def _check(path: Path, number: int, values: list[str]) -> None:
    if len(values) != len(COLUMNS):
        raise MigrateError(
            f"{path}:{number}: expected {len(COLUMNS)} comma-separated values, got {len(values)}; "
            "give an original census-income file"
        )
    if values[-1] not in {INCOME_HIGH, INCOME_LOW}:
        raise MigrateError(
            f"{path}:{number}: the last value must be `{INCOME_HIGH}` or `{INCOME_LOW}`, got `{values[-1]}`; correct it"
        )
