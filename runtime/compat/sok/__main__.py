"""`python -m runtime.compat.sok [-n RANKS [--engine NAME]] [--tf1] script.py …` runs a script written for SOK."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path

from runtime.compat.running import run_script
from runtime.compat.sok.surroundings.connecting import connects

USAGE = """usage: python -m runtime.compat.sok [-n RANKS [--engine NAME]] [--tf1] script.py [argument ...]

  -n RANKS  as so many processes on this machine, which share the tables
  --engine collectives | horovod
            what connects them: Horovod where it is installed, else TensorFlow's collectives
  --tf1     for scripts of TensorFlow 1.15: `import tensorflow` gives its names, and its behaviour"""


def main(arguments: list[str]) -> int:
    """Run the script, the first argument after the options, as the main module; return its exit code."""
    if arguments[:1] == ["-n"] and len(arguments) > 1 and arguments[1].isdigit() and int(arguments[1]) > 0:
        return _launched(int(arguments[1]), arguments[2:])
    version_1 = arguments[:1] == ["--tf1"]
    return run_script(
        "runtime.compat.sok",
        arguments[version_1:],
        lambda source: _prepared(source, version_1),
        USAGE,
    )


def _launched(ranks: int, arguments: list[str]) -> int:
    from runtime.launch import launch

    # If Horovod is installed, the script imports it, so it connects the ranks unless another engine is requested.
    engine = "collectives" if importlib.util.find_spec("horovod") is None else "horovod"
    if arguments[:1] == ["--engine"] and arguments[1:2] in (["collectives"], ["horovod"]):
        engine, arguments = arguments[1], arguments[2:]
    script = next((Path(one) for one in arguments if not one.startswith("-")), None)
    if ranks > 1 and script is not None and not connects(script):
        print(f"runtime.compat.sok: {script} connects no ranks: {ranks} processes run alone", file=sys.stderr)
        engine = "alone"
    return launch([sys.executable, "-m", "runtime.compat.sok", *arguments], ranks, engine=engine)


def _prepared(source: bytes, version_1: bool) -> contextlib.AbstractContextManager[object]:
    import tensorflow as tf

    from runtime import ranks
    from runtime.compat.sok.installing import install
    from runtime.compat.tensorflow_1 import served

    ranks.start()  # before the script runs any op
    install()
    if not version_1:
        return contextlib.nullcontext()
    tf.compat.v1.disable_v2_behavior()
    # With ref variables, a step that updates a variable while it computes other gradients has varying results.
    tf.compat.v1.enable_resource_variables()
    return served(estimator=b"stimator" in source, facade="sok")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
