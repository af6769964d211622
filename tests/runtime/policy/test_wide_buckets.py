"""`wide_buckets(N)`: ids hashed or divided by it still tell their bucket, and columns over them have its rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import runtime
import runtime.keras
from runtime import wide_buckets
from runtime.policy.wide_buckets import buckets_below

tf = pytest.importorskip("tensorflow")
N = 11
WORDS = np.array([f"w{i}" for i in range(60)])[:, None]


def test_it_is_the_largest_multiple_that_an_id_can_be_below() -> None:
    wide = wide_buckets(N)
    assert wide % N == 0 and wide < 2**63 <= wide + N
    assert buckets_below(copy.deepcopy(wide)) == N and buckets_below(int(wide)) is None
    for wrong in (0, 2**32 + 1, 1.5, True):
        with pytest.raises(ValueError, match="buckets"):
            wide_buckets(wrong)


def test_hashes_and_remainders_tell_the_old_bucket() -> None:
    ids = tf.constant(np.random.default_rng(0).integers(-(10**6), 10**12, 100))
    np.testing.assert_array_equal(ids % wide_buckets(N) % N, ids % N)
    for hashed in (tf.strings.to_hash_bucket_fast, lambda x, n: tf.strings.to_hash_bucket_strong(x, n, [1, 2])):
        np.testing.assert_array_equal(hashed(WORDS, wide_buckets(N)) % N, hashed(WORDS, N))


def columns(size: int) -> list[Any]:
    made = tf.feature_column
    return [made.categorical_column_with_hash_bucket("w", size), made.crossed_column(["w", "v"], size)]


def test_rows_of_a_stock_layer_are_those_of_the_buckets() -> None:
    hashed, wide = (tf.keras.layers.Hashing(size, salt=3) for size in (N, wide_buckets(N)))
    matrix = np.random.default_rng(1).normal(size=[N, 4]).astype(np.float32)
    stock = tf.keras.layers.Embedding(N, 4, weights=[matrix])
    layer = runtime.keras.Embedding(N, 4, weights=[matrix], base_buckets=N)
    np.testing.assert_array_equal(layer(wide(WORDS)), stock(hashed(WORDS)))
    assert layer.get_config()["base_buckets"] == str(N)
    empty = runtime.keras.Embedding.from_config(layer.get_config() | {"name": "empty"})
    empty.build(None)
    empty.table.variable.stock.put(matrix)
    np.testing.assert_array_equal(empty(wide(WORDS)), stock(hashed(WORDS)))
