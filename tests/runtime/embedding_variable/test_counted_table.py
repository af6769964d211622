"""Counted tables of the public names: trained as variables are, changed by updates alone, saved as DeepRec saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import Admission, CountingBloom, Eviction, InitialRows, KeyRules, Storage
from runtime.feature_column import (
    categorical_column_with_keys,
    keyed_embedding_column,
    keyed_shared_embedding_columns,
    sequence_categorical_column_with_keys,
)
from runtime.optimizers import adagrad

v1: Any = tf.compat.v1
MATRIX = np.random.default_rng(5).normal(size=(12, 3)).astype(np.float32)
IDS = [[3, 1, 3], [0, 11, 7]]


def _start(matrix: Any = MATRIX, **fields: Any) -> InitialRows:
    return InitialRows(v1.constant_initializer(matrix), rows=len(matrix), **fields)


def _sparse() -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([3, 3, 9], tf.int64), [4, 2])


LOOKUPS = {
    "dense": (lambda table: runtime.sparse_lookup(table, IDS), lambda w: tf.nn.embedding_lookup(w, IDS)),
    "pooled": (
        lambda table: runtime.embedding_lookup_sparse(table, _sparse(), None, "sum"),
        lambda w: v1.nn.embedding_lookup_sparse(w, _sparse(), None, combiner="sum"),
    ),
    "safe": (
        lambda table: runtime.safe_embedding_lookup_sparse(table, _sparse(), None, "mean"),
        lambda w: v1.nn.safe_embedding_lookup_sparse(w, _sparse(), None, "mean"),
    ),
}


@pytest.mark.parametrize("rules", [KeyRules(), KeyRules(counts=True, storage=Storage("dram"))], ids=["plain", "counts"])
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_it_trains_as_a_variable(graph: tf.Graph, lookup: str, rules: KeyRules) -> None:
    ours, theirs = LOOKUPS[lookup]
    rules = KeyRules(initial=_start(), counts=rules.counts, storage=rules.storage)
    table = runtime.create_counted_table("user", 3, rules=rules)
    variable = v1.get_variable("w", initializer=tf.constant(MATRIX))
    one, other = ours(table), theirs(variable)
    dense, sparse = runtime.get_dense_and_sparse_variable()
    assert (dense, sparse) == ([table.variable, variable], [])
    loss = tf.reduce_sum(tf.square(one) + one) + tf.reduce_sum(tf.square(other) + other)
    train = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            got, want, _ = session.run([one, other, train])
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        assert not np.allclose(want, session.run(other))
        keys = {"dense": [0, 1, 3, 7, 11], "pooled": [3, 9], "safe": [3, 9]}[lookup]
        assert sorted(session.run(table.snapshot()[0])) == keys, "padding and reading insert nothing"


@pytest.mark.parametrize("bloom", [None, CountingBloom(100, 0.01)])
def test_a_key_is_admitted_by_the_update_that_reaches_the_threshold(graph: tf.Graph, bloom: Any) -> None:
    rules = KeyRules(Admission(3, bloom), initial=InitialRows(v1.ones_initializer(), refused=0.25))
    table = runtime.create_counted_table("user", 2, rules=rules)
    rows = runtime.sparse_lookup(table, [7])
    train = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(rows))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        read = [session.run([rows, train])[0][0, 0] for _ in range(5)]
    assert read == [0.25, 0.25, 0.25, 0.5, 0.0]


def test_a_second_optimizer_with_slots_is_refused(graph: tf.Graph) -> None:
    table = runtime.create_counted_table("user", 3, rules=KeyRules(initial=_start(), counts=True))
    loss = tf.reduce_sum(tf.square(runtime.sparse_lookup(table, IDS)))
    first = v1.train.AdagradOptimizer(0.1)
    for one in (first, v1.train.GradientDescentOptimizer(0.1), first):
        one.minimize(loss, var_list=[table.variable])
    message = "`user` has slots for one optimizer, but Adagrad and Adagrad train it: minimize the sum of the losses"
    with pytest.raises(ValueError, match=message):  # they would share an accumulator
        v1.train.AdagradOptimizer(0.1).minimize(loss, var_list=[table.variable])


def test_a_group_looks_counted_and_other_tables_up_as_each_by_itself(graph: tf.Graph) -> None:
    counted = runtime.create_counted_table("user", 3, tf.string, rules=KeyRules(initial=_start(), counts=True))
    other = runtime.create_table(tf.int64, 3, "item", v1.random_normal_initializer(seed=2))
    words = tf.RaggedTensor.from_row_lengths(tf.constant(["a", "b", "a"]), [2, 1, 0])
    ids, dense = tf.RaggedTensor.from_row_lengths(tf.constant([-4, 2], tf.int64), [0, 2]), tf.constant([[2, 3]])
    pooled = runtime.grouped_embedding_lookup_sparse(
        [(counted, words), (other, ids)], ["sum", "mean"], negative_keys=True, every_row=True
    )
    safe = runtime.grouped_safe_embedding_lookup_sparse([(other, ids), (counted, words)])
    plain = runtime.grouped_lookup([(other, dense), (counted, tf.constant(["b"]))])
    alone = [
        tf.pad(runtime.embedding_lookup_sparse(counted, words, combiner="sum"), [[0, 1], [0, 0]]),
        runtime.embedding_lookup_sparse(other, ids, negative_keys=True),
        runtime.safe_embedding_lookup_sparse(other, ids),
        runtime.safe_embedding_lookup_sparse(counted, words),
        runtime.sparse_lookup(other, dense),
        runtime.sparse_lookup(counted, tf.constant(["b"])),
    ]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        got, want = session.run([[*pooled, *safe, *plain], alone])
    for mine, single in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, single)
    assert np.any(got[0][0]) and not np.any(got[0][2]), "rows without ids at the end are zeros"


def test_columns_of_keys_are_those_of_a_range(graph: tf.Graph) -> None:
    initial = v1.constant_initializer(MATRIX)
    keys = [categorical_column_with_keys(name, tf.int64, KeyRules(initial=_start())) for name in ("item", "other")]
    stock = [tf.feature_column.categorical_column_with_identity(name, 12) for name in ("item", "other")]
    features = {"item": _sparse(), "other": tf.constant([[5], [-1], [0], [5]], tf.int64)}
    one = [
        [keyed_embedding_column(keys[0], 3)],
        keyed_shared_embedding_columns(keys, 3, shared_embedding_collection_name="a"),
    ]
    other = [
        [keyed_embedding_column(stock[0], 3, initializer=initial)],
        keyed_shared_embedding_columns(stock, 3, initializer=initial, shared_embedding_collection_name="b"),
    ]
    ours, theirs = ([v1.feature_column.input_layer(features, made) for made in both] for both in (one, other))
    assert len(runtime.tables()) == 2, "a category that is not of keys has TensorFlow's own column"
    loss = tf.add_n([tf.reduce_sum(tf.square(layer) + layer) for layer in (*ours, *theirs)])
    train = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            got, want, _ = session.run([ours, theirs, train])
            for mine, stocks in zip(got, want, strict=True):
                np.testing.assert_allclose(mine, stocks, rtol=1e-5, atol=1e-6)
    assert type(sequence_categorical_column_with_keys("s", tf.int64)).__name__ == "SequenceCategoricalColumn"


def test_training_goes_on_after_saving_dropped_rows(graph: tf.Graph, tmp_path: Path) -> None:
    table = runtime.create_counted_table(
        "user", 3, rules=KeyRules(initial=_start(), eviction=Eviction(least_norm=100.0))
    )
    variable = v1.get_variable("w", initializer=tf.constant(MATRIX))
    ids = v1.placeholder(tf.int64, [None])
    rows = [runtime.sparse_lookup(table, ids), tf.nn.embedding_lookup(variable, ids)]
    train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.add_n([tf.reduce_sum(tf.sin(row)) for row in rows]))
    saver, known = v1.train.Saver(), table.known_keys()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for batches in ([[1, 3]], [[1, 3, 7], [1, 7]]):
            for batch in batches:
                session.run(train, {ids: batch})
            got, want = session.run(rows, {ids: [1, 3, 7]})
            np.testing.assert_allclose(got, want, rtol=1e-6)
            assert not np.allclose(want[0], MATRIX[1])
            saver.save(session, str(tmp_path / "model"))
            assert session.run(known) == 0, "saving dropped all rows"
            session.run(variable.initializer)  # as dropped rows do, it starts anew


def test_strings_are_keys(graph: tf.Graph) -> None:
    table = runtime.create_counted_table("word", 2, tf.string, v1.random_normal_initializer(seed=1))
    rows = runtime.sparse_lookup(table, tf.constant(["a", "b", "a"]))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        first, second, third = session.run(rows).tolist()
    assert first == third != second


def test_what_does_not_fit_is_refused_with_the_remedy(graph: tf.Graph) -> None:
    table = runtime.create_counted_table("user", 2)
    rows = runtime.sparse_lookup(table, [1], is_grad=False)
    assert tf.gradients(rows, table.variable) == [None]
    refused: dict[str, Any] = {
        "exists already": lambda: runtime.create_counted_table("user", 2),
        "must be tf.int64, tf.int32 or tf.string": lambda: runtime.create_counted_table("b", 2, tf.float32),
        "must be a runtime.KeyRules": lambda: runtime.create_counted_table("b", 2, rules={}),
        "must be a runtime.Eviction": lambda: KeyRules(eviction=Admission(3)),
        "`threshold`": lambda: Admission(-1),
        "give create_counted_table its `rules`": lambda: runtime.sparse_lookup(
            table, [1], access_and_evict_config={"access_threshold": 1}
        ),
        "does not train the counted table": lambda: adagrad.create_hash_optimizer(0.1).apply_gradients(
            [(tf.IndexedSlices(tf.zeros([1, 2]), [1]), table.variable)]
        ),
        "has nothing to train": lambda: adagrad.create_hash_optimizer(0.1).compute_gradients(tf.reduce_sum(rows)),
    }
    for words, call in refused.items():
        with pytest.raises(ValueError, match=words):
            call()


def test_it_is_refused_in_eager_mode() -> None:
    with pytest.raises(ValueError, match="eager mode"):
        runtime.create_counted_table("eager", 2)
