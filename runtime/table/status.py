"""`status()`: the live tables of this process, in eager mode and in every session."""

from __future__ import annotations

import ctypes
import dataclasses

from runtime import native


@dataclasses.dataclass(frozen=True)
class TableStatus:
    """One live table; a v1 table in two sessions is listed twice."""

    name: str
    dim: int
    rows: int
    #: Bytes of memory of the table: rows, slots and index, including reserved memory.
    bytes: int
    #: Rows that were evicted since the table was created: by age, by norm, or because it was full.
    evicted: int


@dataclasses.dataclass(frozen=True)
class Status:
    """The result of `status`; `str` returns lines to print, `dataclasses.asdict` plain data."""

    tables: tuple[TableStatus, ...]
    #: Number of threads that the native pool uses for one op.
    threads: int

    def __str__(self) -> str:
        width = max((len(table.name) for table in self.tables), default=0)
        lines = [
            f"{table.name:{width}}  dim {table.dim:4}  {table.rows:13,} rows  {_size(table.bytes)}"
            + (f"  {table.evicted:,} evicted" if table.evicted else "")
            for table in self.tables
        ]
        return "\n".join([f"{len(lines)} table{'s'[: len(lines) != 1]}, {self.threads} threads", *lines])


def _size(count: int) -> str:
    return f"{count / 2**20:10,.1f} MiB" if count >= 2**20 else f"{count / 2**10:10,.1f} KiB"


def status() -> Status:
    """Return the existing tables, in order of creation, and the number of threads of the native pool.

    Raises:
        MemoryError: there is not enough memory to list them.
    """
    native.ops()
    library = ctypes.CDLL(str(native.LIBRARY))
    library.recmigrate_status.restype = ctypes.c_size_t
    library.recmigrate_status.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    text, needed = ctypes.create_string_buffer(0), 1
    while needed > len(text):  # repeat if a table was created in between
        text = ctypes.create_string_buffer(2 * needed)
        needed = library.recmigrate_status(text, len(text))
        if needed == 0:
            raise MemoryError("the native engine has no memory to list its tables: free some and call status() again")
    threads, *lines = text.value.decode().split("\n")
    fields = [line.split("\t") for line in lines]
    tables = tuple(TableStatus(name, *(int(number) for number in numbers)) for name, *numbers in fields)
    return Status(tables, int(threads))
