"""`python -m runtime.compat.sok [-n RANKS] [options] script.py …` runs a program written for SOK."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path
from typing import Any, Literal

import tensorflow as tf

from runtime import ranks as processes
from runtime.compat.running import parsed, run_program
from runtime.compat.settings import as_arguments, heeding
from runtime.compat.sok.installing import install
from runtime.compat.sok.surroundings.connecting import connects
from runtime.compat.tensorflow_1 import served
from runtime.launch import launch

FACADE = "runtime.compat.sok"
_LAUNCHING = ("ranks", "engine")


def main(arguments: list[str]) -> int:
    """Run the program, a script or with -m a module, as the main module with its arguments; return its exit code."""
    options, program = parsed(FACADE, arguments, start, install, launching, short={"ranks": "-n"})
    own = {name: options.pop(name) for name in _LAUNCHING if name in options}
    try:
        ranks, engine = launching(**own)
    except ValueError as error:
        print(f"{FACADE}: {error}", file=sys.stderr)
        return 2
    if ranks < 1:
        return run_program(FACADE, program, lambda: start(**options))
    # No rank launches others, though the variable may ask each for it.
    if ranks > 1 and program[0] != "-m" and not connects(Path(program[0])):
        print(f"{FACADE}: {program[0]} connects no ranks: {ranks} processes run alone", file=sys.stderr)
        engine = "alone"
    command = [sys.executable, "-m", FACADE, *as_arguments({**options, "ranks": 0}), *program]
    return launch(command, ranks, engine=engine)


@heeding("RECMIGRATE_SOK")
def launching(ranks: int = 0, engine: Literal["auto", "local", "collectives", "horovod"] = "auto") -> tuple[int, str]:
    """Return how many ranks are to be launched, 0 for none, and what connects them.

    Args:
        ranks: run as so many processes on this machine, which share the tables
        engine: what connects them; "auto" is Horovod where it is installed, else memory that they share
    """
    if engine == "auto":
        # If Horovod is installed, the program imports it, so it connects the ranks.
        engine = "local" if importlib.util.find_spec("horovod") is None else "horovod"
    return ranks, engine


@heeding("RECMIGRATE_SOK")
def start(tf1: bool = False, **settings: Any) -> contextlib.AbstractContextManager[object]:
    """Connect the ranks, install the façade and return the context of the program.

    Args:
        tf1: for programs of TensorFlow 1.15: `import tensorflow` gives its names, and its behaviour
        settings: the arguments of `install`
    """
    processes.start()  # before the program runs any op
    install(**settings)
    if not tf1:
        return contextlib.nullcontext()
    tf.compat.v1.disable_v2_behavior()
    # With ref variables, a step that updates a variable while it computes other gradients has varying results.
    tf.compat.v1.enable_resource_variables()
    return served("sok")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
