"""Two ranks that save tables with a base again and again until they are killed: `base_worker.py FOLDER`.

All rows of a moment, those of the base among them, have its number; the two names of checkpoints alternate.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime.ranks import checkpoint
from tests.support.ranks import thread_ranks

BUCKETS, IDS, DIM = 5000, np.arange(10_000, 12_000), 8


def make_table() -> Any:
    """Return the table of a rank."""
    return runtime.create_table(tf.int64, DIM, "user", tf.compat.v1.zeros_initializer(), base_buckets=BUCKETS)


def body(folder: str) -> None:
    """Save as one of the ranks, for ever; rank 0 says which process it is after the fourth time."""
    table = make_table()
    whole = tf.train.Checkpoint(table=table)
    for moment in range(1, 1_000_000):
        runtime.set_base(table, np.full([BUCKETS, DIM], moment, np.float32))
        table.import_rows(IDS, np.full([len(IDS), DIM], moment, np.float32))
        checkpoint.save(whole, f"{folder}/saved-{moment % 2}")
        if moment == 4 and runtime.ranks.rank() == 0:
            print(os.getpid(), flush=True)


if __name__ == "__main__":
    thread_ranks.run(2, lambda: body(sys.argv[1]))
