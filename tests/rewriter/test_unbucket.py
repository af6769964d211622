"""Graphs that give up the buckets of their ids, against stock graphs in which each word has a row from the start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from rewriter.table_settings import TableSettings

v1 = tf.compat.v1
BUCKETS, WORDS, DIM = 11, 40, 4
TEXTS = np.array([f"w{number}" for number in range(WORDS)])
MATRIX = np.random.default_rng(1).normal(size=[BUCKETS, DIM]).astype(np.float32)
BATCHES = np.random.default_rng(2).integers(0, WORDS, [12, 9])
SETTINGS = {"*": {"unbucket": True}}


def hashed(words: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(words, BUCKETS)


def strongly(words: Any) -> Any:
    return tf.strings.to_hash_bucket_strong(words, BUCKETS, [3, 4])


def divided(words: Any) -> Any:
    return tf.strings.to_number(tf.strings.substr(words, 1, 9), tf.int64) * 7 % BUCKETS


def crossed(words: Any) -> Any:
    column = tf.sparse.from_dense(tf.expand_dims(words, 1))
    return tf.sparse.cross_hashed([column, column], BUCKETS).values


WAYS = {"fast": hashed, "strong": strongly, "remainder": divided, "crossed": crossed}


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
        shape = [BUCKETS, DIM] if callable(matrix) else None
        self.table = v1.get_variable("table", shape, initializer=matrix, use_resource=False)
        self.buckets = ids_of(self.words)
        self.rows = look(self.table, self.buckets)
        self.loss = tf.reduce_mean((self.rows - 1) ** 2)
        self.step = optimizer(0.1).minimize(self.loss)
        self.saver, self.begin = v1.train.Saver(), v1.global_variables_initializer()

    def train(self, session: Any, batches: Any) -> list[float]:
        return [float(session.run([self.loss, self.step], {self.words: TEXTS[batch]})[0]) for batch in batches]


def known(words: Any) -> Any:
    """Return the number of each word."""
    return tf.strings.to_number(tf.strings.substr(words, 1, 9), tf.int64)


def buckets_of(way: str) -> np.ndarray:
    with tf.Graph().as_default(), v1.Session() as session:
        return np.asarray(session.run(WAYS[way](tf.constant(TEXTS))))


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
    if look is pooled and way == "remainder":
        pytest.skip("a pooled lookup leaves negative ids out, which remainders are not and undivided ids may be")
    want = expected(way, look=look)
    with tf.Graph().as_default():
        model = Model(WAYS[way], MATRIX, look)
        plan = moved(model)
        assert plan.tables[0].settings.unbucket, plan.summary()
        with v1.Session() as session:
            session.run(model.begin)
            np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)
            np.testing.assert_array_equal(session.run(model.buckets, {model.words: TEXTS}), buckets_of(way))


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


def offset(words: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(words, BUCKETS - 1) + 1


KEPT = {
    "another reader": (one_hot, "are also read by `one_hot"),
    "an offset": (offset, "its ids come out of `add"),
    "32 bits": (lambda words: tf.cast(hashed(words), tf.int32), "to 32 bits: look them up as tf.int64"),
    "fed ids": (lambda words: v1.placeholder_with_default(hashed(words), [None]), "PlaceholderWithDefault"),
    "fewer buckets": (lambda words: tf.strings.to_hash_bucket_fast(words, 5), "divides ids into 5 buckets"),
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


@pytest.mark.parametrize(("parts", "frees"), [(1, True), (2, False)])
def test_a_variable_of_one_part_gives_up_its_buckets(parts: int, frees: bool) -> None:
    """Estimators of TensorFlow partition their variables, mostly into one part."""
    want = expected("fast") if frees else None
    partitioner = v1.fixed_size_partitioner(parts)
    with tf.Graph().as_default(), v1.variable_scope("", partitioner=partitioner), v1.Session() as session:
        model = Model(hashed, v1.constant_initializer(MATRIX) if frees else v1.zeros_initializer())
        plan = moved(model)
        assert plan.tables[0].settings.unbucket is frees, plan.summary()
        session.run(model.begin)
        if want:
            np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)


def test_settings_that_exclude_it() -> None:
    with pytest.raises(ValueError, match="`unbucket` and `admit_after` exclude each other"):
        TableSettings(unbucket=True, admit_after=3)
    with pytest.raises(ValueError, match="give true or false"):
        TableSettings(unbucket="yes")  # type: ignore[arg-type]
