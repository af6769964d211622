"""`padded_lookup` beside `tf.gather` of `tf.concat([zeros, W[1:]], 0)`, over rows in memory and on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.lookup.zero_padding import PLACES

ROWS = np.random.RandomState(3).normal(size=(9, 4)).astype(np.float32)
IDS = {
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
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
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
