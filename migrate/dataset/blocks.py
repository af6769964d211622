"""Splits input files into blocks for parallel reading: ranges of whole lines, or row groups of Parquet."""

from __future__ import annotations

import csv as plain_csv
import errno
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from migrate.dataset.arrow import csv, pa, parquet
from migrate.dataset.spec import DataSpec
from migrate.errors import MigrateError
from migrate.regular_files import check_regular

#: A gzipped file may unpack to so many bytes, or to so many times its size: text that people pack shrinks to a tenth.
_UNPACKED, _RATIO = 1 << 30, 100
_LONGEST = 64 << 20  #: bytes of a line
_MARK = b"\xef\xbb\xbf"  # UTF-8 byte-order mark


@dataclass(frozen=True)
class Block:
    """A part of a file that a process reads at a time."""

    path: Path  #: the file to read
    shown: str  #: its name in messages
    start: int  #: offset of the first byte, or index of the row group
    stop: int = 0  #: offset after the last line
    names: tuple[str, ...] = ()  #: the columns of a text file, in order
    delimiter: str = ""  #: empty: Parquet
    first_row: int = 0  #: index in the file of a row group's first row


@dataclass(frozen=True)
class Rows:
    """The needed columns of a block, without malformed lines, which have too many or too few values."""

    block: Block
    table: Any  #: a pyarrow.Table; columns of CSV files are strings
    malformed: tuple[tuple[int, int, int], ...] = ()  #: (number among non-blank lines, expected values, values found)
    data: bytes = field(default=b"", repr=False)  #: the bytes of the block, to find line numbers

    def place(self, row: int) -> str:
        """Return `file:line` of a row of the table for messages, or `file: row` for Parquet."""
        if not self.block.delimiter:
            return f"{self.block.shown}: row {self.block.first_row + row + 1}"
        return self.place_of_line(self.number(row))

    def number(self, row: int) -> int:
        """Return the number of a row of the table among non-blank lines, from 1."""
        number = row + 1
        for bad, _, _ in self.malformed:
            number += bad <= number
        return number

    def place_of_line(self, number: int) -> str:
        """Return `file:line` of a non-blank line, given its number among these, from 1."""
        with self.block.path.open("rb") as file:
            line = sum(1 for _ in _lines_before(file, self.block.start))
        for text in self.data.splitlines():
            line += 1
            number -= bool(text)
            if number == 0:
                break
        return f"{self.block.shown}:{line}"


def _lines_before(file: Any, stop: int) -> Iterator[None]:
    at = 0
    while at < stop:
        line = file.readline()
        at += len(line)
        yield


def unpacked(path: Path, folder: Path, number: int) -> Path:
    """Return an uncompressed file; a gzipped file is unpacked into `folder`.

    Raises:
        MigrateError: the file is missing, unreadable or damaged.
    """
    try:
        check_regular(path)
        with path.open("rb") as file:
            if file.read(2) != b"\x1f\x8b":
                return path
        target = folder / f"{number}"
        with gzip.open(path) as packed, target.open("wb") as plain:
            _copy(packed, plain, max(_UNPACKED, _RATIO * path.stat().st_size))
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise MigrateError(f"{path} is damaged ({error}); download or copy it again") from error
    except OSError as error:
        raise MigrateError(
            f"{path} cannot be read or unpacked ({error.strerror or error}); copy the file again"
        ) from error
    return target


def _copy(packed: gzip.GzipFile, plain: IO[bytes], most: int) -> None:
    """Unpack; raises OSError for a file that would fill the disk, as text never does."""
    while piece := packed.read(1 << 20):
        plain.write(piece)
        if plain.tell() > most:
            raise OSError(errno.EFBIG, f"it holds more than {_RATIO} times its size")


def blocks_of(path: Path, plain: Path, spec: DataSpec, block_bytes: int) -> list[Block]:
    """Return the blocks of a file, in order; `plain` is its uncompressed copy.

    Raises:
        MigrateError: the file is empty, has another format than its name says, or has no column of a needed name.
    """
    name = path.name.removesuffix(".gz")
    layout = spec.format or ("parquet" if name.endswith((".parquet", ".pq")) else "")
    try:
        if layout == "parquet":
            return _row_groups(path, plain, spec)
        tabs = layout == "tsv" or (not layout and name.endswith((".tsv", ".tab")))
        return _ranges(path, plain, spec, spec.delimiter or ("\t" if tabs else ","), block_bytes)
    except OSError as error:
        raise MigrateError(f"{path} cannot be read ({error.strerror or error}); check its permissions") from error


def _row_groups(path: Path, plain: Path, spec: DataSpec) -> list[Block]:
    try:
        with parquet.ParquetFile(plain) as file:
            metadata = file.metadata
            _check_columns(path, spec, file.schema_arrow.names)
            rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    except pa.ArrowInvalid as error:
        raise MigrateError(
            f"{path} is not a Parquet file ({_first_line(error)}); set its `format` in the schema"
        ) from error
    return [Block(plain, str(path), i, first_row=sum(rows[:i])) for i in range(len(rows)) if rows[i]]


def _ranges(path: Path, plain: Path, spec: DataSpec, delimiter: str, block_bytes: int) -> list[Block]:
    size = plain.stat().st_size
    with plain.open("rb") as file:
        start = 3 if file.read(3) == _MARK else 0
        file.seek(start)
        names = spec.columns
        if not names:
            names = _header(path, _line(file), spec, delimiter)
            _check_columns(path, spec, names)
            start = file.tell()
        bounds = [start]
        while bounds[-1] < size:
            file.seek(bounds[-1] + block_bytes - 1)
            _line(file)
            bounds.append(min(file.tell(), size))
    return [Block(plain, str(path), a, b, tuple(names), delimiter) for a, b in pairwise(bounds)]


def _line(file: IO[bytes]) -> bytes:
    """Return the rest of a line; raises OSError for one without an end."""
    line = file.readline(_LONGEST)
    if len(line) == _LONGEST:
        raise OSError(errno.EFBIG, f"a line has more than {_LONGEST >> 20} MiB")
    return line


def _header(path: Path, line: bytes, spec: DataSpec, delimiter: str) -> tuple[str, ...]:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise MigrateError(
            f"{path}:1: not UTF-8 text; if the file is compressed, give it unpacked or gzipped"
        ) from error
    if not text:
        raise MigrateError(f"{path} is empty; its first line must have the names of columns, or set `data.columns`")
    if spec.quote:
        reader = plain_csv.reader([text], delimiter=delimiter, quotechar=spec.quote)
    else:
        reader = plain_csv.reader([text], delimiter=delimiter, quoting=plain_csv.QUOTE_NONE)
    return tuple(name.strip() for name in next(reader))


def _check_columns(path: Path, spec: DataSpec, names: Any) -> None:
    counts = Counter(names)
    for column in spec.needed:
        if counts[column] != 1:
            has = ", ".join(list(counts)[:8]) + (", …" if len(counts) > 8 else "")
            how = "has the column" if counts[column] else "has no column"
            raise MigrateError(
                f"{path}:1: {how} `{column}`{' twice' if counts[column] else ''} (it has {has}); correct the schema"
            )


def read_block(block: Block, spec: DataSpec) -> Rows:
    """Read the needed columns of a block.

    Raises:
        MigrateError: the file cannot be read, is damaged or not UTF-8, or a value contains a line break.
    """
    try:
        return _read_lines(block, spec) if block.delimiter else _read_group(block, spec)
    except OSError as error:
        raise MigrateError(
            f"{block.shown} cannot be read ({error.strerror or error}); check its permissions"
        ) from error


def _read_group(block: Block, spec: DataSpec) -> Rows:
    try:
        with parquet.ParquetFile(block.path) as file:
            table = file.read_row_group(block.start, columns=list(spec.needed), use_threads=False)
    except pa.ArrowException as error:
        raise MigrateError(f"{block.shown} is damaged ({_first_line(error)}); write or copy it again") from error
    return Rows(block, table.combine_chunks())


def _read_lines(block: Block, spec: DataSpec) -> Rows:
    with block.path.open("rb") as file:
        file.seek(block.start)
        data = file.read(block.stop - block.start)
    malformed: list[tuple[int, int, int]] = []

    def left_out(row: Any) -> str:
        malformed.append((row.number, row.expected_columns, row.actual_columns))
        return "skip"

    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, block_size=max(len(data) + 1, 64), column_names=block.names),
            csv.ParseOptions(delimiter=block.delimiter, quote_char=spec.quote or False, invalid_row_handler=left_out),
            csv.ConvertOptions(
                include_columns=spec.needed,
                column_types=dict.fromkeys(spec.needed, pa.string()),
                strings_can_be_null=True,
                null_values=list(spec.missing),
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):  # nothing but blank lines
            table = pa.table({name: pa.array([], pa.string()) for name in spec.needed})
        else:
            raise _unreadable(block, data, error) from error
    rows = Rows(block, table.combine_chunks(), tuple(malformed), data)
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    count = table.num_rows + len(malformed)
    if _opened(data, block, spec) or (count != lines and count != _not_blank(data)):
        raise MigrateError(f"{block.shown}: a quoted value contains a line break; remove line breaks from values")
    return rows


def _opened(data: bytes, block: Block, spec: DataSpec) -> bool:
    """Return whether the last line leaves a quoted value open: then the next block has the rest of it."""
    last = data[data.rstrip(b"\r\n").rfind(b"\n") + 1 :]
    quote, delimiter = re.escape(spec.quote.encode()), re.escape(block.delimiter.encode())
    return bool(quote) and re.search(rb"(^|%b)%b([^%b]|%b%b)*$" % (delimiter, *[quote] * 4), last) is not None


def _not_blank(data: bytes) -> int:
    return sum(1 for line in data.splitlines() if line)


def _unreadable(block: Block, data: bytes, error: Exception) -> MigrateError:
    rows = Rows(block, None, (), data)
    number = 0
    for line in data.splitlines():
        number += bool(line)
        try:
            line.decode()
        except UnicodeDecodeError:
            return MigrateError(f"{rows.place_of_line(number)}: not UTF-8 text; convert the file or remove the line")
    return MigrateError(
        f"{block.shown}: cannot be read as lines of {len(block.names)} values ({_first_line(error)}); correct the file"
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
