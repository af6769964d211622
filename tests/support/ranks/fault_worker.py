"""One rank that trains until something happens to the last rank, `fault_worker.py OUT TIMEOUT [STEP:FAULT]...`.

FAULT strikes between the exchange of rows and that of gradients: `kill` (SIGKILL), `pause` (suspended for a second),
`suspend` (for good), `late` (busy elsewhere for good), `cut` (its connections are lost). `killed_inside` is a SIGKILL
half a second later, when it is in the exchange of gradients, to which the others come after a second and a half. Writes
OUT-<step> every second step.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import adagrad
from runtime.ranks import checkpoint
from tests.support.ranks.rank_worker import KEYS, batches, first_rows, share

STEPS = 8


def _pause() -> None:
    subprocess.Popen(["sh", "-c", f"sleep 1; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)


def _cut() -> None:
    for number in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(number.name))) as one:
            if one.family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
                one.shutdown(socket.SHUT_RDWR)


def _kill_inside() -> None:
    if ranks.rank() == ranks.size() - 1:
        subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -9 {os.getpid()}"])
    else:
        time.sleep(1.5)


_FAULTS: dict[str, Any] = {
    "killed_inside": _kill_inside,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "pause": _pause,
    "suspend": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "late": lambda: time.sleep(300),
    "cut": _cut,
}


def train(out: str, faults: dict[int, str], restored: int = 0) -> np.ndarray:
    """Train from the checkpoint of the step `restored` on; return the rows of all keys."""
    table = runtime.create_table(tf.int64, 4, "user", tf.compat.v1.zeros_initializer(), base_buckets=KEYS)
    if not restored:
        runtime.set_base(table, first_rows("plain"))
    optimizer = adagrad.create_hash_optimizer(0.05, 0.1)
    done = tf.Variable(0, dtype=tf.int64)

    def strike(gradient: np.ndarray) -> np.ndarray:
        _FAULTS.get(faults.get(int(done), ""), lambda: None)()
        return gradient

    @tf.custom_gradient
    def midway(rows: tf.Tensor) -> tuple[tf.Tensor, Any]:
        return (
            rows,
            lambda gradient: (
                tf.ensure_shape(tf.numpy_function(strike, [gradient], tf.float32), gradient.shape)
                if faults
                else gradient
            ),
        )

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.int64)])
    def step(ids: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(midway(runtime.sparse_lookup(table, ids)) ** 2)
        optimizer.apply_gradients(
            ranks.reduced_gradients([(tape.gradient(loss, table.variable), table.variable)], "sum")
        )

    kept = tf.train.Checkpoint(table=table, done=done)
    if restored:
        checkpoint.restore(kept, f"{out}-{restored}")
    for batch in batches(STEPS)[int(done) :]:
        step(tf.constant(share(batch, ranks.rank(), ranks.size())["ids"]))
        done.assign_add(1)
        if int(done) % 2 == 0:
            checkpoint.save(kept, f"{out}-{int(done)}")
    return np.asarray(runtime.sparse_lookup(table, tf.range(KEYS, dtype=tf.int64)))


def stock() -> np.ndarray:
    """The rows that one process of stock TensorFlow has after all steps."""
    table, optimizer = tf.Variable(first_rows("plain")), tf.compat.v1.train.AdagradOptimizer(0.05)
    for batch in batches(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, batch["ids"]) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, table), table)])
    return np.asarray(table)


if __name__ == "__main__":
    engine = ranks.start(timeout_seconds=float(sys.argv[2]))
    given = dict(one.split(":") for one in sys.argv[3:])
    concerned = {int(at): fault for at, fault in given.items() if engine.rank == engine.size - 1 or "inside" in fault}
    train(sys.argv[1], concerned)
    Path(f"{sys.argv[1]}.reached-{engine.rank}").touch()
