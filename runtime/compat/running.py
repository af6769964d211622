"""Runs a script as the main module with a façade installed: `python -m runtime.compat.<name> script.py …`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

__all__ = ["run_script"]


def run_script(
    facade: str,
    arguments: list[str],
    prepare: Callable[[bytes], contextlib.AbstractContextManager[object]],
    usage: str,
) -> int:
    """Run the script `arguments[0]` as the main module with the other arguments.

    `prepare` gets its source, sets up the façade, and returns the context in which the script runs. The exit code is
    the script's; if an error ends it, so is the traceback.
    """
    if not arguments or arguments[0].startswith("-"):
        print(usage, file=sys.stderr)
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    path = Path(arguments[0])
    try:
        source = path.read_bytes()
    except OSError as error:
        print(f"{facade}: cannot read {path}: {error.strerror}", file=sys.stderr)
        return 2
    context = prepare(source)
    sys.argv = arguments
    sys.path[0] = str(path.resolve().parent)
    module = ModuleType("__main__")
    module.__dict__.update({"__file__": str(path), "__builtins__": __builtins__})
    sys.modules["__main__"] = module
    with context:
        try:
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        except Exception as error:
            # The first entry is the `exec` above.
            error.__traceback__ = None if error.__traceback__ is None else error.__traceback__.tb_next
            sys.excepthook(type(error), error, error.__traceback__)
            return 1
    return 0
