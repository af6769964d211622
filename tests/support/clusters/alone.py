"""What a cluster trains, in one process, `alone.py OUT STEPS RULE`: writes the rows of each table to OUT/alone.npz."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from runtime import optimizers
from tests.support.clusters.model import batches, build, rows_of

v1 = tf.compat.v1


def main(out: Path, steps: int, rule: str) -> None:
    """Train."""
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(5)
        tables, feeds, loss = build()
        train = getattr(optimizers, rule).create_hash_optimizer(0.05).minimize(loss)
        rows = rows_of(tables)
        session.run(v1.global_variables_initializer())
        for batch in batches(steps):
            session.run(train, dict(zip(feeds, batch, strict=True)))
        np.savez(out / "alone.npz", *session.run(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
