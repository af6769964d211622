"""Reads the original files row by row, plain, gzipped, or in the distributed zip or tar archive."""

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

#: Exceptions of the archive readers for damaged archives.
#: RuntimeError: zipfile on an encrypted member or an unknown compression.
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError)

#: Characters of a line that are read at once; a longer one is no row.
_LONGEST = 100_000


@dataclass(frozen=True)
class Row:
    """One line of the file, its values stripped, with the line number for messages."""

    line: int
    values: list[str]
    length: int  #: characters of the line, for progress


def _member(names: list[str], wanted: str) -> str | None:
    """Return the archive member with `wanted`: the file itself, gzipped, or else an inner tar."""
    for name in names:
        if Path(name).name in {wanted, wanted + ".gz"}:
            return name
    return next((name for name in names if name.endswith((".tar", ".tar.gz", ".tgz"))), None)


@contextmanager
def _inner(stream: IO[bytes], name: str, wanted: str, path: Path) -> Iterator[IO[bytes]]:
    """Open `name`, found in an archive as `stream`, down to the plain file `wanted`."""
    if name.endswith((".tar", ".tar.gz", ".tgz")):
        with tarfile.open(fileobj=stream) as archive:
            member = _member(archive.getnames(), wanted)
            inner = archive.extractfile(member) if member else None
            if member is None or inner is None:
                raise MigrateError(f"{path} holds no {wanted}: give the path of the unpacked file")
            with _inner(inner, member, wanted, path) as opened:
                yield opened
    elif name.endswith(".gz"):
        with gzip.open(stream) as unzipped:
            yield cast("IO[bytes]", unzipped)
    else:
        yield stream


def _begins_as_zip(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"PK\x03\x04"


@contextmanager
def open_original(path: Path, wanted: str) -> Iterator[IO[bytes]]:
    """Open one original file for reading bytes.

    `path` is the plain file, the same gzipped, or an archive (zip or tar) that holds `wanted`.

    Raises:
        MigrateError: the file is missing, unreadable, damaged, or an archive without `wanted`.
    """
    try:
        check_regular(path)
        if path.is_file() and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                member = _member(archive.namelist(), wanted)
                if member is None:
                    raise MigrateError(f"{path} holds no {wanted}: give the path of the unpacked file")
                with archive.open(member) as stream, _inner(stream, member, wanted, path) as opened:
                    yield opened
        else:
            if path.is_file() and _begins_as_zip(path):
                raise MigrateError(f"{path} is damaged (a truncated zip); download or copy it again")
            with path.open("rb") as stream, _inner(stream, path.name, wanted, path) as opened:
                yield opened
    except _DAMAGED as error:
        raise MigrateError(f"{path} is damaged ({error}); download or copy it again") from error
    except OSError as error:
        raise MigrateError(f"{path} cannot be read ({error.strerror or error}); check its permissions") from error


def read_rows(path: Path, wanted: str) -> Iterator[Row]:
    """Yield the rows of an original file; blank lines are skipped.

    Raises:
        MigrateError: as `open_original`; a line without 42 values; an unknown income; no text; no row at all.
    """
    number = 0
    with open_original(path, wanted) as stream, io.TextIOWrapper(stream, encoding="utf-8") as lines:
        found = False
        try:
            for number, line in enumerate(iter(partial(lines.readline, _LONGEST), ""), start=1):
                if line.isspace():
                    continue
                values = [value.strip() for value in line.split(",")]
                _check(path, number, values)
                found = True
                yield Row(number, values, len(line))
        except UnicodeDecodeError as error:
            raise MigrateError(
                f"{path}: not UTF-8 text after line {number}; give an original census-income file"
            ) from error
    if not found:
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
