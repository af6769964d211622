"""Tables that give up the buckets of their ids, against NumPy; `wide_buckets(N)` still tells the bucket."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import runtime
import runtime.keras
from runtime import wide_buckets
from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.optimizers import adagrad, adam
from runtime.policy.wide_buckets import buckets_below
from tests.support.runtime.tables import make_table, read, step, toward

BUCKETS = 8
RATE, START = np.float32(0.1), np.float32(0.1)


WORDS = [f"w{number}" for number in range(60)]


def _behind_words(layout: runtime.Buckets) -> Callable[[int], np.ndarray]:
    """Return a function of the number of buckets: the first words are of a vocabulary, the others hashed behind it."""

    def ids(size: int) -> np.ndarray:
        hashed = np.asarray(tf.strings.to_hash_bucket_fast(WORDS, size)) + layout.first
        known = np.arange(60) + (layout.first + layout.count) * (layout.start > layout.first)
        return np.where(
            np.arange(60) < 5, known, hashed if size == layout.count else hashed - layout.first + layout.start
        )

    return ids


#: How ids divide, with the ids of the words: hashed; behind five words, as TensorFlow numbers them; and before them,
#: behind a row for padding, as Keras does.
LAYOUTS = {
    "hashed": (runtime.Buckets(BUCKETS), lambda size: tf.strings.to_hash_bucket_fast(WORDS, size)),
    "behind a vocabulary": (behind := runtime.Buckets(3, 5), _behind_words(behind)),
    "before a vocabulary": (before := runtime.Buckets(3, 1, 9), _behind_words(before)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_words_part_from_their_buckets_as_in_a_dict(layout: str) -> None:
    random = np.random.default_rng(3)
    buckets, ids_of = LAYOUTS[layout]
    narrow, wide = (np.asarray(ids_of(size)) for size in (buckets.count, buckets.widest))
    assert len(np.unique(narrow)) < len(np.unique(wide)) == 60
    optimizer = adagrad.create_hash_optimizer(float(RATE), float(START))
    bucketed = make_table("bucketed")
    for _ in range(20):
        drawn = random.integers(0, 60, 12)
        step(bucketed, optimizer, narrow[drawn], toward(random.normal(size=[12, 4]).astype(np.float32)))
    table = make_table("free", base_buckets=buckets)
    runtime.set_base(table, bucketed)
    before = read(bucketed, narrow)
    np.testing.assert_array_equal(read(table, wide), before)  # of each word, bit for bit
    assert int(table.size()) == 0
    keys, values, slots, _ = (np.asarray(part) for part in bucketed.snapshot())
    held = {int(key): (row.copy(), slot.copy()) for key, row, slot in zip(keys, values, slots, strict=True)}
    own = {number: [part.copy() for part in held[int(narrow[number])]] for number in range(60)}
    for _ in range(60):
        drawn = random.integers(0, 60, 6)
        targets = random.normal(size=[6, 4]).astype(np.float32)
        step(table, optimizer, wide[drawn], toward(targets))
        for number in set(drawn.tolist()):
            row, accumulator = own[number]
            gradient = np.zeros(4, np.float32)
            for place in np.flatnonzero(drawn == number):
                gradient += row - targets[place]
            accumulator += gradient * gradient
            row -= RATE * gradient / np.sqrt(accumulator)
    np.testing.assert_allclose(read(table, wide), [own[number][0] for number in range(60)], rtol=1e-5, atol=1e-6)
    assert int(table.size()) == 60
    np.testing.assert_array_equal(read(bucketed, narrow), before)


def test_a_checkpoint_holds_the_base_once(tmp_path: Path) -> None:
    ids = np.arange(100, dtype=np.int64)
    table = make_table(base_buckets=BUCKETS)
    optimizer = adam.create_hash_optimizer(0.05)
    bucketed = make_table("bucketed")
    for _ in range(3):
        step(bucketed, optimizer, ids % BUCKETS, toward(np.ones([100, 4], np.float32)))
    runtime.set_base(table, bucketed)
    step(table, optimizer, ids[:5], toward(np.zeros([5, 4], np.float32)))
    before = read(table, ids)
    assert len(np.unique(before.round(4), axis=0)) > BUCKETS
    path = tf.train.Checkpoint(table=table).save(str(tmp_path / "saved"))
    again = make_table(base_buckets=BUCKETS)
    tf.train.Checkpoint(table=again).restore(path)
    np.testing.assert_array_equal(read(again, ids), before)
    assert len(np.asarray(again.snapshot()[0])) == 5 + BUCKETS
    runtime.forget_base(again)
    np.testing.assert_array_equal(read(again, ids[:5]), before[:5])
    np.testing.assert_array_equal(read(again, ids[5:]), read(make_table(), ids[5:]))


def test_what_is_no_base_is_refused() -> None:
    table = make_table(base_buckets=BUCKETS)
    with pytest.raises(ValueError, match="no base: create it with base_buckets=N"):
        runtime.set_base(make_table("plain"), table)
    with pytest.raises(ValueError, match=r"must be \[8, 4\]"):
        runtime.set_base(table, np.zeros([3, 4], np.float32))
    with pytest.raises(ValueError, match="dim 2 and cannot be the base"):
        runtime.set_base(table, make_table("narrow", dim=2))
    other = make_table("other")
    runtime.sparse_lookup(other, [BUCKETS])
    with pytest.raises(tf.errors.InvalidArgumentError, match="none of the 8 buckets"):
        runtime.set_base(table, other)
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids must be"):
        runtime.sparse_lookup(table, [FIRST_BASE_KEY + 1])
    with pytest.raises(ValueError, match="base_buckets"):
        make_table("none", base_buckets=0)
    with pytest.raises(ValueError, match="rows 1 to 3 belong to buckets: give 1, or 4 or more"):
        runtime.Buckets(3, 1, 2)
    with pytest.raises(ValueError, match=r"must be \[8, 4\]"):
        runtime.set_base(make_table("behind", base_buckets=runtime.Buckets(3, 5)), np.zeros([7, 4], np.float32))


N = 11
COLUMN = np.array([f"w{i}" for i in range(60)])[:, None]


def test_it_is_the_largest_multiple_that_an_id_can_be_below() -> None:
    wide = wide_buckets(N)
    assert wide % N == 0 and wide < 2**63 <= wide + N
    assert buckets_below(copy.deepcopy(wide)) == runtime.Buckets(N) and buckets_below(int(wide)) is None
    for wrong in (0, 2**32 + 1, 1.5, True):
        with pytest.raises(ValueError, match="buckets"):
            wide_buckets(wrong)


def test_hashes_and_remainders_tell_the_old_bucket() -> None:
    ids = tf.constant(np.random.default_rng(0).integers(-(10**6), 10**12, 100))
    np.testing.assert_array_equal(ids % wide_buckets(N) % N, ids % N)
    for hashed in (
        tf.strings.to_hash_bucket_fast,
        lambda x, n: tf.strings.to_hash_bucket_strong(x, n, [1, 2]),
    ):
        np.testing.assert_array_equal(hashed(COLUMN, wide_buckets(N)) % N, hashed(COLUMN, N))


def test_rows_of_a_stock_layer_are_those_of_the_buckets() -> None:
    hashed, wide = (tf.keras.layers.Hashing(size, salt=3) for size in (N, wide_buckets(N)))
    matrix = np.random.default_rng(1).normal(size=[N, 4]).astype(np.float32)
    stock = tf.keras.layers.Embedding(N, 4, weights=[matrix])
    layer = runtime.keras.Embedding(N, 4, weights=[matrix], base_buckets=N)
    np.testing.assert_array_equal(layer(wide(COLUMN)), stock(hashed(COLUMN)))
    assert layer.get_config()["base_buckets"] == str(N)
    empty = runtime.keras.Embedding.from_config(layer.get_config() | {"name": "empty"})
    empty.build(None)
    empty.table.variable.stock.put(matrix)
    np.testing.assert_array_equal(empty(wide(COLUMN)), stock(hashed(COLUMN)))
