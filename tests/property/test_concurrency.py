"""Threads that look up, update, snapshot and save one table at once see only what some moment held."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime.optimizers import gradient_descent

v1 = tf.compat.v1
DIM = 24
SECONDS = 0.7


def whole(rows: Any) -> np.ndarray:
    """Return the first column, after asserting that no row is torn."""
    assert (rows == rows[:, :1]).all(), rows[(rows != rows[:, :1]).any(axis=1)][:3]
    return np.asarray(rows[:, 0])


def together(*bodies: Callable[[], Any]) -> None:
    """Run each body again and again in a thread of its own; raise what one raised."""
    failures: list[BaseException] = []
    counts, end = [0] * len(bodies), time.monotonic() + SECONDS

    def repeat(number: int, body: Callable[[], Any]) -> None:
        try:
            while (time.monotonic() < end or not counts[number]) and not failures:
                body()
                counts[number] += 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=repeat, args=pair) for pair in enumerate(bodies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_a_snapshot_is_of_one_moment(tmp_path: Path) -> None:
    """Every update moves all rows alike, so the rows of a snapshot or a checkpoint are all equal."""
    keys = np.random.default_rng(1).permutation(20_000).astype(np.int64)
    ones, others = -np.ones((len(keys), DIM), np.float32), np.random.default_rng(2)
    with tf.Graph().as_default() as graph:
        table = runtime.create_table(tf.int64, DIM, "t", v1.zeros_initializer())
        ids, values = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, DIM])
        looked_up, snapshot = runtime.sparse_lookup(table, ids), table.snapshot()
        pair = (tf.IndexedSlices(values, ids), table.variable)
        updated = gradient_descent.create_hash_optimizer(1.0).apply_gradients([pair])
        saver, start = v1.train.Saver(), v1.global_variables_initializer()
    config = v1.ConfigProto(inter_op_parallelism_threads=4)

    def equal(found: np.ndarray, rows: Any) -> None:
        assert len(set(found.tolist())) == len(found)
        old = whole(rows)[np.isin(found, keys)]
        assert len(old) == len(keys)
        assert len(set(old.tolist())) == 1

    def saves() -> None:
        with graph.as_default():
            path = saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
        reader = tf.train.load_checkpoint(path)
        equal(reader.get_tensor("t-keys"), reader.get_tensor("t-values"))

    with v1.Session(graph=graph, config=config) as session:
        session.run(start)
        session.run(looked_up, {ids: keys})
        together(
            lambda: session.run(updated, {ids: keys, values: ones}),
            lambda: equal(*session.run(snapshot)[:2]),
            saves,
            lambda: whole(session.run(looked_up, {ids: others.integers(2**40, 2**41, 500)})),
        )
