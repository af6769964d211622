"""Graphs whose ids are words in buckets, those of vocabularies among them, and what they compute where none share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import rewriter

v1, layers = tf.compat.v1, tf.keras.layers
BUCKETS, WORDS, DIM = 11, 40, 4
TEXTS = np.array([f"w{number}" for number in range(WORDS)])
MATRIX = np.random.default_rng(1).normal(size=[BUCKETS, DIM]).astype(np.float32)
BATCHES = np.random.default_rng(2).integers(0, WORDS, [12, 9])
_FOLDER = tempfile.TemporaryDirectory()  # removed at the end
SETTINGS = {"*": {"unbucket": True}}


def known(words: Any) -> Any:
    """Return the number of each word."""
    return tf.strings.to_number(tf.strings.substr(words, 1, 9), tf.int64)


def hashed(words: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(words, BUCKETS)


def divided(words: Any) -> Any:
    return (known(words) * 7 - 100) % BUCKETS


def crossed(words: Any) -> Any:
    """Return the buckets of words crossed with themselves."""
    column = tf.sparse.from_dense(tf.expand_dims(words, 1))
    return tf.sparse.cross_hashed([column, column], BUCKETS).values


#: Ways in which ids are divided into as many buckets as a variable has rows.
WAYS: dict[str, Callable[[Any], Any]] = {
    "fast": hashed,
    "strong": lambda words: tf.strings.to_hash_bucket_strong(words, BUCKETS, [3, 4]),
    "remainder": divided,
    "crossed": crossed,
    "layer": lambda words: layers.Hashing(BUCKETS)(words),
    "salted layer": lambda words: layers.Hashing(BUCKETS, salt=[3, 4])(words),
    "crossing layer": lambda words: layers.HashedCrossing(BUCKETS)((words, words)),
}
KNOWN, NUMBERS = [f"w{number}" for number in range(6)], [-60, -50, 0, 5, 10]


def vocabulary() -> Any:
    return tf.lookup.KeyValueTensorInitializer(tf.constant(KNOWN), tf.range(6, dtype=tf.int64))


def in_file(words: Any) -> Any:
    file = Path(_FOLDER.name, "words")
    file.write_text("\n".join(KNOWN))
    which = tf.lookup.TextFileIndex
    filled = tf.lookup.TextFileInitializer(str(file), tf.string, which.WHOLE_LINE, tf.int64, which.LINE_NUMBER)
    return tf.lookup.StaticVocabularyTable(filled, 5).lookup(words)


def numbers(words: Any) -> Any:
    return known(words) * 5 - 60


#: Ids that only partly come out of buckets, or whose buckets are not all rows of the variable.
MIXED = {
    "words and buckets": lambda words: tf.lookup.StaticVocabularyTable(vocabulary(), 5).lookup(words),
    "fewer rows than the variable has": lambda words: tf.lookup.StaticVocabularyTable(vocabulary(), 3).lookup(words),
    "words of a file": in_file,
    "one id for other words": lambda words: tf.lookup.StaticHashTable(vocabulary(), 4).lookup(words),
    "strings of Keras": lambda words: layers.StringLookup(vocabulary=KNOWN[:5], num_oov_indices=3, mask_token="w39")(
        words
    ),
    "numbers of Keras": lambda words: layers.IntegerLookup(vocabulary=NUMBERS, num_oov_indices=3, mask_token=-45)(
        numbers(words)
    ),
    "one string for all others": lambda words: layers.StringLookup(vocabulary=KNOWN)(words),
    "one number for all others": lambda words: layers.IntegerLookup(vocabulary=NUMBERS)(numbers(words)),
    "an offset": lambda words: tf.strings.to_hash_bucket_fast(words, BUCKETS - 1) + 1,
    "fewer buckets": lambda words: tf.strings.to_hash_bucket_fast(words, 5),
    "a condition": lambda words: tf.where(known(words) < 1, tf.zeros_like(hashed(words)) + 3, hashed(words)),
    "bounds": lambda words: tf.clip_by_value(divided(words), 0, BUCKETS - 1),
}


def pooled(table: Any, ids: Any) -> Any:
    rows = tf.range(tf.shape(ids, tf.int64)[0])
    sparse = tf.SparseTensor(tf.stack([rows, rows * 0], 1), ids, tf.stack([tf.size(ids, tf.int64), 1]))
    return v1.nn.safe_embedding_lookup_sparse(table, sparse, combiner="sum")


def plainly(table: Any, ids: Any) -> Any:
    return tf.nn.embedding_lookup(table, ids)


class Model:
    """A graph with words fed, its rows looked up in a variable, and a step of an optimizer."""

    def __init__(
        self,
        ids_of: Callable[[Any], Any],
        matrix: Any,
        look: Any = plainly,
        optimizer: Any = v1.train.AdamOptimizer,
        parts: int = 0,
    ) -> None:
        self.words = v1.placeholder(tf.string, [None])
        partitioner = v1.fixed_size_partitioner(parts) if parts else None
        begin = v1.zeros_initializer() if parts > 1 else v1.constant_initializer(matrix)
        self.table = v1.get_variable(
            "table", matrix.shape, initializer=begin, use_resource=False, partitioner=partitioner
        )
        self.buckets = ids_of(self.words)
        self.rows = look(self.table, self.buckets)
        #: What each element of the rows should be.
        self.goal = v1.placeholder_with_default(tf.ones([]), [])
        self.loss = tf.reduce_mean((self.rows - self.goal) ** 2)
        self.step = optimizer(0.1).minimize(self.loss)
        self.saver = v1.train.Saver()
        self.begin = [v1.global_variables_initializer(), v1.tables_initializer()]

    def train(self, session: Any, batches: Any, goals: Any = None) -> list[float]:
        wanted = [1] * len(batches) if goals is None else goals
        fed = [{self.words: TEXTS[batch], self.goal: goal} for batch, goal in zip(batches, wanted, strict=True)]
        return [float(session.run([self.loss, self.step], one)[0]) for one in fed]


def buckets_of(way: str) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        ids = (WAYS | MIXED)[way](tf.constant(TEXTS))
        session.run(v1.tables_initializer())
        return np.asarray(session.run(ids))


def expected(way: str, **settings: Any) -> list[float]:
    """Return the losses of the graph in which each word has a row, which begins as that of its bucket."""
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(known, MATRIX[buckets_of(way)], **settings)
        session.run(model.begin)
        return model.train(session, BATCHES)


def moved(model: Model, settings: Any = SETTINGS) -> rewriter.Plan:
    return rewriter.rewrite(model.words.graph, settings=settings)
