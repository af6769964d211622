"""Runs a training program as a script and watches it (runs in a TensorFlow process)."""

from __future__ import annotations

import ast
import contextlib
import random
import re
import runpy
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime.optimizers.adagrad
import runtime.optimizers.gradient_descent
import runtime.optimizers.lazy_adam  # noqa: F401 - their optimizer classes must exist before they are watched
from migrate.errors import MigrateError
from migrate.verify import mirror
from migrate.verify.tensorflow.interceptor import Stop, TrainsEagerly, Watcher, watching

#: Top-level names of TensorFlow 1 only; a file that uses them as `tf.NAME` is written for TensorFlow 1.
_ONLY_V1 = frozenset(
    {
        "placeholder",
        "Session",
        "get_variable",
        "variable_scope",
        "global_variables_initializer",
        "set_random_seed",
        "app",
    }
)

#: What terminals show as colours, and characters of an error that are shown.
_COLOURS, _LONGEST = re.compile(r"\x1b\[[0-9;]*m"), 300


def run_watched(path: str, directory: str, watcher: Watcher, arguments: Sequence[str] = ()) -> None:
    """Run the file as `__main__` in `directory` until the watcher stops it.

    Raises:
        MigrateError: the program fails, or ends without a training step.
        TrainsEagerly: it trains by Keras, not in a session.
    """
    if not run_script(path, directory, watching(watcher), arguments):
        raise MigrateError(f"{path}: {_why_nothing(watcher)}")


def run_script(
    path: str, directory: str, around: contextlib.AbstractContextManager[None], arguments: Sequence[str] = ()
) -> bool:
    """Run the file as `__main__` in a copy of `directory` within `around`; return True if it was stopped.

    Raises:
        MigrateError: the program fails.
        TrainsEagerly: as `run_watched`.
    """
    file = str(Path(path).resolve())
    _seed_what_is_not()
    sys.argv, sys.path[:0] = [file, *arguments], [str(Path(file).parent), directory]
    mirror.enter(directory)
    if _means_v1(file):
        tf.compat.v1.disable_v2_behavior()
        sys.modules["tensorflow"] = tf.compat.v1
    try:
        with around, _own_model_directories():
            runpy.run_path(file, run_name="__main__")
    except TrainsEagerly:
        raise
    except Stop:
        return True
    except SystemExit:
        pass
    except MigrateError:
        raise
    except Exception as error:
        raise MigrateError(
            f"{path}: running it fails with {type(error).__name__}: {_told(error)}; correct it"
        ) from error
    return False


def _seed_what_is_not() -> None:
    """Make random numbers without a seed the same in every run, so that two programs can be compared.

    NumPy calls `randbits` for entropy if no seed is given; a program that sets seeds is not affected.
    """
    random.seed(0)
    np.random.seed(0)
    drawn = random.Random(0)
    np.random.bit_generator.randbits = drawn.getrandbits  # type: ignore[attr-defined]


def _why_nothing(watcher: Watcher) -> str:
    if not watcher.applied:
        return (
            "no optimizer step was found in a v1 session, an Estimator or an eager Keras program; give a program that "
            "trains when it is run, not a module that only builds a model"
        )
    if not watcher.batches:
        return "a training step is built but never run; give a program that trains when it is run"
    return f"it stopped after {len(watcher.batches)} training steps; give --steps {len(watcher.batches)}"


def _told(error: Exception) -> str:
    """Return the beginning of what an error says on one line; Keras says on the first one only where it was."""
    text = " ".join(_COLOURS.sub("", str(error)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _means_v1(path: str) -> bool:
    tree = ast.parse(Path(path).read_bytes())
    plain = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "tensorflow"
    }
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in plain
        and node.attr in _ONLY_V1
        for node in ast.walk(tree)
    )


@contextlib.contextmanager
def _own_model_directories() -> Iterator[None]:
    """Redirect Estimators and MonitoredTrainingSessions to a temporary directory without checkpoints."""
    v1: Any = tf.compat.v1
    stock_session, estimator = v1.train.MonitoredTrainingSession, getattr(v1, "estimator", None)
    with tempfile.TemporaryDirectory() as scratch:  # in the worker's own

        def session(*arguments: Any, **named: Any) -> Any:
            return stock_session(*arguments, **{**named, "checkpoint_dir": None})

        v1.train.MonitoredTrainingSession = session
        stock_init: Any = estimator.Estimator.__init__ if estimator else None

        def init(self: Any, *arguments: Any, **named: Any) -> None:
            stock_init(self, *arguments, **named)
            self._model_dir = scratch
            self._config = self._config.replace(model_dir=scratch)

        if estimator:
            estimator.Estimator.__init__ = init
        try:
            yield
        finally:
            v1.train.MonitoredTrainingSession = stock_session
            if estimator:
                estimator.Estimator.__init__ = stock_init
