"""What the disk below a table's tiers gives, and how to keep the system's memory from standing in for it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from benchmarks.bare import compiled
from benchmarks.common import BenchmarkError

SOURCE = Path(__file__).with_name("disk_loop.cc")
FLAGS = ["-std=c++17", "-O2", "-fPIC", "-shared", "-pthread"]
FILE_BYTES = 256 << 20
DEPTH = 128  # reads under way from each thread
SECONDS = 1.0
_MADV_DONTNEED = 4


def reads_a_second(folder: Path, record_bytes: int, threads: int) -> float:
    """Return how many random reads of a record's sectors the disk of `folder` gives in a second, past the page cache.

    Raises:
        BenchmarkError: the file system cannot read past the cache.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "disk-rate"
    block = os.urandom(1 << 20)
    with path.open("wb") as file:
        for _ in range(FILE_BYTES // len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    measure = compiled(SOURCE, FLAGS, "the disk loop").disk_reads_a_second
    measure.restype = ctypes.c_double
    try:
        rate = float(
            measure(
                os.fsencode(path),
                ctypes.c_int64(FILE_BYTES),
                ctypes.c_int64(record_bytes),
                ctypes.c_int(DEPTH),
                ctypes.c_int(threads),
                ctypes.c_double(SECONDS),
            )
        )
    finally:
        path.unlink()
    if rate < 0:
        raise BenchmarkError(f"the folder {folder} cannot be read past the page cache; give another one")
    return rate


def let_go(folder: Path) -> None:
    """Have the system's cache forget the files that this process has in `folder`, as it does when memory is short.

    What was written goes to the disk first; pages that are mapped are unmapped, so that they can go.
    """
    for mapped in _mapped(folder):
        _madvise(*mapped)
    for number in list(Path("/proc/self/fd").iterdir()):
        if _target(number).startswith(f"{folder}/"):
            _forget(int(number.name))
    for path in folder.rglob("*"):
        _let_go_file(path)


def bytes_read() -> int:
    """Return how many bytes this process has had read from disks: those that no cache had."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def _mapped(folder: Path) -> list[tuple[int, int]]:
    ranges = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        parts = line.split(maxsplit=5)
        if len(parts) == 6 and parts[5].startswith(f"{folder}/"):
            first, last = (int(number, 16) for number in parts[0].split("-"))
            ranges.append((first, last - first))
    return ranges


def _madvise(address: int, size: int) -> None:
    libc = ctypes.CDLL(None)
    libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(_MADV_DONTNEED))


def _target(number: Path) -> str:
    try:
        return str(number.readlink())
    except OSError:  # it was that of the listing
        return ""


def _let_go_file(path: Path) -> None:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:  # deleted meanwhile, or a folder that is closed to us
        return
    try:
        _forget(file)
    finally:
        os.close(file)


def _forget(file: int) -> None:
    try:
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError:  # not a file on a disk
        return
