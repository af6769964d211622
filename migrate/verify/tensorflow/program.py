"""Runs a training program as a script and watches it (runs in a TensorFlow process)."""

from __future__ import annotations

import contextlib
import importlib
import random
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
from migrate.verify.program_files import means_v1
from migrate.verify.tensorflow.failures import failure
from migrate.verify.tensorflow.interceptor import Stop, TrainsEagerly, Watcher, around, watching
from migrate.verify.tensorflow.process_setup import started


def run_watched(path: str, directory: str, watcher: Watcher, arguments: Sequence[str] = ()) -> None:
    """Run a program (`started`) in a copy of `directory` until the watcher stops it.

    Raises:
        MigrateError: the program fails, or ends without a training step.
        TrainsEagerly: it trains by Keras, not in a session.
    """
    try:
        run_script(path, directory, watching(watcher), arguments)
    except MigrateError:
        if watcher.ended is None:  # else it failed after it was stopped, because it was
            raise
    if watcher.ended is None:
        raise MigrateError(f"{path}: {_why_nothing(watcher)}")
    if not isinstance(watcher.ended, Stop):  # a program may catch even this, by a bare `except`
        raise failure(path, watcher.ended) from watcher.ended


def run_script(
    path: str, directory: str, around: contextlib.AbstractContextManager[None], arguments: Sequence[str] = ()
) -> bool:
    """Run a program (`started`) in a copy of `directory` within `around`; return True if it was stopped.

    Raises:
        MigrateError: the program fails.
        TrainsEagerly: as `run_watched`.
    """
    _seed_what_is_not()
    file, run = started(path, directory, arguments)
    if means_v1(file, Path(directory)):
        importlib.import_module("rewriter.installation")  # it needs TensorFlow itself by this name
        tf.compat.v1.disable_v2_behavior()
        sys.modules["tensorflow"] = tf.compat.v1
    try:
        with around, _own_model_directories():
            run()
    except TrainsEagerly:
        raise
    except Stop:
        return True
    except SystemExit as ended:
        if ended.code:
            raise failure(path, ended) from ended
    except MigrateError:
        raise
    except Exception as error:
        raise failure(path, error) from error
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


@contextlib.contextmanager
def _own_model_directories() -> Iterator[None]:
    """Redirect Estimators and MonitoredTrainingSessions to a temporary directory without checkpoints."""
    v1: Any = tf.compat.v1
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:  # in the worker's own

        def session(stock: Any, *arguments: Any, **named: Any) -> Any:
            return stock(*arguments, **{**named, "checkpoint_dir": None})

        def init(stock: Any, estimator: Any, *arguments: Any, **named: Any) -> None:
            stock(estimator, *arguments, **named)
            estimator._model_dir = scratch
            estimator._config = estimator._config.replace(model_dir=scratch)

        stack.enter_context(around(v1.train, "MonitoredTrainingSession", session))
        if hasattr(v1, "estimator"):
            stack.enter_context(around(v1.estimator.Estimator, "__init__", init))
        yield
