"""SavedModels that sessions write read rows while they serve, and train on as the program would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, adam
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1
Lookup = Callable[[runtime.Table, Any], Any]


def _sparse(ids: Any) -> Any:
    return tf.SparseTensor(tf.stack([tf.range(tf.size(ids, tf.int64)), tf.zeros_like(ids)], 1), ids, [100, 1])


_LOOKUPS: dict[str, Lookup] = {
    "plain": runtime.sparse_lookup,
    "grouped": lambda table, ids: sum(runtime.grouped_lookup([(table, ids), (make_table("other"), ids)])),
    "pooled": lambda table, ids: runtime.embedding_lookup_sparse(table, _sparse(ids), None, combiner="sum"),
    "pooled groups": lambda table, ids: sum(
        runtime.grouped_embedding_lookup_sparse(
            [(table, _sparse(ids), None), (make_table("other"), _sparse(ids), None)], combiner="sum"
        )
    ),
    "counted": lambda table, ids: runtime.sparse_lookup(table, ids, access_and_evict_config={"access_threshold": 2}),
    "in a branch": lambda table, ids: tf.cond(
        tf.size(ids) > 0, lambda: runtime.sparse_lookup(table, ids), lambda: tf.zeros([0, table.dim])
    ),
}


def _program(lookup: Lookup, optimizer: Any) -> tuple[Any, Any, Any, Any]:
    table, ids = make_table(), v1.placeholder(tf.int64, [None], name="ids")
    rows = tf.identity(lookup(table, ids), name="rows")
    train = tf.group(optimizer(0.1).minimize(tf.reduce_sum(rows * rows)), name="train")
    return ids, rows, train, tf.identity(table.size(), name="held_rows")


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("optimizer", [adagrad.create_hash_optimizer, adam.create_hash_optimizer])
@pytest.mark.parametrize("kind", _LOOKUPS)
def test_an_export_of_a_training_graph_gives_unseen_ids_no_rows_and_trains_on(
    kind: str, optimizer: Any, tmp_path: Path
) -> None:
    path, seen, more = str(tmp_path / "export"), {"ids:0": [1, 2]}, {"ids:0": [2, 7, 8]}
    ids, rows, _, _ = _program(_LOOKUPS[kind], optimizer)
    with session() as opened:
        for _ in range(3):
            opened.run("train", seen)
        v1.saved_model.simple_save(opened, path, {"ids": ids}, {"rows": rows})
        with tf.Graph().as_default(), v1.Session() as loaded:
            v1.saved_model.load(loaded, ["serve"], path)
            for _ in range(3):  # ids are not counted either, else those of a counting table were admitted
                served = loaded.run("rows:0", more)
            assert loaded.run("held_rows:0") == 2
            np.testing.assert_array_equal(opened.run("rows:0", seen), loaded.run("rows:0", seen))
            if kind != "counted":
                np.testing.assert_array_equal(opened.run("rows:0", more), served)
                for _ in range(3):
                    opened.run("train", more)
                    loaded.run("train", more)
                np.testing.assert_array_equal(opened.run("rows:0", more), loaded.run("rows:0", more))
                assert opened.run("held_rows:0") == loaded.run("held_rows:0") == 4
