"""Categorical columns by identity, hash bucket, vocabulary list and vocabulary file below an embedding column.

verdict: exact
becomes: the categorical columns stay, with their defaults and out-of-vocabulary buckets
"""

import tempfile
from pathlib import Path

import tensorflow.compat.v1 as tf

WORDS = ["a", "b", "c", "d"]


def vocabulary_file():
    path = Path(tempfile.mkdtemp()) / "words.txt"
    path.write_text("\n".join(WORDS), encoding="utf-8")
    return str(path)


def build(words, pairs):
    columns = tf.feature_column
    listed = columns.categorical_column_with_vocabulary_list("listed", WORDS[:3], num_oov_buckets=2)
    filed = columns.categorical_column_with_vocabulary_file("filed", vocabulary_file(), 4, default_value=1)
    item = columns.categorical_column_with_identity("item", 10, default_value=0)
    start = tf.random_normal_initializer(stddev=0.5)
    inputs = tf.feature_column.input_layer(
        {"listed": words, "filed": words, "item": pairs},
        [columns.embedding_column(one, 4, initializer=start) for one in (listed, filed, item)],
    )
    out = tf.matmul(inputs, tf.get_variable("kernel", [12, 2]))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
