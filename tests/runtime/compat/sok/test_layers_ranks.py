"""The documented programs as several ranks, over each engine: the numbers of stock TensorFlow in one process.

A selection of what `make soak PARTS=sok` runs: over Horovod in v1 graphs, over TensorFlow's collectives in functions.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests.support.compat import sok_layers_worker
from tests.support.compat.sok_runs import compare


def test_ranks_train_as_one_process(tmp_path: Path) -> None:
    """Horovod connects the ranks where it is installed, as CI has it for TensorFlow 2.15."""
    engine, mode, ranks = ("collectives", "function", 2)
    if importlib.util.find_spec("horovod") is not None:
        engine, mode, ranks = ("horovod", "session", 2)
    compare(engine, mode, ranks, sok_layers_worker.selected(), tmp_path)
