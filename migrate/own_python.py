"""The command line by which a process of ours runs a module: what lies in the working directory is not imported."""

from __future__ import annotations

import sys

#: As `python -m`, which puts the working directory before all packages.
_START = (
    "import sys; sys.path[:] = [one for one in sys.path if one]; import runpy; "
    "sys.argv[:1] = []; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    return [sys.executable, "-c", _START, module, *arguments]
