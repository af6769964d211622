"""Clusters of real processes, with tables on parameter servers, train as one process does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support import forking, programs
from tests.support.clusters import alone, estimator_worker, losses, session_worker

v1 = tf.compat.v1


def _launched(
    out: Path, *arguments: Any, flags: tuple[Any, ...] = (), worker: Any = session_worker
) -> list[np.ndarray]:
    """Run a cluster; return the rows of each table, if its chief wrote any."""
    done = _run(out, *arguments, flags=flags, worker=worker)
    assert done.returncode == 0, done.stderr[-6000:]
    found = out / "rows.npz"
    return [np.load(found)[f"arr_{i}"] for i in range(2)] if found.exists() else []


def _run(
    out: Path, *arguments: Any, flags: tuple[Any, ...] = (), worker: Any = session_worker
) -> subprocess.CompletedProcess[str]:
    command = [forking.python(), "-m", "runtime.launch", "--grace", "1", *flags, worker.__file__, out, *arguments]
    return programs.run([*map(str, command)], 200)


def _alone(out: Path, steps: int, rule: str) -> list[np.ndarray]:
    """Return the rows that one process has after training."""
    done = forking.run(alone.__file__, out, str(steps), rule)
    assert done.returncode == 0, done.stderr[-6000:]
    rows = np.load(out / "alone.npz")
    return [rows[f"arr_{i}"] for i in range(2)]


def _assert_equal(found: list[np.ndarray], wanted: list[np.ndarray], tolerance: float = 0.0) -> None:
    assert len(found) == len(wanted)
    for own, other in zip(found, wanted, strict=True):
        assert np.abs(own - other).max() <= tolerance * np.abs(other).max()


def test_a_worker_has_the_bits_of_one_process_and_goes_on_with_another_number_of_servers(tmp_path: Path) -> None:
    found = _launched(tmp_path, 20, "adam", "async", flags=("--ps", 2))
    _assert_equal(found, _alone(tmp_path, 20, "adam"))
    found = _launched(tmp_path, 30, "adam", "async", flags=("--ps", 1))
    # Rows that were saved have made up for their steps sooner, so that the last bit may differ.
    _assert_equal(found, _alone(tmp_path, 30, "adam"), 1e-6)
    names = dict(tf.train.list_variables(v1.train.latest_checkpoint(str(tmp_path / "model"))))
    assert names["user-keys"] == [40]


@pytest.mark.parametrize("rule", ["adagrad", "adam"])
@pytest.mark.one_case
def test_synchronized_workers_train_as_one_process_on_the_joined_batches(rule: str, tmp_path: Path) -> None:
    found = _launched(tmp_path, 50, rule, "sync", flags=("--ps", 2, "--workers", 2))
    _assert_equal(found, _alone(tmp_path, 50, rule), 1e-5)


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator since 2.16")
def test_an_estimator_trains_and_evaluates_in_all_kinds_of_tasks(tmp_path: Path) -> None:
    flags = ("--ps", 2, "--workers", 1, "--chief", "--evaluator")
    _launched(tmp_path, 20, flags=flags, worker=estimator_worker)
    found = json.loads((tmp_path / "evaluated.json").read_text())
    assert found["step"] >= 20
    assert 0 < found["loss"] < 0.45
    assert len(set(found["scores"])) == 40


@pytest.mark.parametrize("task", ["ps:1", "worker:1", "worker:0"])
@pytest.mark.one_case
def test_a_job_goes_on_where_a_task_is_killed(task: str, tmp_path: Path) -> None:
    done = _run(tmp_path, 40, "adagrad", "async", f"kill:{task}:25", flags=("--ps", 2, "--workers", 2, "--restarts", 3))
    assert done.returncode == 0, done.stderr[-6000:]
    name = task.replace(":", " ")
    assert f"runtime.launch: {name} was killed by SIGKILL" in done.stderr
    assert f"runtime.launch: {name} is started again" in done.stderr
    assert losses.of_all_batches(tmp_path, 40) < 0.4
