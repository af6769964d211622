"""The model that tasks of clusters train: two tables, one of them pooled, and the sum of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

import runtime

v1 = tf.compat.v1
#: Ids are below this number, and a batch has so many samples.
KEYS, BATCH = 40, 24


def batches(count: int, seed: int = 3) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return ids [BATCH, 3] and labels [BATCH] of each step; each half of a batch has the same ids in another order."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        half = draw.integers(0, KEYS, [BATCH // 2, 3])
        ids = np.stack([half, draw.permuted(half, axis=0)], 1).reshape(-1, 3)
        found.append((ids, (ids.sum(1) % 2).astype(np.float32)))
    return found


def build() -> tuple[list[Any], list[tf.Tensor], tf.Tensor]:
    """Return the tables, the placeholders of ids [n, 3] and labels [n], and the mean loss."""
    normal = v1.random_normal_initializer(stddev=0.1)
    tables = [runtime.create_table(tf.int64, 4, name, normal) for name in ("user", "item")]
    ids, labels = v1.placeholder(tf.int64, [None, 3]), v1.placeholder(tf.float32, [None])
    user = runtime.sparse_lookup(tables[0], ids[:, 0])
    item = runtime.embedding_lookup_sparse(tables[1], tf.RaggedTensor.from_tensor(ids[:, 1:]), combiner="sum")
    scores = tf.reduce_sum(user * item, 1) + tf.reduce_sum(user, 1)
    return tables, [ids, labels], tf.reduce_mean((scores - labels) ** 2)


def rows_of(tables: list[Any]) -> list[tf.Tensor]:
    """Return the rows of all ids of each table."""
    return [runtime.sparse_lookup(table, tf.range(KEYS, dtype=tf.int64), is_train=False) for table in tables]
