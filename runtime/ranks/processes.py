"""Finds which ranks on this machine still run, from Linux's process states."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_ENDED = "ZX"
_SUSPENDED = "Tt"


def own() -> tuple[int, int]:
    """Return two numbers that identify this process to ranks on the same machine: machine and process id."""
    return _machine(), os.getpid()


def not_running(processes: NDArray[np.int64]) -> list[int]:
    """Return the ranks of this machine whose process, [ranks, 2] from `own`, has ended or is suspended."""
    here = _machine()
    return [
        rank
        for rank, (machine, number) in enumerate(processes.tolist())
        if machine == here and _state(number) in f"{_ENDED}{_SUSPENDED}"
    ]


def _state(process: int) -> str:
    """Return Linux's letter for the state of a process; X if it does not exist."""
    try:
        # The process name before it, in parentheses, may contain anything.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def _machine() -> int:
    """Return a number for this boot of this machine and its process-id namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return zlib.crc32(f"{boot}{os.readlink('/proc/self/ns/pid')}".encode())  # noqa: PTH115
    except OSError:
        return 0
