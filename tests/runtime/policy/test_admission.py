"""Admission by thresholds and by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint, native
from runtime.checkpoint.admission_counters import meta_of_rank
from runtime.optimizers import gradient_descent
from runtime.table import admission_rules
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({}, (None, None)),
        ({"access_threshold": None, "eviction_threshold": None}, (None, None)),
        ({"access_threshold": -1}, (None, None)),
        ({"access_threshold": -1, "eviction_threshold": -1}, (None, None)),
        ({"access_threshold": 0}, (0, None)),
        ({"access_threshold": 0, "eviction_threshold": 0}, (0, 0)),
        ({"access_threshold": 7, "eviction_threshold": 86400}, (7, 86400)),
        ({"access_threshold": 7, "eviction_threshold": -1}, (7, None)),
    ],
)
def test_thresholds_of_zero_or_more_are_on_and_minus_one_is_off(config: Any, wanted: Any) -> None:
    rules = admission_rules.parse(config)
    assert (rules.access_threshold, rules.eviction_threshold) == wanted
    assert rules.faae_coefficient == 1


@pytest.mark.parametrize(
    ("config", "part"),
    [
        ({"access_threshold": -2}, "is less than -1"),
        ({"access_threshold": 1, "eviction_threshold": -2}, "is less than -1"),
        ({"access_threshold": 2**31}, "is bigger than"),
        ({"access_threshold": 1.0}, "Invalid parameter type of para"),
        ({"access_threshold": True}, "Invalid parameter type of para"),
        ({"eviction_threshold": 5}, "needs an `access_threshold`"),
        ({"access_threshold": -1, "eviction_threshold": 0}, "needs an `access_threshold`"),
        ({"access_threshold": 1, "faae_coefficient": 0}, "is less than 1"),
        ({"acces_threshold": 1}, "has no key 'acces_threshold'"),
        ({"access_probability": 0.0}, "access_probability"),
        ({"access_probability": 1}, "is not float"),
        ({"access_probability": 0.5, "access_threshold": 2}, "give one of them"),
        ({"access_probability": 0.5, "bloom_filter": runtime.CountingBloom(10)}, "give no `bloom_filter`"),
        ({"access_threshold": 256, "bloom_filter": runtime.CountingBloom(10, counter_bits=8)}, "more bits"),
        ({"access_threshold": 2, "bloom_filter": 5}, "CountingBloom"),
        ([("access_threshold", 1)], "a dict or None"),
    ],
)
def test_wrong_thresholds_are_refused(config: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        admission_rules.parse(config)


def test_counters_of_a_bloom_filter_have_one_of_three_widths() -> None:
    assert [runtime.CountingBloom(10, counter_bits=bits).counter_bits for bits in (8, 16, 32)] == [8, 16, 32]
    with pytest.raises(ValueError, match="counter_bits"):
        runtime.CountingBloom(10, counter_bits=17)


def test_the_serving_default_is_read_until_a_key_is_admitted() -> None:
    table = make_table()
    settings: Any = {"access_and_evict_config": {"access_threshold": 2}, "serving_default_value": [1.0, 2.0, 3.0, 4.0]}
    first = np.asarray(runtime.sparse_lookup(table, [[5, 6], [6, 7]], **settings))
    assert first[0, 0].tolist() == first[1, 1].tolist() == [1, 2, 3, 4]
    assert first[0, 1].tolist() == first[1, 0].tolist() != [1, 2, 3, 4]
    evaluated = np.asarray(runtime.sparse_lookup(table, [5, 6], is_train=False, serving_default_value=9.0))
    assert evaluated[0].tolist() == [9, 9, 9, 9] and evaluated[1].tolist() == first[0, 1].tolist()
    assert int(table.size()) == 1


def test_is_train_as_a_tensor_counts_only_when_true() -> None:
    with tf.Graph().as_default():
        table = make_table()
        training = v1.placeholder_with_default(True, [])
        rows = runtime.sparse_lookup(
            table, tf.constant([1], tf.int64), is_train=training, access_and_evict_config={"access_threshold": 2}
        )
        size = table.size()
        with session() as opened:
            for _ in range(3):
                opened.run(rows, {training: False})
            assert not opened.run(rows).any() and opened.run(size) == 0
            assert opened.run(rows).any() and opened.run(size) == 1


def test_lookups_of_one_table_must_agree() -> None:
    table = make_table()
    runtime.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2})
    runtime.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2, "faae_coefficient": 3})
    for other in ({"access_threshold": 3}, {"access_threshold": -1}, None):
        with pytest.raises(ValueError, match="different thresholds"):
            runtime.sparse_lookup(table, [1], access_and_evict_config=other)
    with pytest.raises(ValueError, match="different thresholds"):
        runtime.grouped_lookup([(table, [1])])
    with pytest.raises(ValueError, match="different thresholds"):
        runtime.embedding_lookup_sparse(table, tf.sparse.from_dense(tf.constant([[1]], tf.int64)), None)
    off = make_table()
    runtime.sparse_lookup(off, [1])
    runtime.sparse_lookup(off, [1], access_and_evict_config={"access_threshold": -1})
    with pytest.raises(ValueError, match="no thresholds and access 1"):
        runtime.sparse_lookup(off, [1], is_train=False, access_and_evict_config={"access_threshold": 1})


def test_checkpoints_keep_a_threshold_that_was_set(tmp_path: Path) -> None:
    config = {"access_threshold": 1}
    paths = []
    for rank, threshold in enumerate([None, 3]):
        table = make_table()
        runtime.sparse_lookup(table, [rank], access_and_evict_config=config)
        if threshold:
            runtime.set_threshold(table, threshold)
        paths.append(tf.train.Checkpoint(table=table).write(str(tmp_path / f"rank{rank}")))
    for given in (paths[1:], paths):
        other = make_table()
        checkpoint.restore_table(other, given)
        assert not np.any(runtime.sparse_lookup(other, [7], access_and_evict_config=config))
        assert np.any(runtime.sparse_lookup(other, [7, 7], access_and_evict_config=config))
    other = make_table()
    runtime.set_threshold(other, 3)
    tf.train.Checkpoint(table=other).read(paths[0])
    assert np.any(runtime.sparse_lookup(other, [7], access_and_evict_config=config))


@pytest.mark.parametrize("bloom", [None, runtime.CountingBloom(100, 0.01, 16)])
def test_counters_of_parts_are_joined_as_those_of_ranks(bloom: Any) -> None:
    metas = []
    for number in range(3):
        table = make_table()
        config = {"access_threshold": 3, "bloom_filter": bloom, "timestamp": 5 - number}
        runtime.sparse_lookup(table, [number, number, number + 3, number - 9], access_and_evict_config=config)
        if number:
            runtime.set_threshold(table, number)
        metas.append(table.snapshot()[3].numpy())
    for parts in (1, 2, 3):
        for part in range(parts):
            joined = native.ops().rec_join_meta(metas, table_name="user", part=part, parts=parts)
            wanted = meta_of_rank(metas, lambda keys, part=part, parts=parts: keys % parts == part)
            np.testing.assert_array_equal(joined, wanted)
    trained = make_table()
    gradient_descent.create_hash_optimizer(0.1).apply_gradients(
        [(tf.IndexedSlices(tf.ones([1, trained.dim]), tf.constant([1], tf.int64)), trained.variable)]
    )
    own = trained.snapshot()[3].numpy()
    joined = native.ops().rec_join_meta([metas[0], own], table_name="user").numpy()
    np.testing.assert_array_equal(joined[:5], own[:5])  # says what has trained it
    with pytest.raises(tf.errors.InvalidArgumentError, match="table 'user' has no part 2 of 2"):
        native.ops().rec_join_meta(metas, table_name="user", part=2, parts=2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="table 'user' has 3 entries"):
        native.ops().rec_join_meta([metas[0][:3]], table_name="user")


def test_eager_checkpoints_keep_counters(tmp_path: Path) -> None:
    config = {"access_threshold": 3, "bloom_filter": runtime.CountingBloom(1000, 0.01, 8)}
    table = make_table()
    runtime.sparse_lookup(table, [1, 1], access_and_evict_config=config)
    path = tf.train.Checkpoint(table=table).write(str(tmp_path / "model"))
    other = make_table()
    tf.train.Checkpoint(table=other).read(path)
    read = np.asarray(runtime.sparse_lookup(other, [1, 2], access_and_evict_config=config))
    assert read[0].any() and not read[1].any()


KEYS = np.arange(10_000)


def test_a_probability_is_a_threshold_of_one() -> None:
    rules = admission_rules.parse({"access_probability": 0.25, "eviction_threshold": 9})
    assert (rules.access_threshold, rules.eviction_threshold, rules.access_probability) == (1, 9, 0.25)
    assert not rules.agrees(admission_rules.parse({"access_threshold": 1, "eviction_threshold": 9}))


@pytest.mark.parametrize("probability", [0.01, 0.5])
def test_rows_come_by_the_law_and_only_their_gradients_are_applied(probability: float) -> None:
    with tf.Graph().as_default():
        table = make_table(dim=1)
        config = {"access_probability": probability}
        rows = runtime.sparse_lookup(table, KEYS, access_and_evict_config=config)
        read = runtime.sparse_lookup(table, KEYS, is_train=False)
        step = gradient_descent.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows))
        with session() as opened:
            seen = np.zeros(len(KEYS), bool)
            for occurrence in range(1, 8):
                before, _ = opened.run([rows, step])
                admitted = before[:, 0] != 0
                assert admitted[seen].all()  # who is admitted stays
                share = 1 - (1 - probability) ** occurrence
                spread = (len(KEYS) * share * (1 - share)) ** 0.5
                assert abs(admitted.sum() - len(KEYS) * share) <= 4 * spread + 1
                after = opened.run(read)[:, 0]
                np.testing.assert_allclose(after[admitted], before[admitted, 0] - 1, atol=1e-6)
                assert not after[~admitted].any() and opened.run(table.size()) == admitted.sum()
                seen = admitted
