"""Models of Keras that give up the buckets of `Hashing` layers, against stock ones in which each word has a row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter

layers = tf.keras.layers
BUCKETS, WORDS, DIM = 11, 40, 4
TEXTS = np.array([[f"w{number}"] for number in range(WORDS)])
MATRIX = np.random.default_rng(1).normal(size=[BUCKETS, DIM]).astype(np.float32)
LABELS = np.random.default_rng(2).normal(size=[WORDS, 1]).astype(np.float32)
SETTINGS = {"*": {"unbucket": True}}


def ones() -> Any:
    return layers.Dense(1, kernel_initializer="ones")


def functional(hashing: Any, embedding: Any) -> Any:
    words = tf.keras.Input([1], dtype=tf.string if hashing else tf.int64)
    rows = embedding(hashing(words) if hashing else words)
    return tf.keras.Model(words, ones()(layers.Flatten()(rows)))


def model(form: Any, hashing: Any, matrix: Any) -> Any:
    embedding = layers.Embedding(
        len(matrix), DIM, embeddings_initializer=tf.keras.initializers.Constant(matrix), name="words"
    )
    made = form(hashing, embedding)
    made.compile(tf.keras.optimizers.SGD(0.5), "mse")
    return made


def trained(made: Any, ids: Any) -> list[float]:
    losses: list[float] = made.fit(ids, LABELS, 8, 3, shuffle=False, verbose=0).history["loss"]
    return losses


def predicted(made: Any, ids: Any) -> Any:
    return made.predict(ids, batch_size=8, verbose=0)


@contextmanager
def freed() -> Iterator[rewriter.Installation]:
    installed = rewriter.install(settings=SETTINGS)
    try:
        yield installed
    finally:
        installed.remove()


def bucket_of(hashing: Any) -> Any:
    return np.asarray(hashing(tf.constant(TEXTS)))[:, 0]


def hashed_before(hashing: Any, embedding: Any) -> Any:
    """A model of buckets, which a dataset or the program divides ids into."""
    return functional(None, embedding)


def fewer(hashing: Any, embedding: Any) -> Any:
    return functional(layers.Hashing(5, name="five"), embedding)


def changed(hashing: Any, embedding: Any) -> Any:
    words = tf.keras.Input([1], dtype=tf.string)
    ids = layers.Lambda(lambda some: tf.strings.to_hash_bucket_fast(some, BUCKETS), (1,), dtype="int64")(words)
    return tf.keras.Model(words, ones()(layers.Flatten()(embedding(ids))))


KEPT = {
    "by the program": (hashed_before, "it was called with ids that no layer `Hashing` or `HashedCrossing` returned"),
    "fewer buckets": (fewer, "the layer `five` divides ids into 5 buckets, and the layer has 11 rows"),
    "a Lambda": (changed, "it was called with ids that no layer `Hashing` or `HashedCrossing` returned"),
}


@pytest.mark.parametrize(("form", "reason"), KEPT.values(), ids=KEPT)
@pytest.mark.one_case
def test_what_keeps_its_buckets_trains_as_before_and_says_why(form: Any, reason: str) -> None:
    hashing = layers.Hashing(BUCKETS)
    ids = bucket_of(hashing)[:, np.newaxis] if form is hashed_before else tf.constant(TEXTS)
    want = trained(model(form, hashing, MATRIX), ids)
    with freed() as installed:
        np.testing.assert_allclose(trained(model(form, hashing, MATRIX), ids), want, rtol=1e-5)
        (table,) = installed.tables.values()
        assert reason in table.buckets_kept and not table.settings.unbucket


def test_buckets_that_come_later_are_said(caplog: pytest.LogCaptureFixture) -> None:
    hashing, words = layers.Hashing(BUCKETS), tf.constant(TEXTS)
    with freed():
        made = model(functional, hashing, MATRIX)
        want = predicted(made, words)
        inner = made.get_layer("words")
        rows = np.asarray(inner(bucket_of(hashing)[:, np.newaxis]))
        assert "gave up the buckets of its ids, and from now on a bucket is an id, too" in caplog.text
    np.testing.assert_allclose(rows.sum(2), want, rtol=1e-5)
