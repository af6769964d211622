"""Imports a user's file by its path, in a worker process."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

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


def _line(error: BaseException, path: str) -> str:
    trace, line = error.__traceback__, 0
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == path else line
        trace = trace.tb_next
    return f", line {line}" if line else ""
