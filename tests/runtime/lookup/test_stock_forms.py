"""Lookups in place of one-hot products, lists of variables and padded matrices train as these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.lookup.zero_padding import PLACES
from runtime.optimizers import adam

_V1 = tf.compat.v1
_ROWS = np.random.RandomState(2).normal(size=(5, 3)).astype(np.float32)
_IDS = np.array([[1, 4, -1], [5, 1, 10**6]])


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_it_trains_as_the_product(dtype: Any) -> None:
    results = []
    for ours in (False, True):
        with tf.Graph().as_default(), _V1.Session() as session:
            ids = tf.constant(_IDS, dtype)
            if ours:
                table = runtime.table_of_rows(_ROWS, "w")
                rows = runtime.one_hot_lookup(table, ids, 5)
                optimizer, whole = adam.create_hash_optimizer(0.1), runtime.all_rows(table, 5)
            else:
                variable = _V1.get_variable("w", initializer=_ROWS)
                rows, whole = tf.tensordot(tf.one_hot(ids, 5), variable, 1), variable
                optimizer = _V1.train.AdamOptimizer(0.1)
            loss = tf.reduce_sum(tf.square(rows - 1.0))
            step = optimizer.minimize(loss)
            session.run(_V1.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(3)]
            results.append((session.run(rows), losses, session.run(whole)))
            if ours:
                assert session.run(table.size()) == 5
    for stock, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, stock, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int8])
def test_ids_of_one_byte_as_one_hot_takes_them(dtype: Any) -> None:
    table, ids = runtime.table_of_rows(_ROWS, "w"), np.array([1, 100, 4])
    expected = tf.matmul(tf.one_hot(tf.constant(ids, dtype), 5), _ROWS)
    for given in (tf.constant(ids, dtype), ids.astype(dtype.as_numpy_dtype)):
        np.testing.assert_allclose(runtime.one_hot_lookup(table, given, 5), expected)


def test_a_depth_that_is_a_tensor_and_a_name() -> None:
    table = runtime.table_of_rows(_ROWS, "w")
    rows = runtime.one_hot_lookup(table, _IDS, tf.constant(2), is_train=False, name="picked")
    np.testing.assert_allclose(rows, tf.tensordot(tf.one_hot(_IDS, 2), _ROWS[:2], 1))
    with pytest.raises(ValueError, match="float32: cast them"):
        runtime.one_hot_lookup(table, [0.5], 2)


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


ROWS = np.random.RandomState(3).normal(size=(9, 4)).astype(np.float32)
IDS_PADDING = {
    "of a matrix": np.array([[0, 3, 0], [8, 0, 3]]),
    "of a vector, int32": np.array([0, 1, 1, 5], np.int32),
    "none": np.zeros([0, 2], np.int64),
    "one": np.array(0),
}


def table_of(rows: np.ndarray, name: str = "t", device: str | None = None, size: int = 40) -> runtime.Table:
    table = runtime.create_table(
        key_dtype=tf.int64, dim=rows.shape[1], name=name, device_vocabulary_size=size,
        emb_initializer=tf.keras.initializers.Constant(0.25), device=device,
    )  # fmt: skip
    return table


def padded(variable: Any, place: str = "first") -> Any:
    zeros = tf.zeros([1, variable.shape[1]])
    if place == "last":
        return tf.concat([variable, zeros], 0)
    return tf.concat([zeros, variable[1:] if place == "first" else variable], 0)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ids", IDS_PADDING.values(), ids=IDS_PADDING)
def test_it_reads_and_has_the_gradient_of_the_concatenation(ids: np.ndarray, place: str) -> None:
    table, variable = table_of(ROWS, size=9), tf.Variable(ROWS)
    ids = ids + ids.dtype.type(place == "last") * (ids == 8)
    table.import_rows(np.arange(9), ROWS)
    weights = np.random.RandomState(4).normal(size=(*ids.shape, 4)).astype(np.float32)
    with tf.GradientTape(persistent=True) as tape:
        stock = tf.gather(padded(variable, place), ids)
        ours = runtime.padded_lookup(runtime.zero_padded(table, place), ids)
        plain = runtime.padded_lookup(table, np.minimum(ids, 8))
        losses = [tf.reduce_sum(rows * weights) for rows in (stock, ours)]
    np.testing.assert_array_equal(ours, stock)
    np.testing.assert_array_equal(plain, ROWS[np.minimum(ids, 8)])
    assert ours.shape == (*ids.shape, 4)
    found = tape.gradient(losses[1], table.variable)
    dense = np.zeros_like(ROWS)
    np.add.at(dense, np.asarray(found.indices), np.asarray(found.values))
    np.testing.assert_allclose(dense, tf.convert_to_tensor(tape.gradient(losses[0], variable)), rtol=1e-6)
    assert place != "first" or not np.any(dense[0])


def test_zeros_are_zeros_whatever_row_0_holds() -> None:
    table = table_of(ROWS)
    table.import_rows(np.array([0, 1]), np.array([[np.nan, np.inf, -1, 1], [1, 2, 3, 4]], np.float32))
    rows = runtime.padded_lookup(runtime.zero_padded(table), [0, 1]).numpy()
    np.testing.assert_array_equal(rows, [[0, 0, 0, 0], [1, 2, 3, 4]])
    assert not np.signbit(rows).any()


def test_ids_beyond_the_rows_read_no_row_of_another_id() -> None:
    table = table_of(ROWS, size=9)
    rows = [runtime.padded_lookup(runtime.zero_padded(table, place), [9, 100, -1]) for place in ("last", "before")]
    np.testing.assert_array_equal([one[:, 0] for one in rows], [[0, 0.25, 0.25], [0.25, 0.25, 0.25]])
    assert set(table.snapshot()[0].numpy()) == {8, 100, -1, 99, -2}


def test_ragged_ids_have_ragged_rows() -> None:
    table = table_of(ROWS)
    table.import_rows(np.arange(9), ROWS)
    ids = tf.ragged.constant([[0, 2], [], [3]], dtype=tf.int64)
    rows = runtime.padded_lookup(runtime.zero_padded(table), ids)
    np.testing.assert_array_equal(rows.flat_values, np.stack([0 * ROWS[0], ROWS[2], ROWS[3]]))
    assert rows.row_lengths().numpy().tolist() == [2, 0, 1]


@pytest.mark.parametrize("value", [None, 3, ROWS], ids=["None", "number", "matrix"])
def test_what_is_no_table(value: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a table: got .*; create one by create_table"):
        runtime.zero_padded(value)
    with pytest.raises(ValueError, match="must be a table"):
        runtime.padded_lookup(value, [1])
