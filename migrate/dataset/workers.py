"""Processes that share the work of a build; results come back in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import TypeVar

from migrate.errors import MigrateError

Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers:
    """Runs functions in processes, or in this one where there is only one job."""

    def __init__(self, pool: ProcessPoolExecutor | None, jobs: int) -> None:
        self._pool, self._jobs = pool, jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the result of every task, in order; only a few are under way, so results do not pile up.

        Raises:
            MigrateError: a process died, most often for want of memory.
        """
        if self._pool is None:
            yield from map(function, tasks)
            return
        under_way: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                under_way.append(self._pool.submit(function, task))
                if len(under_way) > 2 * self._jobs:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            raise MigrateError(
                "a process of the build was ended, most often for want of memory; "
                "give fewer --jobs or a smaller --block-size"
            ) from error


@contextmanager
def workers(jobs: int) -> Iterator[Workers]:
    """Yield workers; whatever ends the block ends the processes."""
    if jobs == 1:
        yield Workers(None, 1)
        return
    # Not by fork: a fork has the threads' locks, but not the threads, of what the program imported.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin)
    try:
        yield Workers(pool, jobs)
    except BaseException:
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    # Ctrl-C reaches all processes of a terminal: the main one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the main one was killed: nobody would take its results."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
