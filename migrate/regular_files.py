"""Reads regular files alone: a device gives bytes without an end, a pipe that nobody writes to gives none.

What is no regular file raises an OSError, as a file does that is not there, so that one sentence tells of both.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: Bytes that are read as a whole, which a report of thousands of files does not reach.
MOST = 256_000_000
#: Where the system, and so the shell's `<(command)`, has the pipes of a process: these are read, as somebody gave them.
_STREAMS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


def check_regular(path: Path) -> os.stat_result:
    """Return the status of a file; raises OSError unless it is a regular one, or a pipe that the shell gave."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not (stat.S_ISREG(status.st_mode) or str(path).startswith(_STREAMS)):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))
    return status


def read_regular(path: Path, most: int = MOST) -> bytes:
    """Return the bytes of a regular file; raises OSError for another one, and for one of more than `most` bytes."""
    check_regular(path)
    # Between the two calls the file may become a pipe, for which opening must not wait.
    flags = os.O_RDONLY | os.O_CLOEXEC | (0 if str(path).startswith(_STREAMS) else os.O_NONBLOCK)
    with os.fdopen(os.open(path, flags), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most / 1e6:g} MB", str(path))
    return data


def read_regular_text(path: Path, encoding: str = "utf-8", most: int = MOST) -> str:
    """Return the text of a regular file, with line feeds alone; raises OSError as above, and UnicodeDecodeError."""
    text = read_regular(path, most).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")
