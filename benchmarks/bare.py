"""The bare loop as a system: compiles bare_loop.cc when needed and calls it through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import INITIAL_VALUE, BenchmarkError, Ids, Settings
from benchmarks.oracle import BETA1, BETA2, EPSILON, INITIAL_ACCUMULATOR, LEARNING_RATE, Array

SOURCE = Path(__file__).with_name("bare_loop.cc")
# This processor's own instructions: the loop is a bound for this machine, not a product that must be portable.
FLAGS = ["-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared"]
PREFETCH_AHEAD = 16


def library(dim: int) -> ctypes.CDLL:
    """Compile bare_loop.cc for rows of `dim` and load it."""
    return compiled(SOURCE, [*FLAGS, f"-DBARE_DIM={dim}"], "the bare loop")


def compiled(source: Path, flags: list[str], what: str) -> ctypes.CDLL:
    """Compile a C++ source into the temporary directory, once per text of the source, and load it.

    Raises:
        BenchmarkError: there is no compiler, or it refuses the source; the message names `what`.
    """
    compiler = next(
        (name for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name and shutil.which(name)), None
    )
    if compiler is None:
        raise BenchmarkError(f"no C++ compiler found for {what}; install g++ or set CXX")
    digest = hashlib.sha256(source.read_bytes() + " ".join([compiler, *flags]).encode()).hexdigest()[:16]
    target = Path(tempfile.gettempdir()) / f"recmigrate_{source.stem}_{os.getuid()}_{digest}.so"
    if not target.exists():
        fresh = f"{target}.{os.getpid()}"
        done = subprocess.run([compiler, *flags, str(source), "-o", fresh], capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchmarkError(f"{what} does not compile: {done.stderr.strip()}")
        Path(fresh).replace(target)
    return ctypes.CDLL(str(target))


class BareLoop:
    """One thread, no TensorFlow. `breakdown` holds [gather, loss and gradient, update] milliseconds of each step."""

    def __init__(self, settings: Settings, prefetch: bool) -> None:
        self._library = library(settings.dim)
        self._library.bare_create.restype = ctypes.c_void_p
        slots = {"sgd": 0, "adagrad": 1, "adam": 2}[settings.optimizer]
        first = INITIAL_ACCUMULATOR if settings.optimizer == "adagrad" else 0.0
        self._table = ctypes.c_void_p(
            self._library.bare_create(
                ctypes.c_int64(settings.keys),
                ctypes.c_int(slots),
                ctypes.c_float(INITIAL_VALUE),
                ctypes.c_float(first),
                ctypes.c_int(PREFETCH_AHEAD if prefetch else 0),
                ctypes.c_int(settings.huge_pages),
            )
        )
        self._optimizer = settings.optimizer
        self._dim = settings.dim
        self._steps = 0
        self.breakdown: list[list[float]] = []

    def forward(self, ids: Ids) -> float:
        """Hash and gather one batch; always 0."""
        self._checked(self._library.bare_forward(self._table, _pointer(ids), ctypes.c_int64(ids.size)))
        return 0.0

    def step(self, ids: Ids) -> float:
        """Gather, loss, gradient, segment-sum and update; returns the loss before the update."""
        self._steps += 1
        rate = LEARNING_RATE[self._optimizer]
        if self._optimizer == "adam":
            rate *= float(np.sqrt(1 - BETA2**self._steps) / (1 - BETA1**self._steps))
        loss, milliseconds = ctypes.c_double(), (ctypes.c_double * 3)()
        numbers = [ctypes.c_float(number) for number in (rate, BETA1, BETA2, EPSILON)]
        count = ctypes.c_int64(ids.size)
        done = self._library.bare_step(
            self._table, _pointer(ids), count, *numbers, ctypes.byref(loss), ctypes.byref(milliseconds)
        )
        self._checked(done)
        self.breakdown.append(list(milliseconds))
        return loss.value

    def rows(self, keys: Ids) -> Array:
        """Return the rows [n, dim] of keys [n]."""
        found = np.empty((keys.size, self._dim), np.float32)
        self._library.bare_rows(
            self._table, _pointer(keys), ctypes.c_int64(keys.size), found.ctypes.data_as(ctypes.c_void_p)
        )
        return found.astype(np.float64)

    def versions(self) -> dict[str, str]:
        """Return what the loop was compiled with."""
        return {"flags": " ".join(FLAGS)}

    @staticmethod
    def _checked(status: int) -> None:
        if status:
            raise BenchmarkError("the bare loop's table is full; its ids must lie in the key space of the settings")


def _pointer(ids: Ids) -> ctypes.c_void_p:
    if not ids.flags.c_contiguous or ids.dtype != np.int64:
        raise BenchmarkError("ids for the bare loop must be contiguous int64")
    return ids.ctypes.data_as(ctypes.c_void_p)
