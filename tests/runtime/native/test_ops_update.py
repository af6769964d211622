"""Update ops against numpy: the three rules, duplicates, unseen keys, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support.raw_table import ACCUMULATOR, EPSILON, RATE, RawTable, update

INVALID = tf.errors.InvalidArgumentError


def _squared_apart(table: RawTable, rule: str, keys: Any, grads: Any, hyper: Any, starts: Any, **more: Any) -> None:
    settings = {"optimizer": rule, "starts": starts, "squares_apart": True, **more}
    table.run("rec_apply", np.asarray(keys), np.float32(grads), np.float32(hyper), **settings)


def test_equal_keys_can_be_squared_one_by_one(table: RawTable) -> None:
    keys = np.random.default_rng(3).integers(0, 300, size=2000)
    grads = np.random.default_rng(4).normal(size=(2000, 2)).astype(np.float32)
    before = table.insert(np.arange(300))
    sums, squares = np.zeros([2, 300, 2])
    np.add.at(sums, keys, grads)
    np.add.at(squares, keys, grads.astype(np.float64) ** 2)
    _squared_apart(table, "adagrad", keys, grads, [RATE, 0.0], [ACCUMULATOR])
    wanted = before - RATE * sums / np.sqrt(ACCUMULATOR + squares)
    np.testing.assert_allclose(table.read(np.arange(300)), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", ["keras_adam", "keras_adamw"])
def test_adam_adds_their_squares(table: RawTable, rule: str) -> None:
    before = table.insert([4, 9])
    hyper = [RATE, 0.1, 0.25, EPSILON, *([0.0, RATE] if rule == "keras_adamw" else [])]
    _squared_apart(table, rule, [4, 4], [[3.0, 1.0], [1.0, 1.0]], hyper, [0.0, 0.0])
    moved = before[0] - RATE * 0.1 * np.array([4, 2]) / (np.sqrt(0.25 * np.array([10, 2])) + EPSILON)
    np.testing.assert_allclose(table.read([4, 9]), [moved, before[1]], rtol=1e-6)


def test_rows_that_are_skipped_keep_the_squares_of_others_in_place(table: RawTable) -> None:
    before = table.insert([1, 2, 3])
    grads = [[1.0, 1.0], [np.nan, 1.0], [3.0, 3.0], [1.0, 1.0]]
    _squared_apart(table, "adagrad", [1, 2, 3, 3], grads, [RATE, 0.0], [0.0], on_nonfinite="skip")
    steps = np.float32([[1, 1], [0, 0], [4 / np.sqrt(10)] * 2])
    np.testing.assert_allclose(before - table.read([1, 2, 3]), RATE * steps, rtol=1e-5)


def test_a_rate_that_is_not_finite_is_taken_as_by_a_variable(table: RawTable) -> None:
    settings = {"optimizer": "sgd", "starts": [], "on_nonfinite": "take"}
    table.run("rec_apply", np.array([4]), np.ones([1, 2], np.float32), np.float32([np.nan, 0.0]), **settings)
    assert np.isnan(table.insert([4])).all()


@pytest.mark.parametrize(
    ("hyper", "attributes", "message"),
    [
        ([RATE], {}, r"hyper has shape \[1\]; it must be \[2\]"),
        ([RATE, 0.0], {"optimizer": "sdg"}, "unknown optimizer 'sdg'; known are sgd, adagrad, lazy_adam"),
        ([RATE, 0.0], {"starts": [0.5]}, "optimizer sgd has 0 slots; `starts` has 1"),
        ([np.nan, 0.0], {}, "learning_rate of optimizer sgd is nan; it must be finite, no row was changed"),
        ([RATE, np.inf], {}, "weight_decay of optimizer sgd is inf"),
        ([0, 0, 0, 0, -0.5, 0], {"optimizer": "ftrl", "starts": [0.1, 0.0]}, "learning_rate of .* must be .* above 0"),
        (
            [RATE, 0.0],
            {"optimizer": "adagrad", "starts": [np.nan]},
            "`starts` of optimizer adagrad holds a NaN or an infinity",
        ),
        ([RATE, 0.0], {"on_nonfinite": "ignore"}, "on_nonfinite is 'ignore'; it must be error, skip or take"),
    ],
)
def test_wrong_settings_are_named(
    table: RawTable, hyper: list[float], attributes: dict[str, Any], message: str
) -> None:
    settings = {"optimizer": "sgd", "starts": []} | attributes
    with pytest.raises(INVALID, match=message):
        table.run("rec_apply", np.array([1]), np.zeros([1, 2], np.float32), np.float32(hyper), **settings)
    assert table.size() == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_not_finite_change_no_row_or_only_theirs(table: RawTable, bad: float) -> None:
    keys, grads = [4, 7, 4, 9], np.ones([4, 2], np.float32)
    before = table.insert([4, 7, 9])
    grads[1, 1] = bad
    with pytest.raises(INVALID, match="the gradient for key 7 of table 'user' has a NaN or an infinity"):
        update(table, "sgd", keys, grads)
    np.testing.assert_array_equal(table.insert([4, 7, 9]), before)
    hyper = np.float32([RATE, 0.0])
    table.run("rec_apply", np.array(keys), grads, hyper, optimizer="sgd", starts=[], on_nonfinite="skip")
    step = np.float32(RATE) * np.float32([[2, 2], [0, 0], [1, 1]])
    np.testing.assert_array_equal(table.insert([4, 7, 9]), before - step)
    table.run("rec_apply", np.array(keys), grads, hyper, optimizer="sgd", starts=[], on_nonfinite="take")
    np.testing.assert_array_equal(np.isfinite(table.insert([4, 7, 9])), [[True] * 2, [True, False], [True] * 2])


#: The slots of a step that a graph composes: where the second one starts, and which column it is.
_SLOT: dict[str, Any] = {"optimizer": "composed_2", "starts": [0.0, 0.5], "column": 2}


def _slot(table: RawTable, keys: list[int], **more: Any) -> Any:
    found = table.run("rec_read_slot", table.anchor, np.asarray(keys, np.int64), **_SLOT | more)
    return found


def _write(table: RawTable, keys: list[int], value: float, how: str, **more: Any) -> None:
    values = np.full([len(keys), table.dim], value, np.float32)
    table.run("rec_write_column", np.asarray(keys, np.int64), values, **_SLOT | {"how": how} | more)


def test_columns_are_written_for_each_equal_key_in_turn(graph: tf.Graph) -> None:
    table = RawTable(graph)
    first = table.read([1, 2])
    np.testing.assert_array_equal(_slot(table, [1, 2]), 0.5)
    _write(table, [1, 1], 2.0, "add")
    _write(table, [2, 2, 2], 1.0, "sub")
    np.testing.assert_array_equal(_slot(table, [1, 2, 3])[:, 0], np.array([4.5, -2.5, 0.5]))
    np.testing.assert_array_equal(table.read([1, 2]), first)
    _write(table, [2], 7.0, "set")
    _write(table, [1, 1], 0.25, "sub", column=0)
    np.testing.assert_array_equal(_slot(table, [1, 2])[:, 1], np.array([4.5, 7.0]))
    np.testing.assert_array_equal(table.read([1, 2]), first - np.array([[0.5], [0.0]], np.float32))
    assert table.size() == 2


def test_columns_of_a_composed_step_lie_beside_the_slots_of_another_optimizer(graph: tf.Graph) -> None:
    table, alone = RawTable(graph), RawTable(graph, "alone")
    for one in (table, alone):
        update(one, "adagrad", [1, 2], np.ones([2, 2]))
    _write(table, [1], 3.0, "add", slot_set=1)
    for one in (table, alone):
        update(one, "adagrad", [1, 2], np.ones([2, 2]))
    np.testing.assert_array_equal(table.read([1, 2]), alone.read([1, 2]))
    np.testing.assert_array_equal(_slot(table, [1, 2], slot_set=1)[:, 0], np.array([3.5, 0.5]))
    keys, _, slots, _ = table.run("rec_table_snapshot")
    assert slots[list(keys).index(1), -2:].tolist() == [3.5] * 2
