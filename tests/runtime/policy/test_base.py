"""Tables that give up the buckets of their ids, in each way to store and look up rows, against NumPy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
import runtime.keras
from runtime import wide_buckets
from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.optimizers import adagrad, adam
from runtime.policy.wide_buckets import buckets_below
from runtime.storage.tiers import Storage
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


STEPS = 15
EVERY = np.arange(-40, 40)
MATRIX = np.random.default_rng(7).normal(size=[BUCKETS, 4]).astype(np.float32)


class Rows:
    """What Adagrad makes of the rows, by id; one that occurred less often than `threshold` stays as its bucket."""

    def __init__(self, threshold: int = 0) -> None:
        self._own: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._counts: dict[int, int] = {}
        self._threshold = threshold

    def read(self, keys: Any) -> np.ndarray:
        return np.stack([self._own[key][0] if key in self._own else MATRIX[key % BUCKETS] for key in map(int, keys)])

    def step(self, keys: np.ndarray, targets: np.ndarray) -> None:
        """Move bags of two ids each, whose sum is compared with a target."""
        for key in keys.ravel().tolist():
            self._counts[key] = self._counts.get(key, 0) + 1
        errors = self.read(keys.ravel()).reshape(*keys.shape, 4).sum(1) - targets
        for key in sorted(set(keys.ravel().tolist())):
            if self._counts[key] < self._threshold:
                continue
            gradient = sum((errors[bag] for bag, _ in np.argwhere(keys == key)), np.zeros(4))
            row, total = self._own.get(key, (MATRIX[key % BUCKETS].astype(np.float64), np.full(4, START)))
            total = total + gradient**2
            self._own[key] = row - RATE * gradient / np.sqrt(total), total

    @property
    def size(self) -> int:
        return len(self._own)


def _batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(2)
    for _ in range(STEPS):
        yield random.integers(0, 30, [6, 2]), random.normal(size=[6, 4]).astype(np.float32)


def _one_by_one(table: Any, keys: Any) -> Any:
    return tf.reduce_sum(runtime.sparse_lookup(table, keys), 1)


def _counted(table: Any, keys: Any) -> Any:
    settings = {"access_and_evict_config": {"access_threshold": 3}}
    return tf.reduce_sum(runtime.sparse_lookup(table, keys, **settings), 1)


def _pooled(table: Any, keys: Any) -> Any:
    ids = tf.sparse.from_dense(tf.ones_like(keys)).with_values(tf.reshape(keys, [-1]))
    return runtime.embedding_lookup_sparse(table, ids, combiner="sum")


def _grouped(table: Any, keys: Any) -> Any:
    other = make_table("other")
    return tf.reduce_sum(runtime.grouped_lookup([(other, keys), (table, keys)])[1], 1)


def _pooled_together(table: Any, keys: Any) -> Any:
    ids = tf.RaggedTensor.from_tensor(keys)
    return runtime.grouped_embedding_lookup_sparse([(make_table("other"), ids), (table, ids)], combiner="sum")[1]


LOOKUPS = {
    "one by one": _one_by_one,
    "counted": _counted,
    "pooled": _pooled,
    "grouped": _grouped,
    "pooled together": _pooled_together,
}


def _require_rows(table: Any, rows: Rows, tolerance: float = 1e-5) -> None:
    found = runtime.sparse_lookup(table, EVERY, is_train=False)
    np.testing.assert_allclose(found, rows.read(EVERY), rtol=tolerance, atol=tolerance)
    assert int(table.size()) == rows.size


def _train(table: Any, lookup: Any, rows: Rows, tolerance: float = 1e-5) -> None:
    optimizer = adagrad.create_hash_optimizer(float(RATE), float(START))
    for keys, targets in _batches():
        with tf.GradientTape() as tape:
            error = lookup(table, tf.constant(keys, tf.int64)) - targets
            loss = 0.5 * tf.reduce_sum(error * error)
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        rows.step(keys, targets)
    _require_rows(table, rows, tolerance)


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_each_lookup(lookup: str, tmp_path: Path) -> None:
    threshold = 3 if lookup == "counted" else 0
    table, rows = make_table(base_buckets=BUCKETS), Rows(threshold)
    runtime.set_base(table, MATRIX)
    _train(table, LOOKUPS[lookup], rows)
    path = tf.train.Checkpoint(table=table).save(str(tmp_path / "saved"))
    again = make_table(base_buckets=BUCKETS)
    tf.train.Checkpoint(table=again).restore(path)
    _require_rows(again, rows)


@pytest.mark.parametrize("stored", ["bfloat16", "limited", "evicting", "disk", "log"])
def test_each_way_to_store_rows(stored: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "bfloat16": {"value_dtype": tf.bfloat16},
        "limited": {"max_bytes": 1 << 24},
        "evicting": {"max_bytes": 1 << 24, "when_full": "evict"},
        "disk": {"storage": Storage("dram_ssdhash", tmp_path, (300,))},
        "log": {"storage": Storage("dram_pmem", tmp_path, (300,))},
    }[stored]
    table, rows = make_table(base_buckets=BUCKETS, **options), Rows()
    runtime.set_base(table, MATRIX)
    _train(table, _one_by_one, rows, 0.1 if stored == "bfloat16" else 1e-5)


def test_ids_that_wait_read_their_buckets_and_counters_of_buckets_stay_behind() -> None:
    settings = {"access_and_evict_config": {"access_threshold": 3}}
    bucketed, table = make_table("bucketed"), make_table(base_buckets=BUCKETS)
    for _ in range(3):
        runtime.sparse_lookup(bucketed, np.arange(4), **settings)
    runtime.sparse_lookup(bucketed, [4], **settings)
    runtime.set_base(table, bucketed)
    old = np.asarray(runtime.sparse_lookup(bucketed, np.arange(4), is_train=False))
    ids = np.arange(16, 24)
    for occurrence in range(3):
        for is_train in (False, True):
            rows = np.asarray(runtime.sparse_lookup(table, ids, is_train=is_train, **settings))
            np.testing.assert_array_equal(rows[:4], old)
            assert rows[4:].any() == (occurrence == 2 and is_train)  # buckets that had no row: then the initializer's
        assert int(table.size()) == (8 if occurrence == 2 else 0)
    # The buckets 0 to 3 were seen often; the ids 0 to 3 never.
    runtime.sparse_lookup(table, np.arange(4), **settings)
    assert int(table.size()) == 8
