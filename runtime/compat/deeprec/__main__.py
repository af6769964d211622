"""`python -m runtime.compat.deeprec [options] script.py …` runs a program for DeepRec, as TensorFlow 1 would."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec import install
from runtime.compat.running import parsed, run_program
from runtime.compat.tensorflow_1 import served

FACADE = "runtime.compat.deeprec"
#: What DeepRec comes with, and the façade that has it.
_INCLUDED = {"sparse_operation_kit": "sok", "horovod": "sok"}


def main(arguments: list[str]) -> int:
    """Run the program, a script or with -m a module, as the main module with its arguments; return its exit code."""
    options, program = parsed(FACADE, arguments, install)
    return run_program(FACADE, program, lambda: _prepared(options))


def _prepared(options: dict[str, Any]) -> contextlib.AbstractContextManager[object]:
    tf.compat.v1.disable_v2_behavior()
    install(**options)
    return served("deeprec", _INCLUDED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
