"""Runs a program and records the numbers that its steps give; started as a script, in the program's own folder."""

from __future__ import annotations

import importlib
import json
import os
import random
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.public_programs.stand_ins import old_names

_SEED = 7


class _Enough(SystemExit):
    """Ends a program that has made its steps."""


class _Recorder:
    """Keeps the numbers of runs."""

    def __init__(self, steps: int, nudge: bool, arrays: bool) -> None:
        self.values: list[list[float]] = []
        self._steps, self._nudge, self._arrays = steps, nudge, arrays

    def add(self, result: Any) -> None:
        """Keep the numbers of a run, and end the program after enough of them."""
        numbers = [float(np.mean(one)) for one in _flat(result) if _is_number(one, self._arrays)]
        if numbers:
            self.values.append(numbers)
        if len(self.values) >= self._steps:
            raise _Enough(0)

    def watch_sessions(self) -> None:
        """Record each run of each session."""
        from tensorflow.python.client import session as sessions

        original = sessions.BaseSession.run

        def run(session: Any, fetches: Any, feed_dict: Any = None, *more: Any, **options: Any) -> Any:
            if (self._nudge and self.values == [] and feed_dict is not None) or (
                self._nudge and session.graph.finalized
            ):
                self._nudge = not _nudged(session, original)
            result = original(session, fetches, feed_dict, *more, **options)
            self.add(result)
            return result

        sessions.BaseSession.run = run

    def watch_fits(self, keras: Any) -> None:
        """Record the loss of each batch of each `fit`."""
        original = keras.Model.fit
        record = self

        class Watch(keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                record.add((logs or {}).get("loss"))

        def fit(model: Any, *given: Any, **named: Any) -> Any:
            named["callbacks"] = [*(named.get("callbacks") or ()), Watch()]
            return original(model, *given, **named)

        keras.Model.fit = fit


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [one for part in value.values() for one in _flat(part)]
    return [one for part in value for one in _flat(part)] if isinstance(value, list | tuple) else [value]


def _is_number(value: Any, arrays: bool) -> bool:
    if isinstance(value, np.ndarray):
        return (value.size == 1 or (arrays and value.size > 0)) and value.dtype.kind == "f"
    return isinstance(value, float | np.floating)


def _nudged(session: Any, run: Any) -> bool:
    """Move each trained variable by one bit, and return whether there were any."""
    drawn = np.random.RandomState(_SEED)
    done = False
    for variable in session.graph.get_collection("trainable_variables"):
        try:
            value = run(session, variable)
        except tf.errors.FailedPreconditionError:
            continue
        if value.dtype.kind == "f":
            variable.load(np.nextafter(value, value + drawn.choice([-1, 1], value.shape).astype(value.dtype)), session)
            done = True
    return done


def main(settings: dict[str, Any]) -> None:
    """Run the program of the settings, and write what it gave."""
    random.seed(_SEED)
    np.random.seed(_SEED)
    recorder = _Recorder(settings["steps"], settings.get("nudge", False), settings["arrays"])
    old_names.of_python()
    if settings["tf2"]:
        tf.keras.utils.set_random_seed(_SEED)
    else:
        if "rewriter" in sys.modules or settings.get("converted"):  # it needs TensorFlow itself
            importlib.import_module("rewriter.installation")
        old_names.of_tensorflow(_SEED)
        recorder.watch_sessions()
    recorder.watch_fits(tf.keras)
    sys.argv = list(settings["command"])
    sys.path[0] = str(Path.cwd())
    error = ""
    try:
        if sys.argv[0] == "-m":
            del sys.argv[0]
            sys.modules.pop(sys.argv[0].split(".")[0], None)  # Python has modules of such names: `code`
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        error = "" if not end.code else f"exit code {end.code}"
    except BaseException as failed:
        traceback.print_exc()
        error = f"{type(failed).__name__}: {failed}"[:500]
    if len(recorder.values) >= settings["steps"]:  # programs catch what ends them
        error = ""
    result: dict[str, Any] = {"values": recorder.values, "error": error}
    if "rewriter" in sys.modules:
        installed = sys.modules["rewriter"].install()
        result["tables"] = sorted(installed.tables)
        result["stay"] = {name: _reason(refusal) for name, refusal in installed.stay.items()}
    Path(settings["out"]).write_text(json.dumps(result))
    _end_children()


def _reason(refusal: Any) -> str:
    return str(refusal.reason)


def _end_children() -> None:
    import multiprocessing

    for child in multiprocessing.active_children():
        child.terminate()
    sys.stdout.flush()


if __name__ == "__main__":
    main(json.loads(os.environ["PUBLIC_PROGRAM"]))
