"""Prepares a process for a program: a copy of its folder, its command line, and where it finds modules.

A program is a file, run in its own folder; or a command such as `python -m code.train --epochs 1`, run in a folder.
What a converted folder lacks is taken from the original one.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from migrate.errors import MigrateError
from migrate.source.files.notebook import SUFFIX
from migrate.verify import working_copy
from migrate.verify.program_files import code_of

#: A program's first file, and the call that runs it.
Started = tuple[Path, Callable[[], object]]


def started(path: str, directory: str, arguments: Sequence[str]) -> Started:
    """Prepare this process.

    Args:
        path: the file; or the folder, whose command the arguments are.
        directory: the original's folder.
        arguments: what the program gets.

    Raises:
        MigrateError: the command starts no Python program.
    """
    if Path(path).is_dir():
        return _of_command(path, directory, arguments)
    file = Path(path).resolve()
    script = _script_of(file)
    sys.argv, sys.path[:0] = [script, *arguments], [str(file.parent), directory]
    working_copy.enter(directory)
    own: dict[str, object] = {} if script == str(file) else {"display": print}
    return file, lambda: runpy.run_path(script, own, run_name="__main__")


def _of_command(path: str, directory: str, command: Sequence[str]) -> Started:
    real, here = Path(directory).resolve(), Path.cwd()
    words = _program_of(path, command)
    copy = working_copy.enter(directory, path)
    if here.is_relative_to(real):
        os.chdir(copy / here.relative_to(real))
    sys.path[:] = [_moved(one, real, copy) for one in sys.path]
    if words[0] != "-m":
        script = Path(words[0]).absolute()
        sys.argv, sys.path[:0] = words, [str(script.parent)]
        return script, lambda: runpy.run_path(words[0], run_name="__main__")
    sys.argv, sys.path[:0] = words[1:], [str(Path.cwd())]
    if _is_here(words[1].partition(".")[0]):
        sys.modules.pop(words[1].partition(".")[0], None)  # Python has modules of such names, as `code`
    file = Path.cwd() / words[1].replace(".", "/")
    first = file / "__main__.py" if file.is_dir() else file.with_suffix(".py")
    return first, lambda: runpy.run_module(words[1], run_name="__main__", alter_sys=True)


def _is_here(module: str) -> bool:
    """Whether the working directory has a module or package of this name: others may be in use, as `runtime`."""
    return Path(module).is_dir() or Path(f"{module}.py").is_file()


def _program_of(path: str, command: Sequence[str]) -> list[str]:
    """Return a command without Python and its switches: a script, or `-m` and a module, and arguments."""
    words = list(command)
    if words and Path(words[0]).name.startswith("python"):
        del words[0]
        while words and words[0] in ("-u", "-B", "-O"):
            del words[0]
    if not words or (words[0].startswith("-") and words[0] != "-m") or words == ["-m"]:
        raise MigrateError(
            f"{path}: `{' '.join(command)}` names no program; give the command that trains in this folder behind `--`, "
            "such as `-- python train.py`"
        )
    return words


def _moved(place: str, real: Path, copy: Path) -> str:
    """Return a folder of the original as it is in the copy."""
    found = Path(place).resolve()
    return str(copy / found.relative_to(real)) if place and found.is_relative_to(real) else place


def _script_of(file: Path) -> str:
    """Return the path of what is run: of a notebook a script of its code cells, in this process's scratch folder."""
    if file.suffix != SUFFIX:
        return str(file)
    script = Path(tempfile.mkdtemp(prefix="notebook-")) / f"{file.stem}.py"
    script.write_bytes(code_of(file))
    return str(script)
