"""The documented programs as several ranks, over each engine: the numbers of stock TensorFlow in one process.

A selection of what `make matrix` runs: over Horovod in v1 graphs, over TensorFlow's collectives in a tf.function.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.support.compat import sok_layers_worker
from tests.support.compat.sok_layers_worker import Case


def compare(engine: str, mode: str, ranks: int, cases: Sequence[Case], folder: Path) -> float:
    """Run cases; return the largest difference of losses, rows and dense layers, as a part of the largest value."""
    program = [sok_layers_worker.__file__, mode, str(folder), *map(sok_layers_worker.name_of, cases)]
    command = [sys.executable, "-m", "runtime.compat.sok", "-n", str(ranks), "--engine", engine, *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
    worst = 0.0
    for rank in range(ranks):
        found = np.load(folder / f"{rank}.npz")
        assert str(found["engine"]) == engine
        for case in cases:
            for name, want in sok_layers_worker.train_stock(case).items():
                got = found[f"{sok_layers_worker.name_of(case)}-{name}"]
                assert got.shape == want.shape
                difference = float(np.abs(got - want).max() / np.abs(want).max())
                assert difference <= 1e-5, f"{engine}, {mode}, {ranks} ranks, {case}, {name}: {difference}"
                worst = max(worst, difference)
    return worst


def test_ranks_train_as_one_process(tmp_path: Path) -> None:
    """Horovod connects the ranks where it is installed, as CI has it for TensorFlow 2.15."""
    engine, mode, ranks = ("collectives", "function", 2)
    if importlib.util.find_spec("horovod") is not None:
        engine, mode, ranks = ("horovod", "session", 3)
    compare(engine, mode, ranks, sok_layers_worker.selected(mode), tmp_path)
