"""Tables that are cut by columns: what stock TensorFlow sees and trains, over threads as ranks and other numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import adagrad, adam, ftrl, gradient_descent
from runtime.ranks import checkpoint
from tests.support.ranks import thread_ranks

ROWS, DIM, PARTS, STEPS = 30, 6, 3, 3
FIRST = np.random.default_rng(0).normal(size=(ROWS, DIM)).astype(np.float32)
OURS: dict[str, Any] = {
    "sgd": gradient_descent.create_hash_optimizer,
    "adagrad": lambda rate: adagrad.create_hash_optimizer(rate, 0.1),
    "adam": adam.create_hash_optimizer,
}
STOCK: dict[str, Any] = {
    "sgd": tf.compat.v1.train.GradientDescentOptimizer,
    "adagrad": tf.compat.v1.train.AdagradOptimizer,
    "adam": tf.compat.v1.train.AdamOptimizer,
}


def _batch(rank: int, step: int) -> tuple[np.ndarray, tf.RaggedTensor]:
    random = np.random.default_rng(10 * step + rank)
    lengths = random.integers(0, 5, 4 + rank)
    return random.integers(0, ROWS, (3 + rank, 2)), tf.RaggedTensor.from_row_lengths(
        random.integers(0, ROWS, lengths.sum()), lengths
    )


def _loss(rows: tf.Tensor, bags: tf.Tensor) -> tf.Tensor:
    """No function of single columns: their product."""
    return tf.reduce_sum(tf.sin(tf.reduce_sum(rows, -1))) + tf.reduce_sum(tf.reduce_prod(1.0 + bags, -1))


def _by_stock(optimizer: str, sizes: list[int]) -> np.ndarray:
    """The rows after a step of so many ranks each."""
    variable, stock = tf.Variable(FIRST), STOCK[optimizer](0.05)
    for step, size in enumerate(sizes):
        with tf.GradientTape() as tape:
            losses = []
            for rank in range(size):
                ids, bags = _batch(rank, step)
                pooled = tf.nn.embedding_lookup_sparse(variable, bags.to_sparse(), None, "mean")
                losses.append(_loss(tf.gather(variable, ids), pooled))
            loss = tf.add_n(losses)
        stock.apply_gradients([(tape.gradient(loss, variable), variable)])
    return variable.numpy()


def _created(name: str = "cut", **more: Any) -> runtime.ColumnTable:
    return runtime.create_column_table(tf.int64, DIM, name, tf.zeros_initializer(), PARTS, **more)


def _trained(optimizer: str, first: int, last: int, prefix: str = "") -> np.ndarray:
    """The rows after these steps; goes on from a checkpoint unless the first is 0, and else writes it."""
    table, own = _created(), OURS[optimizer](0.05)
    kept = tf.train.Checkpoint(table=table, own=own)
    if first:
        checkpoint.restore(kept, prefix)
    else:
        table.import_rows(np.arange(ROWS), FIRST)
    for step in range(first, last):
        ids, bags = _batch(ranks.rank(), step)
        with tf.GradientTape() as tape:
            pooled = runtime.column_lookup_sparse(table, bags.to_sparse(), combiner="mean")
            loss = _loss(runtime.column_lookup(table, ids), pooled)
        own.apply_gradients(zip(tape.gradient(loss, table.variables), table.variables, strict=True))
    if prefix and not first:
        checkpoint.save(kept, prefix)
    return runtime.column_lookup(table, np.arange(ROWS), is_train=False).numpy()


def test_another_number_of_ranks_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    prefix = str(tmp_path / "step")
    thread_ranks.run(2, lambda: _trained("adam", 0, 2, prefix))
    want = _by_stock("adam", [2, 2, 3, 3])
    for got in thread_ranks.run(3, lambda: _trained("adam", 2, 4, prefix))[0]:
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def test_each_rank_holds_its_columns() -> None:
    def held() -> list[tuple[int, int]]:
        table = _created()
        runtime.column_lookup(table, np.arange(ROWS))
        return [(int(one.size()), one.dim) for one in table.tables]

    found, _ = thread_ranks.run(2, held)
    assert found == [[(ROWS, 2), (0, 2), (ROWS, 2)], [(0, 2), (ROWS, 2), (0, 2)]]


def test_rows_begin_by_the_law_of_the_whole() -> None:
    wide = runtime.create_column_table(
        tf.int64, 64, "glorot", tf.keras.initializers.GlorotUniform(seed=3), 4, device_vocabulary_size=1000
    )
    rows = runtime.column_lookup(wide, np.arange(1000)).numpy()
    limit = np.sqrt(6 / 1064)
    assert 0.99 * limit < np.abs(rows).max() <= limit
    assert np.abs(np.corrcoef(rows.T) - np.eye(64)).max() < 0.2  # no part repeats another
    blocks = runtime.column_blocks([(3, tf.ones_initializer()), (3, tf.constant_initializer(2.0))])
    cut = runtime.create_column_table(tf.int64, 6, "blocks", blocks, "columns:3")
    assert runtime.column_lookup(cut, [7]).numpy().tolist() == [[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]]


def test_what_needs_whole_rows_is_refused() -> None:
    table = _created("apart")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(runtime.column_lookup(table, [1]))
    pairs = list(zip(tape.gradient(loss, table.variables), table.variables, strict=True))
    with pytest.raises(
        ValueError, match="FTRL with a term on the norm of rows needs whole rows, and the table `apart`"
    ):
        ftrl.create_hash_optimizer(0.1, group_lasso=True).apply_gradients(pairs)
    with pytest.raises(ValueError, match="evict_by_norm needs whole rows, and the table `apart` is cut by columns"):
        runtime.evict_by_norm(table.tables[0], 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: runtime.create_column_table(tf.int64, 6, "a", tf.zeros_initializer(), 4), "`parts` 4 does not divide"),
        (lambda: runtime.create_column_table(tf.int64, 6, "a", tf.zeros_initializer(), "rows"), "`parts`"),
        (lambda: _created("b", placement="replicated"), "no argument `placement`"),
        (lambda: _created("c", misspelt=1), "misspelt"),
        (lambda: _created("d").import_rows([1], [[1.0]]), r"have shape \(1, 1\): they must be \[n, 6\]"),
        (lambda: runtime.column_lookup(3, [1]), "a table of create_column_table"),
        (
            lambda: runtime.create_table(tf.int64, 6, "e", tf.zeros_initializer(), placement="columns:3"),
            "make it with runtime.create_column_table",
        ),
    ],
)
@pytest.mark.each_case
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
