"""Initial rows computed by stock ops have the bits of the engine's."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from rewriter.freezing.initial_rows import constant_row, drawn_rows
from runtime import native

DISTRIBUTIONS = (
    "5:uniform:-0.05:0.05",
    "1:uniform:0:1e-30",
    "7:normal:0:0.1;2:constant:0.3;4:truncated_normal:0.1:0.7",
    "1:truncated_normal:0:1",
)


@pytest.mark.parametrize("seed", [0, -5, 2**62 + 77])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("left", [1.0, 0.7])
def test_rows_have_the_bits_of_the_engine(graph: tf.Graph, distribution: str, seed: int, left: float) -> None:
    dim = sum(int(block.split(":")[0]) for block in distribution.split(";"))
    draws = np.random.RandomState(1).randint(-(2**63), 2**63 - 1, 20000)
    keys = np.concatenate([np.arange(-10, 20000), draws, [2**63 - 1, -(2**63)]]).astype(np.int64)
    ops = native.ops()
    handle = ops.rec_table_handle(table_name="table", dim=dim, seed=seed, initializer=distribution)
    meta = np.array([3, seed, dim, 0, 0, np.float64(left).view(np.int64)], np.int64)
    rows = (tf.zeros([0], tf.int64), tf.zeros([0, dim]), tf.zeros([0, 0]))
    with tf.control_dependencies([ops.rec_table_import(handle, *rows, meta)]):
        wanted = ops.rec_lookup(handle, tf.zeros([0, dim]), tf.constant(keys), [])
    found = drawn_rows(distribution, seed, left, tf.constant(keys))
    with tf.compat.v1.Session() as session:
        one, other = session.run([wanted, found])
    np.testing.assert_array_equal(one.view(np.int32), other.view(np.int32))


def test_a_constant_row_is_one_for_all_keys() -> None:
    assert constant_row("2:constant:0.5;1:constant:2", 1.0).tolist() == [0.5, 0.5, 2.0]  # type: ignore[union-attr]
    assert constant_row("2:constant:0.5", 0.5).tolist() == [0.25, 0.25]  # type: ignore[union-attr]
    assert constant_row("2:constant:0.5;1:uniform:0:1", 1.0) is None
