"""Runs a program as the main module with a façade installed: `python -m runtime.compat.<name> [options] script.py …`.

What runs may also be a module, as in `python -m`: `python -m runtime.compat.<name> [options] -m pytest tests`.
"""

from __future__ import annotations

import argparse
import contextlib
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from runtime.compat.settings import add_options

_TOOLS = (__file__, runpy.__file__, contextlib.__file__)


def parsed(
    facade: str, arguments: list[str], *functions: Callable[..., Any], short: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the given options, by name, and the program with its arguments: `["script.py", …]` or `["-m", name, …]`.

    Each argument of the functions is an option. Ends the process with a usage if there is no program.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {facade}",
        usage=f"python -m {facade} [options] (script.py | -m module) [argument ...]",
        description=f"Each option is also an environment variable: {_variable(facade)}_<NAME>, a switch being 1 or 0.",
        allow_abbrev=False,
    )
    for function in functions:
        add_options(parser, function, short)
    parser.add_argument("-m", dest="-m", nargs=argparse.REMAINDER, help="run a module, as `python -m` does")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="run a script")
    options = vars(parser.parse_args(arguments))
    script, module = options.pop("script"), options.pop("-m")
    if not (script or module):
        parser.error("name a script, or with -m a module")
    return options, ["-m", *module] if module else script


def run_program(
    facade: str, program: list[str], prepare: Callable[[], contextlib.AbstractContextManager[object]]
) -> int:
    """Run a script or module as the main module; the exit code is its own, and so is the traceback of its error.

    `prepare` sets up the façade and returns the context in which the program runs.
    """
    source = b""
    path = Path(program[0])
    if program[0] != "-m":
        try:
            source = path.read_bytes()
        except OSError as error:
            print(f"{facade}: cannot read {path}: {error.strerror}", file=sys.stderr)
            return 2
    try:
        context = prepare()
    except ValueError as error:
        print(f"{facade}: {error}", file=sys.stderr)
        return 2
    with context:
        try:
            if program[0] == "-m":
                sys.argv = program[1:]
                runpy.run_module(program[1], run_name="__main__", alter_sys=True)
            else:
                sys.argv = program
                _run_script(path, source)
        except Exception as error:
            error.__traceback__ = _of_program(error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            return 1
    return 0


def _variable(facade: str) -> str:
    return f"RECMIGRATE_{facade.rpartition('.')[2].upper()}"


def _run_script(path: Path, source: bytes) -> None:
    sys.path[0] = str(path.resolve().parent)
    module = ModuleType("__main__")
    module.__dict__.update({"__file__": str(path), "__builtins__": __builtins__})
    sys.modules["__main__"] = module
    exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)


def _of_program(entry: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the entries of those who run the program, which come first."""
    while entry is not None and entry.tb_next is not None and _frame_file(entry) in _TOOLS:
        entry = entry.tb_next
    return entry


def _frame_file(entry: TracebackType) -> str:
    name = entry.tb_frame.f_code.co_filename
    return runpy.__file__ if name == "<frozen runpy>" else name
