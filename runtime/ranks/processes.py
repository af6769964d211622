"""Which ranks of this machine still run, from what Linux says of their processes."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_ENDED = "ZX"
_SUSPENDED = "Tt"


def own() -> tuple[int, int]:
    """Return two numbers by which ranks of the same machine find this process: its machine, and its number there."""
    return _machine(), os.getpid()


def not_running(processes: NDArray[np.int64]) -> list[int]:
    """Return the ranks of this machine whose process, [ranks, 2] as `own` gives it, has ended or is suspended."""
    here = _machine()
    return [
        rank
        for rank, (machine, number) in enumerate(processes.tolist())
        if machine == here and _state(number) in f"{_ENDED}{_SUSPENDED}"
    ]


def _state(process: int) -> str:
    """Return the letter that Linux has for the state of a process; X where there is none."""
    try:
        # The name before it, in brackets, may hold anything.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def _machine() -> int:
    """Return a number of this start of this machine, and of what its processes are numbered in."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return zlib.crc32(f"{boot}{os.readlink('/proc/self/ns/pid')}".encode())  # noqa: PTH115
    except OSError:
        return 0
