"""Ranks that are killed while they save tables with a base: what is whole has the rows of one moment, all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.ranks import checkpoint
from tests.support import forking
from tests.support.ranks import base_worker, thread_ranks

pytestmark = pytest.mark.one_version


def _moment(path: str) -> float:
    """Return the moment that all rows of a checkpoint are of, as three ranks restore it."""

    def restored() -> Any:
        table = base_worker.make_table()
        checkpoint.restore(tf.train.Checkpoint(table=table), path)
        assert int(table.size()) in (len(base_worker.IDS) // 3, len(base_worker.IDS) // 3 + 1)
        ids = np.concatenate([base_worker.IDS, np.arange(base_worker.BUCKETS), [-7, 2**62]])
        return np.unique(runtime.sparse_lookup(table, ids, is_train=False))

    found = thread_ranks.run(3, restored)[0]
    assert len(found[0]) == 1, found[0]
    for one in found:
        np.testing.assert_array_equal(one, found[0])
    return float(found[0][0])


@pytest.mark.parametrize(
    "delay", [0.0, *(pytest.param(0.013 * number, marks=pytest.mark.soak) for number in range(1, 12))]
)
def test_no_row_is_of_another_moment(delay: float, tmp_path: Path) -> None:
    worker = subprocess.Popen(
        [forking.python(), base_worker.__file__, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert worker.stdout is not None
        process = int(worker.stdout.readline())
        time.sleep(delay)
        os.kill(process, signal.SIGKILL)  # not what the pipe is of, which only has it forked
        assert worker.wait(60) == -signal.SIGKILL
    finally:
        worker.kill()
        worker.communicate()
    latest = checkpoint.latest(str(tmp_path))
    assert latest is not None and _moment(latest) >= 3
    for name in ("saved-0", "saved-1"):
        path = str(tmp_path / name)
        if path != latest:
            try:
                assert 0 < _moment(path) < _moment(latest)
            except runtime.ranks.RanksError as error:
                assert "there is no complete checkpoint" in str(error)
