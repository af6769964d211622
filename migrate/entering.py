"""Runs a program with a module of ours in each of its Python processes, which `sitecustomize` loads there."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError

__all__ = ["run_entered", "start_entered"]

_SITE = '''"""Loads packages of `migrate` under names that no program uses, and starts the first of them.

Then it runs the `sitecustomize` that is next on the path, as Python would without this one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_packages = {packages!r}
for _name, _folder in _packages.items():
    _place = os.path.join(_folder, "__init__.py")
    _spec = importlib.util.spec_from_file_location(_name, _place, submodule_search_locations=[_folder])
    sys.modules[_name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])
importlib.import_module(next(iter(_packages)) + ".start").start()

_places = [one for one in sys.path if os.path.realpath(one or ".") != {site!r}]
_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _places)
if _spec is not None and _spec.loader is not None:
    sys.modules["sitecustomize"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["sitecustomize"])
'''


def run_entered(command: Sequence[str], packages: Mapping[str, Path], site: Path, settings: dict[str, str]) -> int:
    """Run `command`, which has the streams of this process, and return its exit code; negative: a signal ended it.

    Raises:
        MigrateError: the command cannot be started.
    """
    process = start_entered(command, packages, site, settings)
    with _passed_on(process):
        return process.wait()


def start_entered(
    command: Sequence[str], packages: Mapping[str, Path], site: Path, settings: dict[str, str], **how: Any
) -> subprocess.Popen[bytes]:
    """Start `command`, whose Python processes first call `start()` of `start.py` in the first of the packages.

    Args:
        command: a program with its arguments.
        packages: the names that packages have in these processes -> their folders.
        site: an empty folder, which must be there as long as the command runs.
        settings: what goes into the environment.
        how: further arguments of `Popen`.

    Raises:
        MigrateError: the command cannot be started.
    """
    folders = {name: str(folder) for name, folder in packages.items()}
    (site / "sitecustomize.py").write_text(_SITE.format(packages=folders, site=os.path.realpath(site)))
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, **settings}
    try:
        return subprocess.Popen(command, env=environment, **how)
    except OSError as error:
        raise MigrateError(
            f"{command[0]}: cannot be started ({error.strerror}); write the command after `--` as in a shell, such as "
            "`-- python train.py`"
        ) from error


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
