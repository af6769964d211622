"""Snapshot, import, upsert and reset ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support.raw_table import ACCUMULATOR, RawTable, update

INVALID = tf.errors.InvalidArgumentError


def test_a_snapshot_lists_every_row_once(table: RawTable) -> None:
    keys, values, slots, meta = table.run("rec_table_snapshot")
    assert keys.shape == (0,) and values.shape == (0, 2) and slots.shape == (0, 0)
    assert list(meta[:5]) == [2, 7, 2, 0, 0]
    rows = table.insert([9, 3, 9, 5])
    keys, values, slots, meta = table.run("rec_table_snapshot")
    assert sorted(keys) == [3, 5, 9] and slots.shape == (3, 0)
    np.testing.assert_array_equal(values[np.argsort(keys)], rows[[1, 3, 0]])
    update(table, "lazy_adam", [3], [[1.0, 1.0]])
    assert table.run("rec_table_snapshot").slots.shape == (3, 4)
    assert list(table.run("rec_table_snapshot").meta[:5]) == [2, 7, 2, 2, 3]


@pytest.mark.parametrize("rule", ["sgd", "adagrad", "lazy_adam"])
def test_an_imported_snapshot_trains_on_as_the_original(rule: str) -> None:
    original, copy = RawTable(tf.Graph(), seed=1), RawTable(tf.Graph(), seed=2)
    random = np.random.default_rng(3)
    batches = [(random.integers(0, 50, 40), random.normal(size=(40, 2))) for _ in range(4)]
    for step, (keys, grads) in enumerate(batches[:2], 1):
        update(original, rule, keys, grads, step)
    copy.insert([1000])
    copy.run("rec_table_import", *original.run("rec_table_snapshot"))
    for step, (keys, grads) in enumerate(batches[2:], 3):
        update(original, rule, keys, grads, step)
        update(copy, rule, keys, grads, step)
    for got, wanted in zip(copy.run("rec_table_snapshot"), original.run("rec_table_snapshot"), strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(copy.read([77]), original.read([77]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keys": [1, 2, 1]}, "key 1 twice"),
        ({"keys": [1, 2]}, r"values has shape \[3, 2\]; it must be \[2, 2\]"),
        ({"values": np.zeros([3, 3], np.float32)}, r"values has shape \[3, 3\]; it must be \[3, 2\]"),
        ({"slots": np.zeros([3, 4], np.float32)}, r"slots has shape \[3, 4\]; it must be \[3, 2\]"),
        ({"meta": [1, 7, 5, 1, 2, 0]}, "are 5 wide; the table's dim is 2"),
        ({"meta": [1, 7, 2, 2, 2, 0]}, "2 slots per row; optimizer adagrad has 1"),
        ({"meta": [9, 7, 2, 1, 2, 0]}, "format 9"),
        ({"meta": []}, "0 entries"),
    ],
)
def test_rows_that_do_not_fit_are_refused_whole(table: RawTable, change: dict[str, Any], message: str) -> None:
    update(table, "adagrad", [1, 2, 3], np.ones([3, 2]))
    before = table.run("rec_table_snapshot")
    rows = before._asdict() | change
    rows["keys"], rows["meta"] = np.asarray(rows["keys"], np.int64), np.asarray(rows["meta"], np.int64)
    with pytest.raises(INVALID, match=message):
        table.run("rec_table_import", *rows.values())
    for got, wanted in zip(table.run("rec_table_snapshot"), before, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_upsert_overwrites_values_and_keeps_slots(table: RawTable) -> None:
    update(table, "adagrad", [1], [[2.0, 2.0]])
    table.run("rec_table_upsert", np.array([9, 1]), np.array([[5, 6], [7, 8]], np.float32))
    keys, values, slots, _ = table.run("rec_table_snapshot")
    assert list(keys) == [1, 9]
    np.testing.assert_array_equal(values, [[7, 8], [5, 6]])
    np.testing.assert_array_equal(slots, [[4 + ACCUMULATOR] * 2, [ACCUMULATOR] * 2])
    with pytest.raises(INVALID, match=r"values has shape \[1, 2\]; it must be \[2, 2\]"):
        table.run("rec_table_upsert", np.array([9, 1]), np.zeros([1, 2], np.float32))


def test_reset_empties_the_table_and_forgets_its_optimizer(table: RawTable) -> None:
    initial = table.read([1])
    update(table, "adagrad", [1], [[2.0, 2.0]])
    table.run("rec_table_reset")
    assert table.size() == 0
    np.testing.assert_array_equal(table.read([1]), initial)
    update(table, "sgd", [1], [[2.0, 2.0]])
    assert table.run("rec_table_snapshot").slots.shape == (1, 0)
