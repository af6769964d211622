"""A process that keeps the tiers of a table busy until it is killed: `tier_worker.py PHASE KIND FOLDER CHECKPOINTS`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

import runtime
from runtime.storage import Storage

ROWS = 4000


def main(phase: str, kind: str, folder: str, checkpoints: str) -> None:
    """Say `busy` once the phase has happened, and go on with it."""
    sizes = [20_000, 40_000] if kind.count("_") == 2 else [20_000]
    initializer = tf.compat.v1.zeros_initializer()
    table = runtime.create_table(tf.int64, 4, "worker", initializer, storage=Storage(kind, path=folder, sizes=sizes))
    checkpoint = tf.train.Checkpoint(table=table)
    for step in range(1, 1_000_000):
        first = step * ROWS if phase == "demotion" and step < 100 else 0
        table.import_rows(np.arange(first, first + ROWS), np.full([ROWS, 4], step, np.float32))
        table.drain()
        if phase == "checkpoint":
            checkpoint.save(str(Path(checkpoints) / "model"))
        if step == 3:
            print("busy", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
