"""Threads that train one table with a base at once, against a dict in which each id begins as the row of its bucket."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import gradient_descent
from tests.support.runtime.tables import make_table

v1 = tf.compat.v1
BUCKETS, IDS, STEPS, THREADS, BATCH = 50, 3000, 1000, 4, 24
#: Whole numbers, and steps that do not depend on the rows: any order of them gives the same bits.
MATRIX = np.random.default_rng(1).integers(-40, 40, [BUCKETS, 4]).astype(np.float32)


@pytest.mark.parametrize("saves", [False, True], ids=["training alone", "beside saves"])
def test_a_thousand_steps_of_four_threads_are_those_of_a_dict(saves: bool, tmp_path: Path) -> None:
    drawn = np.random.default_rng(2)
    batches = drawn.integers(-IDS, IDS, [STEPS, BATCH]) * 7919 % (2**62)
    gradients = drawn.integers(-3, 4, [STEPS, BATCH, 1]).astype(np.float32)
    words = {int(one): MATRIX[one % BUCKETS].copy() for one in np.unique(batches)}
    for batch, gradient in zip(batches, gradients, strict=True):
        for one, change in zip(batch, gradient, strict=True):
            words[int(one)] -= change
    with tf.Graph().as_default(), v1.Session() as session:
        table = make_table(base_buckets=BUCKETS)
        ids, factors = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, 1])
        rows = runtime.sparse_lookup(table, ids)
        _, anchors = runtime.get_dense_and_sparse_variable([table])
        step = gradient_descent.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows * factors), var_list=anchors)
        begun, read = runtime.set_base(table, MATRIX), runtime.sparse_lookup(table, ids, is_train=False)
        saver = v1.train.Saver(max_to_keep=1)
        session.run(v1.global_variables_initializer())
        session.run(begun)
        failed: list[Any] = []

        def train(first: int) -> None:
            try:
                for number in range(first, STEPS, THREADS):
                    session.run(step, {ids: batches[number], factors: gradients[number]})
                    if saves and number % 100 == first:
                        with session.graph.as_default():
                            saver.save(session, str(tmp_path / f"of-{first}"), write_state=False)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=train, args=[first]) for first in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
        found = session.run(read, {ids: [*words]})
        np.testing.assert_array_equal(found, np.stack([*words.values()]))
        unseen = np.setdiff1d(np.arange(5000), np.array([*words]))[:200]
        np.testing.assert_array_equal(session.run(read, {ids: unseen}), MATRIX[unseen % BUCKETS])
        assert session.run(table.size()) == len(words) > STEPS
