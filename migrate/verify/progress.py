"""How far the programs of a proof are, for who waits for it.

Each worker writes how much of its batches and steps it has done to a file beside its job, and `Progress` reads the
files of all workers. Without a `Progress` nothing is read; what a worker writes is a few bytes a step.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")

#: Names the file of a worker, in its environment.
FILE = "RECMIGRATE_VERIFY_PROGRESS"
#: Workers of most proofs, while the number is not known.
_USUAL = 4
#: A worker is not done before it ends, however many steps it was thought to have.
_MOST = 0.97
_watched: ContextVar[Progress | None] = ContextVar("watched", default=None)


class Progress:
    """The share of a proof that is done, by the workers that have ended and those that run."""

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._ended, self._expected = 0, _USUAL

    def share(self) -> float:
        """Return a number from 0 to 1; each worker counts the same."""
        files = [*self._files]
        done = self._ended + sum(min(_read(file), _MOST) for file in files)
        return done / max(self._expected, self._ended + len(files), 1)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Count the workers that are run inside."""
        token = _watched.set(self)
        try:
            yield
        finally:
            _watched.reset(token)

    def expect(self, workers: int) -> None:
        """Take as known how many workers will have run at the end, besides those that have ended."""
        self._expected = self._ended + workers

    @contextlib.contextmanager
    def worker(self, file: Path) -> Iterator[None]:
        """Count a worker as running inside."""
        self._files.append(file)
        try:
            yield
        finally:
            self._files.remove(file)
            self._ended += 1


def expect(workers: int) -> None:
    """Tell who watches how many workers will be run from now on."""
    watching = _watched.get()
    if watching is not None:
        watching.expect(workers)


def worker(file: Path) -> contextlib.AbstractContextManager[None]:
    """Count a worker as running inside, if somebody watches; `file` is what it writes."""
    watching = _watched.get()
    return contextlib.nullcontext() if watching is None else watching.worker(file)


class _Own:
    """What this worker has done, in the process of the worker."""

    done, expected = 0, 1


def begin(job: Mapping[str, Any], runs: int) -> None:
    """Say how much a worker is about to do.

    Args:
        job: its `settings`, its learning rates as `rates`, and `passes` or `moved` of trainers of folders.
        runs: how often it goes through all batches and steps.
    """
    settings = job.get("settings")
    if settings is None:  # one that only draws batches
        return
    batches = settings.batches if job.get("passes", True) else 0
    steps = settings.steps * (len(job.get("rates", ())) or 1) if "moved" in job or "passes" not in job else 0
    _Own.done, _Own.expected = 0, max(runs * (batches + steps), 1)


def step() -> None:
    """Say that this worker has done one batch or step more."""
    _Own.done += 1
    if FILE in os.environ:
        Path(os.environ[FILE]).write_text(f"{_Own.done / _Own.expected:.4f}")


def counted(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, and count each as a step once it is done with."""
    for item in items:
        yield item
        step()


def _read(file: Path) -> float:
    """Return what a worker has written; 0 where it has not, or is about to."""
    try:
        return float(file.read_text() or 0)
    except (OSError, ValueError):
        return 0.0
