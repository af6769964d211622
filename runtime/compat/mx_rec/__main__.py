"""`python -m runtime.compat.mx_rec [options] script.py args…` runs a program written for Rec SDK."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import tensorflow as tf

from runtime.compat.mx_rec import install
from runtime.compat.running import parsed, run_program
from runtime.compat.settings import heeding
from runtime.compat.tensorflow_1 import served

FACADE = "runtime.compat.mx_rec"


def main(arguments: list[str]) -> int:
    """Run the program, a script or with -m a module, as the main module with its arguments; return its exit code."""
    options, program = parsed(FACADE, arguments, start, install)
    return run_program(FACADE, program, lambda: start(**options))


@heeding("RECMIGRATE_MX_REC")
def start(tf1: bool = False, **settings: Any) -> contextlib.AbstractContextManager[object]:
    """Install the façade and return the context of the program; other arguments are those of `install`.

    Args:
        tf1: for programs of TensorFlow 1.15: `import tensorflow` gives its names, and its behaviour
    """
    install(**settings)
    if not tf1:
        return contextlib.nullcontext()
    tf.compat.v1.disable_v2_behavior()
    # With ref variables, a step that updates a variable while it computes other gradients has varying results.
    tf.compat.v1.enable_resource_variables()
    return served("mx_rec")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
