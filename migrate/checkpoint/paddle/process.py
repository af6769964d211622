"""Builds a converted trainer in a process of its own, and fills or reads its checkpoint: `python -m … JOB RESULT`."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from rewriter.graph.reasons import reason_of
from runtime import nn
from runtime.nn.optimizer.scheduler import LRScheduler
from runtime.nn.optimizer.state import load_slots, read_slots

v1 = tf.compat.v1
_TRAINER, _CLASS, _CONFIG = "dygraph_model", "DygraphModel", "config.yaml"
_LOOSE = "unregistered_"


class _Refused(Exception):
    """What the user can correct."""


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was done, or of a checkpoint what is in it."""
    with tf.Graph().as_default(), v1.Session() as session:
        training = _built(job["folder"], job["data"])
        saver = v1.train.Saver()
        loose = [one.op.name for one in v1.global_variables() if one.op.name.startswith(_LOOSE)]
        try:
            result = (_read if "checkpoint" in job else _written)(job, training, saver, session, bool(loose))
        except ValueError as error:
            raise _Refused(f"{job['source']}: does not fit the trainer of {job['folder']}: {error}") from error
        return {**result, "loose": len(loose)}


def _built(folder: str, data: str) -> nn.Training:
    os.chdir(folder)
    sys.path.insert(0, folder)
    try:
        trainer = getattr(importlib.import_module(_TRAINER), _CLASS)()
        where = next(place for place in (folder, data) if (Path(place) / _CONFIG).is_file())
        return nn.Training(trainer, nn.settings(str(Path(where) / _CONFIG)), folder, data_folder=data)
    except StopIteration as error:
        raise _Refused(f"{folder}: has no {_CONFIG}; give the model's folder with --data") from error
    except FileNotFoundError as error:
        raise _Refused(
            f"{folder}: its trainer needs {error.filename}, which does not exist; give --data the folder to which "
            "the configuration's paths are relative"
        ) from error
    except Exception as error:
        raise _Refused(
            f"{folder}: its trainer cannot be built ({type(error).__name__}: {error}); give the folder that "
            "`migrate convert` wrote, and that of the data with --data"
        ) from error


def _written(job: Mapping[str, Any], training: nn.Training, saver: Any, session: Any, loose: bool) -> dict[str, Any]:
    """Write a checkpoint with the given values."""
    model, optimizer = training.model, training.optimizer
    session.run(v1.group(v1.global_variables_initializer(), v1.local_variables_initializer()))
    nn.load_weights(model, job["weights"], session)
    result: dict[str, Any] = {"weights": len(job["weights"]), "new": None}
    if job["slots"] is not None:
        if job["strange"] and not loose:
            raise ValueError(f"the model has no weight for `{job['strange'][0]}`: leave out what it does not have")
        result["new"] = load_slots(optimizer, model, _by_first_path(model, job["slots"]), session)
        _set_count(optimizer, job["count"], session)
    saver.save(session, job["target"], write_meta_graph=False, write_state=False)
    return result


def _by_first_path(model: Any, slots: Mapping[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """Return slots by the first path of each weight, which may have several."""
    first = {id(weight): path for path, weight in model.named_weights()}
    paths = {path: first[id(weight)] for path, weight in model.state_dict().items()}
    return {(paths.get(path, path), name): value for (path, name), value in slots.items()}


def _schedule(optimizer: Any) -> LRScheduler | None:
    rate = getattr(optimizer, "_learning_rate", None)
    return rate if isinstance(rate, LRScheduler) else None


def _set_count(optimizer: Any, count: int | None, session: Any) -> None:
    schedule = _schedule(optimizer)
    if count is not None and schedule is None:
        raise ValueError(
            "the file has a learning-rate schedule, but the trainer has a constant rate: give the trainer a schedule"
        )
    if count is not None and schedule is not None:
        session.run(schedule.step(count))


def _read(job: Mapping[str, Any], training: nn.Training, saver: Any, session: Any, loose: bool) -> dict[str, Any]:
    """Read a checkpoint."""
    del loose
    model, optimizer = training.model, training.optimizer
    schedule = _schedule(optimizer)
    rate = None if schedule is None else schedule.value()
    try:
        saver.restore(session, job["checkpoint"])
    except (tf.errors.OpError, ValueError) as error:
        raise ValueError(f"{reason_of(error)}; give a checkpoint that this trainer wrote") from error
    slots = read_slots(optimizer, model, session)
    first = {id(weight): path for path, weight in model.named_weights()}
    return {
        "weights": nn.read_weights(model, session),
        "first": {path: first[id(weight)] for path, weight in model.state_dict().items()},
        "slots": slots,
        "schedule": None if schedule is None else session.run((schedule.last_epoch, rate)),
    }


def main(job: str, result: str) -> None:
    """Run a job that another process pickled, and pickle what comes of it."""
    try:
        state = run(pickle.loads(Path(job).read_bytes()))
    except _Refused as error:
        state = {"error": " ".join(str(error).split())}
    Path(result).write_bytes(pickle.dumps(state))


if __name__ == "__main__":
    main(*sys.argv[1:3])
