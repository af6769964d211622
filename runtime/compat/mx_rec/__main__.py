"""`python -m runtime.compat.mx_rec [--tf1] script.py args…` runs a script written for Rec SDK."""

from __future__ import annotations

import contextlib
import sys

from runtime.compat.running import run_script

USAGE = """usage: python -m runtime.compat.mx_rec [--tf1] script.py [argument ...]

  --tf1  for scripts of TensorFlow 1.15: `import tensorflow` gives its names, and its behaviour"""


def main(arguments: list[str]) -> int:
    """Run the script, the first argument after the option, as the main module; return its exit code."""
    version_1 = arguments[:1] == ["--tf1"]
    return run_script(
        "runtime.compat.mx_rec",
        arguments[version_1:],
        lambda source: _prepared(source, version_1),
        USAGE,
    )


def _prepared(source: bytes, version_1: bool) -> contextlib.AbstractContextManager[object]:
    import tensorflow as tf

    from runtime.compat.mx_rec import install
    from runtime.compat.tensorflow_1 import served

    install()
    if not version_1:
        return contextlib.nullcontext()
    tf.compat.v1.disable_v2_behavior()
    # With ref variables, a step that updates a variable while it computes other gradients has varying results.
    tf.compat.v1.enable_resource_variables()
    return served(estimator=b"stimator" in source, facade="mx_rec")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
