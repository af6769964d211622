"""Runs a program with a module of ours in each of its Python processes, which `sitecustomize` loads there."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from migrate.errors import MigrateError

__all__ = ["run_entered"]

_SITE = '''"""Loads a module of `migrate` under a name that no program uses, and starts it."""

import importlib.util
import sys

_name = {name!r}
_spec = importlib.util.spec_from_file_location(_name, {init!r}, submodule_search_locations=[{folder!r}])
_module = importlib.util.module_from_spec(_spec)
sys.modules[_name] = _module
_spec.loader.exec_module(_module)
importlib.import_module(_name + ".start").start()
'''


def run_entered(command: Sequence[str], child: Path, name: str, site: Path, settings: dict[str, str]) -> int:
    """Run `command`, which has the streams of this process, and return its exit code; negative: a signal ended it.

    Each of its Python processes first calls `start()` of `start.py` in the package folder `child`, which is there as
    `name`. `site` is an empty folder for the time of the run; `settings` go into the environment.

    Raises:
        MigrateError: the command cannot be started.
    """
    text = _SITE.format(name=name, init=str(child / "__init__.py"), folder=str(child))
    (site / "sitecustomize.py").write_text(text)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, **settings}
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise MigrateError(
            f"{command[0]}: cannot be started ({error.strerror}); write the command after `--` as in a shell, such as "
            "`-- python train.py`"
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
