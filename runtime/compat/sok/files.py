"""The files of `sok.dump`: a header of 296 bytes, then numbers in memory format; and `meta_info` about all tables.

A header is the table's name (256 bytes, padded on the left), the kind of content (4), the name of an optimizer's slot
(32) and the type (4); integers are big-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = 296
KEY, EMBEDDING, OPTIMIZER_STATE = 0, 1, 2
_DTYPES = ("int32", "int64", "uint32", "uint64", "float16", "float32", "float64")
_NAME, _SLOT = 256, 32


class FilesError(ValueError):
    """Files of `sok.dump` are missing or damaged, or do not fit."""


class Writer:
    """Writes a temporary file, and moves it to its place when it is complete."""

    def __init__(self, path: Path, table: str, kind: int, dtype: str, slot: str = "") -> None:
        """Begin the file.

        Raises:
            FilesError: the name is too long, or the format does not support the type.
        """
        if dtype not in _DTYPES:
            raise FilesError(f"sok.dump does not support rows of {dtype}: its types are {', '.join(_DTYPES)}")
        self._path = path
        self._beside = path.with_name(path.name + ".new")
        self._file = self._beside.open("wb")
        self._file.write(_text(table, _NAME) + _number(kind) + _text(slot, _SLOT) + _number(_DTYPES.index(dtype)))

    def add(self, values: NDArray[Any]) -> None:
        """Append numbers."""
        np.ascontiguousarray(values).tofile(self._file)

    def close(self) -> None:
        """Close the temporary file."""
        self._file.close()

    def finish(self) -> None:
        """Move the file to its place."""
        self._file.close()
        self._beside.replace(self._path)

    def drop(self) -> None:
        """Keep the previous file."""
        self._file.close()
        self._beside.unlink(missing_ok=True)


def read(path: Path, kind: int, width: int | None = None) -> NDArray[Any]:
    """Return the numbers of a file, [n], or with a width [n, width].

    Raises:
        FilesError: the file is missing or damaged, or its rows have another width.
    """
    try:
        with path.open("rb") as file:
            header = file.read(HEADER)
            number = int.from_bytes(header[HEADER - 4 :], "big")
            if len(header) < HEADER or number >= len(_DTYPES):
                raise FilesError(f"{path} does not begin like a file of sok.dump: dump the tables again")
            if int.from_bytes(header[_NAME : _NAME + 4], "big") != kind:
                raise FilesError(f"the content of {path} does not match its name: dump the tables again")
            numbers = np.fromfile(file, np.dtype(_DTYPES[number]))
    except OSError as error:
        raise FilesError(
            f"cannot read {path}: {error.strerror}; variables must have the names that were dumped"
        ) from error
    size = np.dtype(_DTYPES[number]).itemsize
    if numbers.size * size != path.stat().st_size - HEADER or (width is not None and numbers.size % max(width, 1)):
        raise FilesError(
            f"{path} is truncated, or its rows are not of width {width}: dump again, or give the variable its width"
        )
    return numbers if width is None else numbers.reshape(-1, width)


@dataclass(frozen=True)
class TableMeta:
    """The entry of one table in `meta_info`."""

    name: str
    optimizer: str
    key_dtype: str
    dtype: str
    width: int
    rows: int


def write_meta(folder: Path, tables: Sequence[TableMeta]) -> None:
    """Write `meta_info`, which lists the tables' numbers by kind."""
    parts = [_number(len(tables))]
    parts += [_number(_DTYPES.index(table.key_dtype)) for table in tables]
    parts += [_number(_DTYPES.index(table.dtype)) for table in tables]
    parts += [_number(table.width) for table in tables]
    parts += [table.rows.to_bytes(8, "big") for table in tables]
    parts += [_text(table.name, _NAME) for table in tables] + [_text(table.optimizer, _SLOT) for table in tables]
    beside = folder / "meta_info.new"
    beside.write_bytes(b"".join(parts))
    beside.replace(folder / "meta_info")


def read_meta(folder: Path) -> dict[str, TableMeta]:
    """Return the entries of `meta_info`, by table name; empty if the file does not exist.

    Raises:
        FilesError: it is damaged.
    """
    path = folder / "meta_info"
    if not path.exists():
        return {}
    data = path.read_bytes()
    count = int.from_bytes(data[:4], "big")
    if len(data) != 4 + count * (3 * 4 + 8 + _NAME + _SLOT):
        raise FilesError(f"{path} is truncated, or not a file of sok.dump: dump the tables again, or remove it")
    columns, at = [], 4
    for size in (4, 4, 4, 8, _NAME, _SLOT):
        columns.append([data[at + size * number : at + size * (number + 1)] for number in range(count)])
        at += size * count
    numbers = [[int.from_bytes(one, "big") for one in column] for column in columns[:4]]
    texts = [[one.strip(b" \0").decode(errors="replace") for one in column] for column in columns[4:]]
    if any(number >= len(_DTYPES) for number in (*numbers[0], *numbers[1])):
        raise FilesError(f"{path} has an unknown type: dump the tables again, or remove it")
    return {
        name: TableMeta(name, optimizer, _DTYPES[key], _DTYPES[value], width, rows)
        for key, value, width, rows, name, optimizer in zip(*numbers, *texts, strict=True)
    }


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _text(text: str, length: int) -> bytes:
    padded = text.encode().rjust(length)
    if len(padded) > length:
        raise FilesError(
            f"the name {text!r} is longer than the {length} bytes in a file of sok.dump: choose a shorter one"
        )
    return padded
