"""Runs a program with the tracer in its Python processes, and makes one record of what they wrote."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from migrate.errors import MigrateError
from migrate.trace.child.settings import VARIABLE, Settings
from migrate.trace.joining import joined
from migrate.trace.record import FORMAT, VERSION, Record

_SITE = '''"""Loads the tracer of `migrate trace` under a name that no program uses."""

import importlib.util
import sys

_name = "_recmigrate_tracer"
_spec = importlib.util.spec_from_file_location(_name, {init!r}, submodule_search_locations=[{folder!r}])
_module = importlib.util.module_from_spec(_spec)
sys.modules[_name] = _module
_spec.loader.exec_module(_module)
importlib.import_module(_name + ".start").start()
'''


class Traced(NamedTuple):
    """What came of a run."""

    record: Record | None  #: None if no process made a TensorFlow graph or variable
    code: int  #: the exit code of the program; negative: the signal that ended it
    processes: int  #: that wrote a part of the record
    faults: tuple[str, ...]  #: what went wrong in the tracer


def run_traced(command: Sequence[str], root: Path, steps: int) -> Traced:
    """Run `command` and return what was recorded. The program has the streams of this process.

    Raises:
        MigrateError: the command cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="migrate-trace-") as folder:
        site, parts = Path(folder, "site"), Path(folder, "parts")
        site.mkdir()
        parts.mkdir()
        child = Path(__file__).parent / "child"
        (site / "sitecustomize.py").write_text(_SITE.format(init=str(child / "__init__.py"), folder=str(child)))
        header = {"format": FORMAT, "version": VERSION}
        settings = Settings(str(root.resolve()), str(parts), steps, str(site), header)
        path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
        code = _run(command, {**os.environ, "PYTHONPATH": path, VARIABLE: settings.text()})
        record, processes, faults = joined(sorted(parts.glob("*.json")), command, code)
    return Traced(record, code, processes, faults)


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise MigrateError(
            f"{command[0]}: cannot be started ({error.strerror}); write the command after `--` as in a shell, such as "
            "`migrate trace -- python train.py`"
        ) from error
    with _passed_on(process):
        return process.wait()


@contextlib.contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let Ctrl-C end the program alone, which has it from the terminal, and pass SIGTERM and SIGHUP on to it."""
    before: dict[int, Callable[..., object] | int | None] = {}

    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    for number in map(int, (signal.SIGTERM, signal.SIGHUP)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, pass_on)
    before[int(signal.SIGINT)] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if process.poll() is None:
            process.kill()
            process.wait()
