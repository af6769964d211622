"""Graphs that give up the buckets of their ids, against stock graphs in which each word has a row from the start."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from rewriter.table_settings import TableSettings

v1, fc, layers = tf.compat.v1, tf.feature_column, tf.keras.layers
BUCKETS, WORDS, DIM = 11, 40, 4
TEXTS = np.array([f"w{number}" for number in range(WORDS)])
MATRIX = np.random.default_rng(1).normal(size=[BUCKETS, DIM]).astype(np.float32)
BATCHES = np.random.default_rng(2).integers(0, WORDS, [12, 9])
SETTINGS = {"*": {"unbucket": True}}


def known(words: Any) -> Any:
    """Return the number of each word."""
    return tf.strings.to_number(tf.strings.substr(words, 1, 9), tf.int64)


def hashed(words: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(words, BUCKETS)


def strongly(words: Any) -> Any:
    return tf.strings.to_hash_bucket_strong(words, BUCKETS, [3, 4])


def divided(words: Any) -> Any:
    return (known(words) * 7 - 100) % BUCKETS


def crossed(words: Any) -> Any:
    column = tf.sparse.from_dense(tf.expand_dims(words, 1))
    return tf.sparse.cross_hashed([column, column], BUCKETS).values


WAYS = {"fast": hashed, "strong": strongly, "remainder": divided, "crossed": crossed}
KNOWN, NUMBERS = [f"w{number}" for number in range(6)], [-60, -50, 0, 5, 10]


def vocabulary() -> Any:
    return tf.lookup.KeyValueTensorInitializer(tf.constant(KNOWN), tf.range(6, dtype=tf.int64))


def in_file(words: Any) -> Any:
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write("\n".join(KNOWN))
    which = tf.lookup.TextFileIndex
    filled = tf.lookup.TextFileInitializer(file.name, tf.string, which.WHOLE_LINE, tf.int64, which.LINE_NUMBER)
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
    ) -> None:
        self.words = v1.placeholder(tf.string, [None])
        self.table = v1.get_variable("table", initializer=matrix, use_resource=False)
        self.buckets = ids_of(self.words)
        self.rows = look(self.table, self.buckets)
        self.loss = tf.reduce_mean((self.rows - 1) ** 2)
        self.step = optimizer(0.1).minimize(self.loss)
        self.saver = v1.train.Saver()
        self.begin = [v1.global_variables_initializer(), v1.tables_initializer()]

    def train(self, session: Any, batches: Any) -> list[float]:
        return [float(session.run([self.loss, self.step], {self.words: TEXTS[batch]})[0]) for batch in batches]


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


@pytest.mark.parametrize("look", [plainly, pooled])
@pytest.mark.parametrize("way", WAYS)
def test_words_part_from_their_buckets(way: str, look: Any) -> None:
    want = expected(way, look=look)
    with tf.Graph().as_default():
        model = Model(WAYS[way], MATRIX, look)
        plan = moved(model)
        assert plan.tables[0].settings.unbucket, plan.summary()
        with v1.Session() as session:
            session.run(model.begin)
            np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)
            np.testing.assert_array_equal(session.run(model.buckets, {model.words: TEXTS}), buckets_of(way))


@pytest.mark.parametrize("look", [plainly, pooled])
@pytest.mark.parametrize("way", MIXED)
def test_only_ids_of_buckets_part(way: str, look: Any) -> None:
    buckets = buckets_of(way)
    want = expected(way, look=look)
    with tf.Graph().as_default():
        model = Model(MIXED[way], MATRIX, look)
        plan = moved(model)
        assert plan.tables[0].buckets is not None, plan.summary()
        with v1.Session() as session:
            session.run(model.begin)
            np.testing.assert_array_equal(session.run(model.rows, {model.words: TEXTS}), MATRIX[buckets])
            np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)


@pytest.mark.parametrize(
    "optimizer", [v1.train.GradientDescentOptimizer, v1.train.AdagradOptimizer, v1.train.FtrlOptimizer]
)
def test_with_other_optimizers(optimizer: Any) -> None:
    want = expected("fast", optimizer=optimizer)
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX, optimizer=optimizer)
        moved(model)
        session.run(model.begin)
        np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)


@pytest.mark.parametrize("settings", [None, {}])
def test_a_trained_model_gives_up_its_buckets(settings: Any, tmp_path: Path) -> None:
    """The checkpoint is the original's, or one of tables that still had the buckets."""
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX)
        if settings is not None:
            moved(model, settings)
        session.run(model.begin)
        model.train(session, BATCHES[:4])
        before = session.run(model.rows, {model.words: TEXTS})
        path = model.saver.save(session, str(tmp_path / "bucketed"))
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX * 0)
        moved(model)
        session.run(model.begin)
        model.saver.restore(session, path)
        np.testing.assert_array_equal(session.run(model.rows, {model.words: TEXTS}), before)
        model.train(session, BATCHES[4:])
        after = session.run(model.rows, {model.words: TEXTS})
        assert len(np.unique(before, axis=0)) <= BUCKETS < len(np.unique(after, axis=0))
        path = model.saver.save(session, str(tmp_path / "free"))
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX * 0)
        moved(model)
        session.run(model.begin)
        model.saver.restore(session, path)
        np.testing.assert_array_equal(session.run(model.rows, {model.words: TEXTS}), after)


def one_hot(words: Any) -> Any:
    ids = hashed(words)
    tf.identity(tf.one_hot(ids, BUCKETS), "features")
    return ids


def differently(words: Any) -> Any:
    return tf.where(known(words) < 9, tf.strings.to_hash_bucket_fast(words, 5), hashed(words) % 6 + 5)


def without_others(words: Any) -> Any:
    found = tf.lookup.StaticHashTable(vocabulary(), -1).lookup(words)
    return tf.boolean_mask(found, tf.not_equal(found, -1))


def compared(ids: Any) -> Any:
    return tf.where(ids > 3, tf.zeros_like(ids), ids)


def growing(words: Any) -> Any:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    return tf.strings.to_hash_bucket_fast(words, BUCKETS) + table.size()


KEPT = {
    "another reader": (one_hot, "are also read by `one_hot"),
    "buckets that are other rows": (differently, "divide ids into buckets that are different rows: "),
    "a vocabulary alone": (without_others, "does not have get no row: give it an out-of-vocabulary bucket"),
    "a size that may change": (growing, "its ids come out of `"),
    "32 bits": (lambda words: tf.cast(hashed(words), tf.int32), "to 32 bits: look them up as tf.int64"),
    "fed ids": (lambda words: v1.placeholder_with_default(hashed(words), [None]), "PlaceholderWithDefault"),
    "more buckets": (lambda words: tf.strings.to_hash_bucket_fast(words, 12) // 2, "(FloorDiv), which divides"),
    "a comparison": (lambda words: compared(hashed(words)), "are also read by `Greater"),
}


@pytest.mark.parametrize(("ids_of", "reason"), KEPT.values(), ids=KEPT)
def test_what_keeps_its_buckets_trains_as_before_and_says_why(ids_of: Any, reason: str) -> None:
    losses = []
    for settings in (None, SETTINGS):
        with tf.Graph().as_default(), v1.Session() as session:
            model = Model(ids_of, MATRIX)
            if settings:
                plan = moved(model, settings)
                assert "keeps the buckets of its ids" in plan.summary() and reason in plan.summary(), plan.summary()
            session.run(model.begin)
            losses.append(model.train(session, BATCHES))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)


def test_words_wait_as_their_buckets_until_they_are_admitted() -> None:
    rows, counts, losses = MATRIX[buckets_of("fast")].astype(np.float64), np.zeros(WORDS, int), []
    for batch in BATCHES:
        counts += np.bincount(batch, minlength=WORDS)
        errors = rows[batch] - 1
        losses.append((errors**2).mean())
        for place, word in enumerate(batch):
            if counts[word] >= 3:
                rows[word] -= 0.1 * 2 * errors[place] / errors.size
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX, optimizer=v1.train.GradientDescentOptimizer)
        moved(model, {"*": {"unbucket": True, "admit_after": 3}})
        session.run(model.begin)
        np.testing.assert_allclose(model.train(session, BATCHES), losses, rtol=1e-5)
        found = session.run(model.rows, {model.words: TEXTS})
    np.testing.assert_allclose(found, rows, rtol=1e-5, atol=1e-6)
    assert (counts < 3).any() and (counts >= 3).any()
def column_model(column: Any, matrix: Any, words: Any) -> tuple[Any, Any]:
    """Return the loss and the step of a model with a linear part."""
    features = {"w": tf.expand_dims(words, 1)}
    begin = v1.constant_initializer(matrix)
    embedded = v1.feature_column.input_layer(features, [fc.embedding_column(column, DIM, initializer=begin)])
    linear = v1.feature_column.linear_model(features, [column])
    loss = tf.reduce_mean((tf.reduce_sum(embedded, 1, keepdims=True) + linear - 1) ** 2)
    steps = [
        v1.train.AdagradOptimizer(0.1).minimize(
            loss, var_list=[one for one in v1.trainable_variables() if wide != ("linear" in one.name)]
        )
        for wide in (True, False)
    ]
    return loss, steps


#: Columns, with the way by which the same buckets come about and the rows of their variables.
COLUMNS: dict[str, tuple[Any, str, int]] = {
    "words and buckets": (
        fc.categorical_column_with_vocabulary_list("w", KNOWN, num_oov_buckets=5),
        "words and buckets",
        BUCKETS,
    ),
    "one id for other words": (
        v1.feature_column.categorical_column_with_vocabulary_list("w", KNOWN, default_value=4),
        "one id for other words",
        6,
    ),
    "an identity": (fc.categorical_column_with_identity("w", BUCKETS, default_value=0), "remainder", BUCKETS),
}


@pytest.mark.parametrize("which", COLUMNS)
def test_feature_columns(which: str) -> None:
    losses: list[Any] = []
    column, way, rows = COLUMNS[which]
    for free in (True, False):
        with tf.Graph().as_default(), v1.Session() as session:
            words = v1.placeholder(tf.string, [None])
            given = divided(words) if way == "remainder" else words
            if not free:
                column, given = fc.categorical_column_with_identity("w", WORDS), known(words)
            loss, steps = column_model(column, MATRIX[:rows] if free else MATRIX[buckets_of(way)], given)
            if free:
                plan = rewriter.rewrite(settings=SETTINGS)
                assert len(plan.tables) == 2 and all(one.buckets for one in plan.tables), plan.summary()
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            losses.append([session.run([loss, *steps], {words: TEXTS[batch]})[0] for batch in BATCHES])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_settings_that_exclude_it() -> None:
    with pytest.raises(ValueError, match="`unbucket` and `first_rows: on demand` exclude each other"):
        TableSettings(unbucket=True, first_rows="on demand")
    with pytest.raises(ValueError, match="give true or false"):
        TableSettings(unbucket="yes")  # type: ignore[arg-type]
