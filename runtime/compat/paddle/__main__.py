"""`python -m runtime.compat.paddle script.py …` runs a program written for Paddle."""

from __future__ import annotations

import contextlib
import sys

from runtime.compat.paddle.installing import install
from runtime.compat.running import parsed, run_program

_FACADE = "runtime.compat.paddle"


def main(arguments: list[str]) -> int:
    """Run the program, a script or with -m a module, as the main module with its arguments; return its exit code."""
    options, program = parsed(_FACADE, arguments, install)

    def prepare() -> contextlib.AbstractContextManager[object]:
        install(**options)
        return contextlib.nullcontext()

    return run_program(_FACADE, program, prepare)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
