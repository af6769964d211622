"""Worker processes of a build."""

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
    """Runs functions in worker processes, or in this process if there is only one job."""

    def __init__(self, pool: ProcessPoolExecutor | None, jobs: int) -> None:
        self._pool, self._jobs = pool, jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of all tasks, in order; only a few tasks are submitted at a time, to limit memory.

        Raises:
            MigrateError: a process died, usually because memory is exhausted.
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
                "a process of the build was killed, usually because memory is exhausted; "
                "give fewer --jobs or a smaller --block-size"
            ) from error


@contextmanager
def workers(jobs: int) -> Iterator[Workers]:
    """Yield workers, whose processes are ended when the block is left."""
    if jobs == 1:
        yield Workers(None, 1)
        return
    # Not fork: a forked process would have the locks of threads that it does not have.
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
    # Ctrl-C reaches all processes of a terminal; the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the main process was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
