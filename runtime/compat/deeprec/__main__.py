"""`python -m runtime.compat.deeprec script.py args…` runs a script written for DeepRec, as TensorFlow 1 would."""

from __future__ import annotations

import contextlib
import sys

from runtime.compat.running import run_script

USAGE = "usage: python -m runtime.compat.deeprec script.py [argument ...]"


def main(arguments: list[str]) -> int:
    """Run the script `arguments[0]` as the main module with the other arguments; return its exit code."""
    return run_script("runtime.compat.deeprec", arguments, _prepared, USAGE)


def _prepared(source: bytes) -> contextlib.AbstractContextManager[object]:
    import tensorflow as tf

    from runtime.compat.deeprec import install
    from runtime.compat.tensorflow_1 import served

    tf.compat.v1.disable_v2_behavior()
    install()
    return served(estimator=b"estimator" in source, facade="deeprec")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
