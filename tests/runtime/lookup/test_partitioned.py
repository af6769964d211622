"""`partitioned_lookup` beside `tf.compat.v1.nn.embedding_lookup` over a list of variables."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import runtime

IDS = np.array([[0, 1, 2, 3], [10, 9, 6, 0], [5, 7, 8, 4]])


def parts(rows: int, count: int) -> list[np.ndarray]:
    """Return partitions of a matrix of `rows` rows: the first ones a row longer."""
    values = np.random.RandomState(1).rand(rows, 3).astype(np.float32)
    return np.array_split(values, count)


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("count", [2, 3, 11])
@pytest.mark.parametrize("shape", [(3, 4), (12,), (0,)])
def test_it_reads_and_trains_what_tensorflow_does(strategy: str, count: int, shape: tuple[int, ...]) -> None:
    values, ids = parts(11, count), IDS.ravel()[: int(np.prod(shape))].reshape(shape)
    weights = np.arange(ids.size * 3, dtype=np.float32).reshape(*shape, 3)
    variables = [tf.Variable(value) for value in values]
    tables = []
    for number, value in enumerate(values):
        table = runtime.create_table(
            key_dtype=tf.int64, dim=3, name=f"part_{number}", device_vocabulary_size=len(value),
            emb_initializer=tf.keras.initializers.Zeros(),
        )  # fmt: skip
        table.import_rows(np.arange(len(value), dtype=np.int64), value)
        tables.append(table)
    with tf.GradientTape(persistent=True) as tape:
        stock = tf.compat.v1.nn.embedding_lookup(variables, ids, partition_strategy=strategy)
        ours = runtime.partitioned_lookup(tables, ids, partition_strategy=strategy)
        losses = [tf.reduce_sum(rows * weights) for rows in (stock, ours)]
    np.testing.assert_array_equal(ours, stock)
    assert ours.shape == (*shape, 3)
    for variable, table in zip(variables, tables, strict=True):
        wanted = tf.convert_to_tensor(tape.gradient(losses[0], variable))
        found = tape.gradient(losses[1], table.variable)
        dense = np.zeros_like(wanted)
        np.add.at(dense, np.asarray(found.indices), np.asarray(found.values))
        np.testing.assert_array_equal(dense, wanted)


@pytest.mark.parametrize(
    ("dims", "strategy", "says"),
    [((), "mod", "equal dims"), ((3, 4), "mod", "equal dims"), ((3,), "x", "'mod' or 'div'")],
)
def test_what_cannot_be_looked_up(dims: tuple[int, ...], strategy: str, says: str) -> None:
    make = runtime.create_table
    tables = [
        make(key_dtype=tf.int64, dim=d, name=f"t{d}", emb_initializer=tf.keras.initializers.Zeros()) for d in dims
    ]
    with pytest.raises(ValueError, match=says):
        runtime.partitioned_lookup(tables, [1], partition_strategy=strategy)
