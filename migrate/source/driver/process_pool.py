"""Converts files in parallel processes; if a process dies, only its current file fails, and a finding names it."""

from __future__ import annotations

import contextlib
import gc
import importlib
import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from migrate.errors import MigrateError
from migrate.source.driver.convert_file import convert_bytes, failed
from migrate.source.files.atomic_write import uninterrupted
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options

WORTH_A_PROCESS = 4  #: fewer files are converted faster without starting processes
_FRONT_ENDS = {
    "tensorflow": "migrate.source.tensorflow.convert",
    "paddle": "migrate.source.paddle.convert",
}

#: The outcome of one file: the result and the bytes to write, or the error of the user that a front end raised.
Outcome = tuple[SourceResult, bytes] | MigrateError


@dataclass(frozen=True)
class Task:
    """One file to convert, with everything that its conversion reads."""

    path: str
    data: bytes
    options: Options
    siblings: Mapping[str, str]
    group: str = ""  #: files of one group are analysed together, so that one process converts them


def convert_all(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Outcome]]:
    """Yield (index of the task, outcome) of every task, in the order of completion."""
    if jobs <= 1 or len(tasks) < WORTH_A_PROCESS or "fork" not in multiprocessing.get_all_start_methods():
        yield from ((index, convert_one(task)) for index, task in enumerate(tasks))
        return
    for name, module in _FRONT_ENDS.items():
        if any(name.encode() in task.data for task in tasks):  # import once here instead of in every process
            importlib.import_module(module)
    if tasks[0].options.project is not None:
        tasks[0].options.project.share()
    pool = _Pool(tasks)
    try:
        yield from pool.run(min(jobs, len(tasks)))
    finally:
        pool.stop()


def convert_one(task: Task) -> Outcome:
    """Convert a file; extra outputs become a dict, because the outcome must be picklable."""
    try:
        result, data = convert_bytes(task.path, task.data, task.options, task.siblings)
    except MigrateError as error:
        return error
    return replace(result, outputs=dict(result.outputs)), data


class _Pool:
    """Worker processes with one pipe each: a broken pipe tells which process died, with which file."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self.waiting: dict[str, list[int]] = {}  #: group -> indices of its tasks
        for index, task in enumerate(tasks):
            self.waiting.setdefault(task.group or task.path, []).append(index)
        self.working: dict[Connection, tuple[BaseProcess, int]] = {}

    def run(self, jobs: int) -> Iterator[tuple[int, Outcome]]:
        for _ in range(jobs):
            self._start()
        while self.working:
            for connection in wait(list(self.working)):
                assert isinstance(connection, Connection)
                process, index = self.working.pop(connection)
                try:
                    outcome = connection.recv()
                except (EOFError, OSError):
                    connection.close()
                    process.join()
                    yield index, _crashed(self.tasks[index], process.exitcode)
                    self._start()
                    continue
                self._next(connection, process, self.tasks[index])
                yield index, outcome

    def _start(self) -> None:
        with uninterrupted():  # Ctrl-C inside of multiprocessing leaves half made objects, which fail when they end
            here, there = multiprocessing.Pipe()
            others = [*self.working, here]
            context = multiprocessing.get_context("fork")
            process = context.Process(target=_work, args=(there, others), daemon=True)
            with _uncollected():
                process.start()
            there.close()
            self._next(here, process)

    def _take(self, last: Task | None) -> int | None:
        """Return the next task for a process: of the group of its last task, else of a group without a process."""
        known = (last.group or last.path) if last is not None else ""
        busy = {self.tasks[index].group for _, index in self.working.values()} - {""}
        group = known if known in self.waiting else next((name for name in self.waiting if name not in busy), None)
        if group is None:
            return None
        index = self.waiting[group].pop(0)
        if not self.waiting[group]:
            del self.waiting[group]
        return index

    def _next(self, connection: Connection, process: BaseProcess, last: Task | None = None) -> None:
        """Send a process its next task, or end it if there is none."""
        index = self._take(last)
        if index is None:
            connection.close()
            process.join()
            return
        self.working[connection] = (process, index)
        try:
            connection.send(self.tasks[index])
        except OSError:  # the process has died; `run` will see the broken pipe
            return

    def stop(self) -> None:
        """Kill all processes."""
        for connection, (process, _) in self.working.items():
            process.kill()
            process.join()
            connection.close()


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Collect no garbage: a process that starts inside of this block inherits that."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _work(connection: Connection, others: Sequence[Connection]) -> None:
    """Convert the tasks that come through the pipe until it closes; the parent handles Ctrl-C."""
    gc.freeze()  # what the parent left behind is the parent's to end: its threads (TensorFlow's, say) do not run here
    gc.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for other in others:  # otherwise this process would keep the pipe of a dead process open
        other.close()
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(convert_one(task))


def _crashed(task: Task, code: int | None) -> Outcome:
    how = signal.Signals(-code).name if code is not None and -code in set(signal.Signals) else f"exit code {code}"
    result = failed(task.path, "", f"the converter failed (its process died: {how})", "report this file as a bug")
    return result, task.data
