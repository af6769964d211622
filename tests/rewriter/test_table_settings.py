"""Tables whose rows begin on demand, are limited, on disk or admitted late, in the place of variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from runtime import status

v1 = tf.compat.v1


def _losses(settings: dict[str, Any] | None, batches: list[list[int]], rows: int = 50) -> tuple[list[float], int]:
    """Train a model on the batches; return its losses, and the number of rows of its table."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(3)
        ids = v1.placeholder(tf.int64, [None])
        table = v1.get_variable("table", [rows, 4], use_resource=False, initializer=v1.random_normal_initializer())
        loss = tf.reduce_mean((tf.nn.embedding_lookup(table, ids) - 1) ** 2)
        step = v1.train.AdamOptimizer(0.1).minimize(loss)
        begin = v1.global_variables_initializer()
        if settings is not None:
            rewriter.rewrite(graph, settings=settings)
        with v1.Session() as session:
            session.run(begin)
            losses = [float(session.run([loss, step], {ids: batch})[0]) for batch in batches]
            return losses, sum(one.rows for one in status().tables if one.name == "table")


BATCHES = [[1, 2, 3], [1, 2, 9], [1, 30, 3], [2, 9, 1]] * 3


def test_rows_on_disk_train_as_in_memory(tmp_path: Path) -> None:
    stock, _ = _losses(None, BATCHES, 3000)
    on_disk, rows = _losses({"*": {"disk": str(tmp_path), "memory_bytes": 4096}}, BATCHES, 3000)
    assert rows == 3000
    np.testing.assert_allclose(on_disk, stock, rtol=1e-6)


def test_rows_on_demand_are_those_that_are_used() -> None:
    losses, rows = _losses({"tab*": {"first_rows": "on demand"}}, BATCHES)
    assert rows == 5  # 1, 2, 3, 9, 30
    assert losses[-1] < losses[0]


def test_an_id_reads_zeros_until_it_is_admitted() -> None:
    losses, rows = _losses({"table": {"admit_after": 100}}, BATCHES)
    assert rows == 0
    assert losses == [1.0] * len(losses)


def test_a_limit_ends_the_run_or_evicts() -> None:
    batches = [list(range(start, start + 40)) for start in range(0, 4000, 40)]
    with pytest.raises(tf.errors.ResourceExhaustedError, match="table"):
        _losses({"table": {"max_bytes": 30_000}}, batches, 4000)
    _, rows = _losses({"table": {"max_bytes": 30_000, "when_full": "evict"}}, batches, 4000)
    assert 40 <= rows < 1000


def test_rows_of_a_given_matrix_do_not_begin_on_demand() -> None:
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int64, [None])
        table = v1.get_variable("table", initializer=np.arange(12.0, dtype=np.float32).reshape(3, 4))
        loss = tf.reduce_mean(tf.nn.embedding_lookup(table, ids))
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with pytest.raises(ValueError, match="rows of `table` cannot begin on demand, because"):
            rewriter.rewrite(graph, settings={"table": {"first_rows": "on demand"}})


def test_a_proof_needs_a_table_that_trains_as_the_variable() -> None:
    with pytest.raises(ValueError, match="settings of `a`: with values: float16 training differs"):
        rewriter.GraphModifierHook(verify=3, settings={"a": {"values": "float16"}})
    with pytest.raises(ValueError, match="must be a dict of names"):
        rewriter.rewrite(tf.Graph(), settings=["a"])  # type: ignore[arg-type]


def test_a_layer_of_keras_takes_settings_with_all_rows(tmp_path: Path) -> None:
    keras = tf.keras
    disk = {"disk": str(tmp_path), "memory_bytes": 4096}
    installed = rewriter.install(settings={"on_disk*": disk, "late*": {"admit_after": 2}})
    try:
        for name in ("on_disk", "late"):
            keras.layers.Embedding(3000, 4, name=name)(tf.zeros([1, 2], tf.int64))
    finally:
        installed.remove()
    assert [name for name in installed.tables if "on_disk" in name]
    (stays,) = installed.stay.values()
    assert "late" in stays.table and "its settings let them begin on demand" in stays.reason
