"""Programs with embedding columns and pooled lookups, in a session and in an Estimator, against their originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair
from tests.support.verified import failures, followed, measured

SETTINGS = Settings(steps=3, batches=2)
HEAD = """
import numpy as np
import tensorflow.compat.v1 as tf

random = np.random.RandomState(0)
fc = tf.feature_column
"""
#: columns, shared columns, and both pooled lookups of one table
SESSION = (
    HEAD
    + """
tf.disable_v2_behavior()


def main():
    word = tf.placeholder(tf.string, [None], "word")
    item = tf.sparse_placeholder(tf.int64, [None, 5], "item")
    weight = tf.sparse_placeholder(tf.float32, [None, 5], "weight")
    label = tf.placeholder(tf.float32, [None], "label")
    hashed = fc.embedding_column(fc.categorical_column_with_vocabulary_list("word", list("abcdef")), 4)
    seen, target = (fc.categorical_column_with_identity(key, 30) for key in ("seen", "target"))
    shared = fc.shared_embedding_columns([seen, target], 3, combiner="sqrtn")
    dense = fc.input_layer({"word": word, "seen": item, "target": item}, [hashed, *shared])
    table = tf.get_variable("table", [30, 4], initializer=tf.random_normal_initializer(stddev=0.1))
    pooled = tf.nn.safe_embedding_lookup_sparse(table, item, combiner="sum")
    pooled += tf.nn.embedding_lookup_sparse(table, item, weight, combiner="mean")
    logit = tf.reduce_sum(tf.matmul(dense, tf.get_variable("kernel", [10, 4])) * pooled, axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
    train = tf.train.AdagradOptimizer(0.3).minimize(loss, tf.train.get_or_create_global_step())
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for _ in range(5):
            places = [[r, c] for r in range(16) for c in range(random.randint(1, 5))]
            size = len(places)
            feed = {
                word: random.choice(list("abcdef"), 16),
                item: tf.SparseTensorValue(places, random.randint(30, size=size), [16, 5]),
                weight: tf.SparseTensorValue(places, random.uniform(0.5, 2, size=size), [16, 5]),
                label: random.randint(2, size=16),
            }
            session.run([train, loss], feed)


main()
"""
)
#: what reads a table otherwise than by rows
PRODUCTS = (
    HEAD
    + """
tf.disable_v2_behavior()
wide = tf.sparse_placeholder(tf.float32, [16, 30], "wide")
pairs = tf.placeholder(tf.int64, [None, 3], "pairs")
label = tf.placeholder(tf.float32, [None], "label")
table = tf.get_variable("table", [30, 4], initializer=tf.random_normal_initializer(stddev=0.1))
squares = tf.SparseTensor(wide.indices, tf.pow(wide.values, 2), wide.dense_shape)
second = tf.pow(tf.sparse_tensor_dense_matmul(wide, table), 2)
second -= tf.sparse_tensor_dense_matmul(squares, tf.pow(table, 2))
padded = tf.concat([tf.zeros([1, 4]), table], 0)
rows = tf.reduce_sum(tf.nn.embedding_lookup(padded, pairs), axis=1)
logit = tf.reduce_sum(second * rows, axis=1) + tf.get_variable("bias", [])
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
train = tf.train.AdagradOptimizer(0.3).minimize(loss, tf.train.get_or_create_global_step())
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(5):
        places = [[r, c] for r in range(16) for c in sorted(random.choice(30, 3, replace=False))]
        values = tf.SparseTensorValue(places, random.normal(size=len(places)), [16, 30])
        session.run(train, {wide: values, pairs: random.randint(30, size=(16, 3)), label: random.randint(2, size=16)})
"""
)
PARTS = (
    HEAD
    + """
tf.disable_v2_behavior()
ids = tf.placeholder(tf.int64, [None], "ids")
with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(3)):
    table = tf.get_variable("table", [31, 4], initializer=tf.random_normal_initializer(stddev=0.1))
    kernel = tf.get_variable("kernel", [4, 1], initializer=tf.ones_initializer())
out = tf.matmul(tf.nn.embedding_lookup(table, ids, partition_strategy="mod"), kernel)
train = tf.train.MomentumOptimizer(0.3, 0.9).minimize(tf.reduce_mean(out**2))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(5):
        session.run(train, {ids: random.randint(31, size=16)})
"""
)


def pair(text: str, directory: Path) -> tuple[Pair, str]:
    return measured(directory, text, SETTINGS)


def broken(found: Pair, text: str, before: str, after: str, directory: Path) -> set[str]:
    """Return the rungs on which a changed conversion differs."""
    return {comparison.stage for comparison in failures(followed(found, directory, text, (before, after)))}


@pytest.mark.soak
def test_columns_and_pooled_lookups_of_a_session(tmp_path: Path) -> None:
    found, text = pair(SESSION, tmp_path)
    assert failures(found) == []
    assert not any("float64" in note for note in found.notes)
    names = {comparison.name for comparison in found.comparisons() if comparison.stage == "forward"}
    column = "input_layer_word_embedding_embedding_weights"
    shared = "seen_target_shared_embedding_embedding_weights"
    assert names == {f"table lookup {i}" for i in range(2)} | {f"{shared} lookup {i}" for i in range(2)} | {
        f"{column} lookup 0"
    }
    assert broken(found, text, "item, weight,", "item, None,", tmp_path) == {"forward", "loss", "gradient", "optimizer"}


def test_products_are_compared_by_loss_and_gradients(tmp_path: Path) -> None:
    found, _ = pair(PRODUCTS, tmp_path)
    assert failures(found) == []
    assert any("is read in another form" in note for note in found.notes)


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.one_case
def test_the_parts_of_a_variable_are_put_together(strategy: str, tmp_path: Path) -> None:
    found, text = pair(PARTS.replace('"mod"', f'"{strategy}"'), tmp_path)
    assert failures(found) == []
    names = {comparison.name for comparison in found.comparisons()}
    assert {"net_table [table]", "net_table [slots]", "net/kernel/part_0"} <= names
    assert broken(found, text, "sparse_lookup(table, ids", "sparse_lookup(table, ids // 2", tmp_path) >= {"gradient"}
