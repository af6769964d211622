"""A process that trains and saves until it is killed; TensorFlow is imported once, each life is a fork.

Reads lines `directory life` on stdin; answers each with the pid of a fork that saves with a plain Saver below
`directory`/plain and an IncrementalSaver below `directory`/increments, step after step.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys

v1 = tf.compat.v1
ROWS, DIM, TURNS = 5000, 16, 5
BUCKETS = 500
ADDED = 10**6


class Model:
    """A table with a base, and a step counter.

    At step s the keys and buckets k with k % 5 == s % 5 get the value s, and key ADDED + s comes.
    """

    def __init__(self) -> None:
        self.table = runtime.create_table(tf.int64, DIM, "user", v1.zeros_initializer(), base_buckets=BUCKETS)
        self.step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer())
        self.keys = v1.placeholder(tf.int64, [None])
        values = tf.fill([tf.size(self.keys), DIM], tf.cast(self.step, tf.float32))
        self.write = self.table.import_rows(self.keys, values)
        self.next = self.step.assign_add(1)
        self.rows = self.table.snapshot()
        self.plain = v1.train.Saver(max_to_keep=3)
        self.incremental = runtime.checkpoint.IncrementalSaver(full_every=4, max_to_keep=3)

    def advance(self, session: Any) -> int:
        """Do one step; return its number."""
        step = int(session.run(self.next))
        buckets = range(FIRST_BASE_KEY + step % TURNS, FIRST_BASE_KEY + BUCKETS, TURNS)
        session.run(self.write, {self.keys: [*range(step % TURNS, ROWS, TURNS), ADDED + step, *buckets]})
        return step

    def check(self, session: Any) -> int:
        """Assert that all rows are those of one step, and return it."""
        step, (keys, values, _, _) = session.run([self.step, self.rows])
        numbers = np.where(are_base_keys(keys), keys - FIRST_BASE_KEY, keys)
        wanted = np.where(keys >= ADDED, keys - ADDED, step - (step - numbers) % TURNS)
        assert len(np.unique(keys)) == len(keys) == step + (ROWS + BUCKETS) // TURNS * min(step, TURNS)
        np.testing.assert_array_equal(values, np.broadcast_to(wanted[:, None], values.shape))
        return int(step)


def _live(directory: Path, life: int) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model()
        session.run(v1.global_variables_initializer())
        latest = tf.train.latest_checkpoint(str(directory / "plain"))
        if latest:
            model.plain.restore(session, latest)
            if life % 2:  # back to an older step: the increments of the same names are written again
                model.incremental.restore(session, model_path(directory / "increments"))
        while True:
            step = model.advance(session)
            model.plain.save(session, str(directory / "plain" / f"life{life}"), step)
            model.incremental.save(session, str(directory / "increments" / "model"), step)


def model_path(directory: Path) -> str:
    """Return the oldest restorable checkpoint of `directory`."""
    return str(tf.train.get_checkpoint_state(str(directory)).all_model_checkpoint_paths[0])


if __name__ == "__main__":
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork copies one thread only"
    for line in sys.stdin:
        place, number = line.split()
        pid = os.fork()
        if pid == 0:
            _live(Path(place), int(number))
        print(pid, flush=True)
        os.waitpid(pid, 0)
        print("dead", flush=True)
