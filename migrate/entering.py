"""Runs a program with a module of ours in each of its Python processes, which `sitecustomize` loads there."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from migrate.errors import PACKAGES, MigrateError

__all__ = ["NOTHING_ENTERED", "part_paths", "run_entered", "start_entered", "without_tensorflow"]

#: The environment variable that has the settings, as JSON; a Python process without it is left alone.
_VARIABLE = "RECMIGRATE_RUN"
_HERE = Path(__file__).parent
#: The names of our modules in these processes, where no program uses them -> their files.
_MODULES = {
    "_recmigrate_importing": str(_HERE.parent / "rewriter" / "after_import.py"),
    "_recmigrate_tensorflow1": str(_HERE / "tensorflow1.py"),
    "_recmigrate_kept_code": str(_HERE.parent / "rewriter" / "kept_code.py"),
    **{f"_recmigrate_{one}": str(_HERE / one / "child" / "__init__.py") for one in ("run", "trace", "trial")},
}
#: What to do where no process was entered.
NOTHING_ENTERED = (
    "no Python process of the command imported TensorFlow; give the command that trains, and let its Python read "
    "PYTHONPATH (no `python -I`, -E or -S)"
)
#: The file beside the parts that names a Python which was asked for TensorFlow and does not have it.
_MISSING = "without-tensorflow"
_SITE = '''"""Loads modules of `migrate` under names that no program uses, and waits until TensorFlow is imported.

Then it runs the `sitecustomize` that is next on the path, as Python would without this one.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys

for _name, _file in {modules!r}.items():
    _folders = [os.path.dirname(_file)] if _file.endswith("__init__.py") else None
    _spec = importlib.util.spec_from_file_location(_name, _file, submodule_search_locations=_folders)
    sys.modules[_name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])
if os.environ.get({variable!r}):
    _settings, _after_import = json.loads(os.environ[{variable!r}]), sys.modules["_recmigrate_importing"].after_import
    # A program may import one of these first: it then imports TensorFlow, and cannot be used before its own end.
    _outer, _waits = ["runtime", "keras", "tf_keras"], []

    def _imported(_=None):
        _specs = [getattr(sys.modules.get(name), "__spec__", None) for name in _outer]
        if any(getattr(_spec, "_initializing", False) for _spec in _specs):
            _waits.append(True)
        else:
            _say()
            importlib.import_module(_settings["inside"]).enter(_settings)

    def _ended(module):
        _outer.remove(module.__name__)
        if _waits:
            _waits.clear()
            _imported()

    def _missing():
        with open(os.path.join(_settings["parts"], {missing!r}), "w", encoding="utf-8") as _file:
            _file.write(sys.executable)
        _say()

    def _say():
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _said

    def _said(kind, error, trace):
        if isinstance(error, ModuleNotFoundError) and error.name == "tensorflow":
            trace = error.__traceback__ = None  # the command that runs this says more
        sys.__excepthook__(kind, error, trace)
        if _remedy := sys.modules["_recmigrate_tensorflow1"].remedy(error):
            print(f"migrate: {{_remedy}}", file=sys.stderr)

    _after_import("tensorflow", _imported, _missing)
    for _name in tuple(_outer):
        _after_import(_name, _ended)

_places = [one for one in sys.path if os.path.realpath(one or ".") != {site!r}]
_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _places)
if _spec is not None and _spec.loader is not None:
    sys.modules["sitecustomize"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["sitecustomize"])
'''


def run_entered(command: Sequence[str], folder: Path, kind: str, settings: Mapping[str, Any]) -> int:
    """Run `command`, which has the streams of this process, and return its exit code; negative: a signal ended it.

    See `start_entered`.
    """
    process = start_entered(command, folder, kind, settings)
    with _passed_on(process):
        return process.wait()


def start_entered(
    command: Sequence[str],
    folder: Path,
    kind: str,
    settings: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    **how: Any,
) -> subprocess.Popen[bytes]:
    """Start `command`, whose Python processes call `enter` of a module `inside.py` once they have imported TensorFlow.

    Args:
        command: a program with its arguments.
        folder: a folder without `site` and `parts`, which must be there as long as the command runs.
        kind: whose `inside.py` it is: "run", "trace" or "trial".
        settings: what `enter` is called with, and besides, as `parts`, the folder in which processes leave files.
        environment: further variables of the environment.
        how: further arguments of `Popen`.

    Raises:
        MigrateError: the command cannot be started.
    """
    site, parts = folder / "site", folder / "parts"
    site.mkdir()
    parts.mkdir()
    text = _SITE.format(modules=_MODULES, variable=_VARIABLE, site=os.path.realpath(site), missing=_MISSING)
    (site / "sitecustomize.py").write_text(text)
    handed = {"inside": f"_recmigrate_{kind}.inside", "parts": str(parts), **settings}
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**os.environ, "PYTHONPATH": path, _VARIABLE: json.dumps(handed), **(environment or {})}
    try:
        return subprocess.Popen(command, env=variables, **how)
    except OSError as error:
        raise MigrateError(
            f"{command[0]}: cannot be started ({error.strerror}); write the command after `--` as in a shell, such as "
            "`-- python train.py`"
        ) from error


def part_paths(folder: Path) -> list[Path]:
    """Return the files that the processes have left, in the order of their names."""
    return sorted((folder / "parts").glob("*.json"))


def without_tensorflow(folder: Path) -> str:
    """Return what to do about a Python of the command that lacks TensorFlow, if one was asked for it; else nothing."""
    file = folder / "parts" / _MISSING
    if not file.is_file():
        return ""
    python = shlex.quote(file.read_text(encoding="utf-8"))
    install = f"{python} -m pip install {PACKAGES['tensorflow']}"
    lacks = f"{python} has no TensorFlow, which the program imports"
    if importlib.util.find_spec("tensorflow") is not None:
        ours = f"`-- {shlex.quote(sys.executable)} train.py`"
        return f"{lacks}; give the Python that runs `migrate`, which has it, as in {ours}, or run `{install}`"
    return f"{lacks}; run `{install}`, or give a Python that has it, as in `-- path/to/python train.py`"


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
