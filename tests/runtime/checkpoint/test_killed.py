"""`kill -9` at any moment: the latest checkpoint that a reader is told of is whole and of one step."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tests.support.paths import ROOT
from tests.support.runtime import killed_saver

pytestmark = pytest.mark.one_version

v1 = tf.compat.v1
LIVES = 12


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Any]:
    """The process that forks savers; it ends with the test, and the saver that then lives with it."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, killed_saver.__file__]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    # A pipe that nobody reads fills, and who writes to it waits for ever.
    with (
        (tmp_path / "errors").open("w") as errors,
        subprocess.Popen(command, **pipes, stderr=errors, env=environment, start_new_session=True) as process,
    ):
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _one_life(parent: Any, directory: Path, life: int, saves: int, seconds: float) -> None:
    """Let a process save so often and live on for so long; then kill it."""
    index = directory / "increments" / "checkpoint"
    seen = index.stat().st_mtime_ns if index.exists() else 0
    parent.stdin.write(f"{directory} {life}\n")
    parent.stdin.flush()
    answer = parent.stdout.readline()
    assert answer, (directory / "errors").read_text()
    for _ in range(saves):
        began = time.monotonic()
        while not (index.exists() and index.stat().st_mtime_ns != seen):
            assert time.monotonic() < began + 60, "the process saves nothing"
            time.sleep(0.002)
        seen = index.stat().st_mtime_ns
    time.sleep(seconds)
    os.kill(int(answer), signal.SIGKILL)
    assert parent.stdout.readline() == "dead\n", (directory / "errors").read_text()


@pytest.mark.soak
def test_the_latest_checkpoint_is_whole_after_every_kill(parent: Any, graph: tf.Graph, tmp_path: Path) -> None:
    model, moments = killed_saver.Model(), random.Random(3)
    reached = []
    with v1.Session() as session:
        for life in range(LIVES):
            _one_life(parent, tmp_path, life, 1 + life % 4, moments.uniform(0, 0.05))
            latest = [tf.train.latest_checkpoint(str(tmp_path / part)) for part in ("plain", "increments")]
            model.plain.restore(session, latest[0])
            steps = [model.check(session)]
            model.incremental.restore(session, latest[1])
            steps.append(model.check(session))
            assert [path.rpartition("-")[2] for path in latest] == [str(step) for step in steps]
            reached.append(steps)
    assert len({tuple(steps) for steps in reached}) > 2  # the kills came at different moments
