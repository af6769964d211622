"""Imports a user's file by its path, in a worker process."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from migrate.errors import MigrateError


def load_module(path: str, name: str = "") -> ModuleType:
    """Import the file under its own name, so that other files can import it, with its directory first on the path.

    Raises:
        MigrateError: the import fails; the message has the reason and the line.
    """
    file = Path(path).resolve()
    sys.path.insert(0, str(file.parent))
    module_name = name or file.stem
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise MigrateError(f"{path}: is not a Python file; give a `.py` file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        where = _line(error, str(file))
        raise MigrateError(
            f"{path}: importing it fails ({type(error).__name__}: {error}{where}); correct the file"
        ) from error
    return module


def class_in(path: Path, name: str, wanted: Callable[[Any], bool]) -> Any:
    """Import a file and return its class of this name, else the first one that is wanted; None if it has neither."""
    module = load_module(str(path))
    owners: list[Any] = [o for o in vars(module).values() if inspect.isclass(o) and o.__module__ == module.__name__]
    named = [owner for owner in owners if owner.__name__ == name]
    return next(iter([*named, *filter(wanted, owners)]), None)


def _line(error: BaseException, path: str) -> str:
    trace, line = error.__traceback__, 0
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == path else line
        trace = trace.tb_next
    return f", line {line}" if line else ""
