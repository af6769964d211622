"""Something happens to one rank: the others stop within the timeout and say which it was, and training goes on."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from runtime import launch
from runtime.ranks.checkpoint import latest
from tests.support import forking, programs
from tests.support.paths import ROOT
from tests.support.ranks import fault_worker

_LAUNCHER = ROOT / "runtime" / "launch.py"
_TIMEOUT = 12

_horovod = pytest.mark.skipif(
    importlib.util.find_spec("horovod") is None, reason="Horovod is not installed: `make horovod` builds it"
)
_engines = pytest.mark.parametrize(
    "engine", ["local", "collectives", pytest.param("horovod", marks=[_horovod, pytest.mark.soak])]
)


def _launched(engine: str, out: Path, *faults: str) -> subprocess.CompletedProcess[str]:
    """Run two ranks, which must end by the timeout and what it takes to begin."""
    program = [fault_worker.__file__, str(out), str(_TIMEOUT), *faults]
    # The launcher sees the state of what it starts, which a fork of another process is not.
    python = sys.executable if any(fault.endswith("suspend") for fault in faults) else forking.python()
    command = [python, str(_LAUNCHER), "-n", "2", "--engine", engine, "--grace", "2", *program]
    begun = time.monotonic()
    done = programs.run(command)
    assert time.monotonic() - begun < 120
    assert not list(out.parent.glob("*.reached-*"))
    return done


def _assert_goes_on(out: Path, step: int) -> None:
    """Check that one process, going on from the newest whole checkpoint, comes to what stock TensorFlow has."""
    assert latest(str(out.parent)) == f"{out}-{step}"
    want = fault_worker.stock()
    assert np.abs(fault_worker.train(str(out), {}, step) - want).max() <= 1e-5 * np.abs(want).max()


@_engines
@pytest.mark.one_case
@pytest.mark.soak
def test_a_rank_that_is_paused_for_less_than_the_timeout_and_then_killed(engine: str, tmp_path: Path) -> None:
    done = _launched(engine, tmp_path / "run", "1:pause", "5:kill")
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    assert "runtime.launch: rank 1 was killed by SIGKILL" in done.stderr
    _assert_goes_on(tmp_path / "run", 4)


@pytest.mark.soak
@pytest.mark.one_version
@_engines
def test_a_rank_that_is_suspended_for_longer_is_named(engine: str, tmp_path: Path) -> None:
    done = _launched(engine, tmp_path / "run", "3:suspend")
    assert done.returncode == 1, done.stderr
    assert "runtime.ranks: rank 1 does not answer rank 0" in done.stderr
    if engine != "horovod":
        assert f"rank 0 waited for longer than {_TIMEOUT} s in an exchange for rank 1, which does not" in done.stderr
    assert "runtime.launch: rank 1 was suspended, as by SIGSTOP" in done.stderr
    _assert_goes_on(tmp_path / "run", 2)


@pytest.mark.soak
@pytest.mark.one_version
@_engines
def test_lost_connections_end_both_ranks(engine: str, tmp_path: Path) -> None:
    done = _launched(engine, tmp_path / "run", "3:cut")
    assert done.returncode == 1, done.stderr
    _assert_goes_on(tmp_path / "run", 2)


@pytest.mark.soak
@pytest.mark.one_version
@_horovod
def test_horovod_names_a_rank_that_runs_and_is_late(tmp_path: Path) -> None:
    done = _launched("horovod", tmp_path / "run", "3:late")
    assert done.returncode == 1, done.stderr
    assert "Missing ranks:\n[0] 1!: [recmigrate_rows_step_" in done.stderr
    _assert_goes_on(tmp_path / "run", 2)


@pytest.mark.parametrize("engine", ["local", "collectives"])
@pytest.mark.one_version
@pytest.mark.one_case
def test_a_survivor_without_a_launcher_names_the_rank_that_was_killed_in_an_exchange(
    engine: str, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    workers = [f"127.0.0.1:{port}" for port in launch._free_ports(2)]
    errors = [tmp_path / f"errors-{rank}" for rank in range(2)]
    running = []
    for rank, own in enumerate(errors):
        config = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})
        environment = {**os.environ, "TF_CONFIG": config, "RECMIGRATE_RANKS": engine}
        command = [forking.python(), fault_worker.__file__, str(out), str(_TIMEOUT), "5:killed_inside"]
        with own.open("w") as file:
            running.append(subprocess.Popen(command, stderr=file, env=environment))
    try:
        assert running[1].wait(120) == -signal.SIGKILL, errors[1].read_text()
        begun = time.monotonic()
        assert running[0].wait(120) == 1, errors[0].read_text()
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert time.monotonic() - begun < 5 * _TIMEOUT  # the timeout, and asking who is gone on a busy machine
    assert "runtime.ranks: rank 1 does not answer rank 0" in errors[0].read_text()
    if engine == "local":
        assert time.monotonic() - begun < _TIMEOUT  # the end of a process is seen at once
        assert "rank 0 cannot finish an exchange with rank 1, which does not answer: the pro" in errors[0].read_text()
    _assert_goes_on(out, 4)


@pytest.mark.soak
@pytest.mark.one_version
@pytest.mark.parametrize("engine", ["local", "collectives"])
def test_an_exchange_says_that_a_rank_is_late(engine: str, tmp_path: Path) -> None:
    done = _launched(engine, tmp_path / "run", "3:late")
    assert done.returncode == 1, done.stderr
    assert "runtime.ranks: all ranks run, so one took longer than `timeout_seconds`" in done.stderr
    _assert_goes_on(tmp_path / "run", 2)
