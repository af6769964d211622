"""Models of Keras that give up the buckets of layers that divide ids, against stock ones where each word has a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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


def more(hashing: Any, embedding: Any) -> Any:
    return functional(layers.Hashing(12, name="twelve"), embedding)


def changed(hashing: Any, embedding: Any) -> Any:
    words = tf.keras.Input([1], dtype=tf.string)
    ids = layers.Lambda(lambda some: tf.strings.to_hash_bucket_fast(some, BUCKETS), (1,), dtype="int64")(words)
    return tf.keras.Model(words, ones()(layers.Flatten()(embedding(ids))))


def numbers(words: Any) -> Any:
    return tf.strings.to_number(tf.strings.substr(words, 1, 9), tf.int64)


KNOWN = [f"w{number}" for number in range(6)]
#: Layers that divide ids, and what they are called with.
LAYERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "hashed": (lambda: layers.Hashing(BUCKETS), lambda words: words),
    "salted": (lambda: layers.Hashing(BUCKETS, salt=[3, 4]), lambda words: words),
    "masked": (lambda: layers.Hashing(BUCKETS, mask_value="w7"), lambda words: words),
    "fewer buckets": (lambda: layers.Hashing(5), lambda words: words),
    "crossed": (lambda: layers.HashedCrossing(BUCKETS), lambda words: (words, words)),
    "strings": (lambda: layers.StringLookup(vocabulary=KNOWN, num_oov_indices=5), lambda words: words),
    "one string": (lambda: layers.StringLookup(vocabulary=KNOWN, mask_token="w9"), lambda words: words),
    "numbers": (lambda: layers.IntegerLookup(vocabulary=[3, 4, 5], num_oov_indices=4, mask_token=0), numbers),
    "one number": (lambda: layers.IntegerLookup(vocabulary=[3, 4, 5]), numbers),
}


class Plain(tf.keras.Model):  # type: ignore[misc]
    """The sum of the rows of each sample."""

    def __init__(self, dividing: Any, matrix: Any) -> None:
        super().__init__()
        self.dividing = dividing
        begin = tf.keras.initializers.Constant(matrix)
        self.embedding = layers.Embedding(len(matrix), DIM, embeddings_initializer=begin)

    def call(self, given: Any) -> Any:
        """Return a number for each sample."""
        return tf.reduce_sum(self.embedding(self.dividing(given) if self.dividing else given), [1, 2])


def steps(made: Any, given: Any, labels: Any, kind: str = "Adagrad") -> tuple[Any, list[float], Any]:
    """Return what a model predicts at first, its losses, and what it predicts then."""
    optimizer, losses, first = getattr(tf.keras.optimizers, kind)(0.1), list[float](), made(given)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((made(given) - labels) ** 2)
        losses.append(float(loss))
        variables = made.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return first, losses, made(given)


@pytest.mark.parametrize("kind", ["SGD", "Adagrad", "Adam"])
@pytest.mark.parametrize("way", LAYERS)
def test_what_layers_divide_parts(way: str, kind: str) -> None:
    make, change = LAYERS[way]
    words = tf.constant(TEXTS)
    bucketed = steps(Plain(make(), MATRIX), change(words), LABELS[:, 0], kind)
    ids = np.asarray(make()(change(words)))[:, 0]
    want = steps(Plain(None, MATRIX[ids]), np.arange(WORDS)[:, np.newaxis], LABELS[:, 0], kind)
    with freed() as installed:
        made = Plain(make(), MATRIX)
        first, losses, last = steps(made, change(words), LABELS[:, 0], kind)
        (table,) = installed.tables.values()
        assert table.settings.unbucket, table.buckets_kept
    np.testing.assert_array_equal(first, bucketed[0])
    np.testing.assert_allclose(losses, want[1], rtol=1e-5)
    np.testing.assert_allclose(last, want[2], rtol=1e-4)
    assert not np.allclose(last, bucketed[2], rtol=1e-3)


def test_an_optimizer_that_needs_the_matrix_is_an_error() -> None:
    with freed(), pytest.raises(ValueError, match="and the code of this optimizer would not train them"):
        steps(Plain(layers.Hashing(BUCKETS), MATRIX), tf.constant(TEXTS), LABELS[:, 0], "Ftrl")


def ragged(words: Any) -> Any:
    return tf.RaggedTensor.from_row_lengths(words[:, 0], tf.constant([0, 3, 7, 30], tf.int64))


@pytest.mark.skipif(hasattr(tf.keras, "KerasTensor"), reason="layers of Keras 3 look no ragged ids up")
@pytest.mark.parametrize("way", ["hashed", "masked", "strings"])
def test_ragged_ids_part(way: str) -> None:
    given, labels = ragged(tf.constant(TEXTS)), np.array([1.0, -1, 2, -2], np.float32)
    make, _ = LAYERS[way]
    bucketed = steps(Plain(make(), MATRIX), given, labels)
    ids = np.asarray(make()(tf.constant(TEXTS)))[:, 0]
    want = steps(Plain(None, MATRIX[ids]), ragged(tf.range(WORDS)[:, tf.newaxis]), labels)
    with freed() as installed:
        first, losses, _ = steps(Plain(make(), MATRIX), given, labels)
        (table,) = installed.tables.values()
        assert table.settings.unbucket, table.buckets_kept
    np.testing.assert_array_equal(first, bucketed[0])
    np.testing.assert_allclose(losses, want[1], rtol=1e-5)


def test_sparse_ids_keep_their_buckets() -> None:
    """Keras 3 looks them up in the whole matrix."""
    given = tf.sparse.from_dense(tf.constant(TEXTS.reshape(4, 10)))
    labels = np.array([1.0, -1, 2, -2], np.float32)
    _, want, _ = steps(Plain(layers.Hashing(BUCKETS), MATRIX), given, labels)
    with freed() as installed:
        _, losses, _ = steps(Plain(layers.Hashing(BUCKETS), MATRIX), given, labels)
        (table,) = installed.tables.values()
        assert not table.settings.unbucket
        assert "its ids are a SparseTensor" in table.buckets_kept or hasattr(tf.keras, "KerasTensor")
    np.testing.assert_allclose(losses, want, rtol=1e-5)


def test_predictions_insert_no_rows() -> None:
    with freed():
        made = model(functional, layers.Hashing(BUCKETS), MATRIX)
        predicted(made, tf.constant(TEXTS))
        made(tf.constant(TEXTS))
        (rows,) = made.get_layer("words").weights
        table = (rows if isinstance(rows, tf.Variable) else rows.value).table
        assert int(table.size()) == 0
        made.fit(tf.constant(TEXTS[:8]), LABELS[:8], 8, verbose=0)
        assert int(table.size()) == 8


KEPT = {
    "by the program": (
        hashed_before,
        "it was called with ids that do not come from a `Hashing`, `HashedCrossing`, `StringLookup`",
    ),
    "more buckets": (more, "the layer `twelve` hashes or divides ids into 12 buckets, more than the 11 rows"),
    "a Lambda": (changed, "it was called with ids that do not come from a `Hashing`, `HashedCrossing`, `StringLookup`"),
}


def test_a_vocabulary_without_a_bucket_keeps_its_ids() -> None:
    whole = layers.StringLookup(vocabulary=TEXTS[:, 0], num_oov_indices=0, name="all")
    with freed() as installed:
        made = Plain(whole, np.ones([WORDS, DIM], np.float32))
        made(tf.constant(TEXTS))
        (table,) = installed.tables.values()
        assert (
            "the layer `all` has no bucket for words outside of its vocabulary: give it num_oov_indices=1"
            in table.buckets_kept
        )


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


def saved_by_keras(made: Any, path: Path) -> Callable[[Any], Any]:
    file = str(path / "model.weights.h5")
    made.save_weights(file)
    return lambda other: other.load_weights(file)


def saved_by_tensorflow(made: Any, path: Path) -> Callable[[Any], Any]:
    file = tf.train.Checkpoint(made).write(str(path / "model"))
    return lambda other: tf.train.Checkpoint(other).read(file).expect_partial()


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("saved", [saved_by_keras, saved_by_tensorflow])
def test_rows_of_free_ids_go_where_ids_are_free(saved: Any, called: bool, tmp_path: Path) -> None:
    """Also into a model that has not been called, whose ids may be buckets yet; else restoring is an error."""
    hashing, words = layers.Hashing(BUCKETS), tf.constant(TEXTS)
    stock = model(functional, hashing, MATRIX)
    trained(stock, words)
    with freed():
        made = model(functional, hashing, MATRIX)
        trained(made, words)
        want, restore = predicted(made, words), saved(made, tmp_path)
        other = model(functional, hashing, MATRIX)
        if called:
            predicted(other, words)
        restore(other)
        np.testing.assert_array_equal(predicted(other, words), want)
        assert len(np.unique(want)) > BUCKETS
        saved(stock, tmp_path)(begun := model(functional, hashing, MATRIX))
        np.testing.assert_array_equal(predicted(begun, words), predicted(stock, words))
        restore = saved(made, tmp_path)
    installed = rewriter.install()
    try:
        with pytest.raises(ValueError, match="are of single ids, in place of buckets"):
            restore(model(functional, hashing, MATRIX))
    finally:
        installed.remove()
    with freed():
        lambda_keeps = model(changed, hashing, MATRIX)
        with pytest.raises(ValueError, match="are of single ids, in place of buckets"):
            if called:
                predicted(lambda_keeps, words)
            restore(lambda_keeps)
            lambda_keeps(words)


def test_buckets_that_come_later_are_said(caplog: pytest.LogCaptureFixture) -> None:
    hashing, words = layers.Hashing(BUCKETS), tf.constant(TEXTS)
    with freed():
        made = model(functional, hashing, MATRIX)
        want = predicted(made, words)
        inner = made.get_layer("words")
        rows = np.asarray(inner(bucket_of(hashing)[:, np.newaxis]))
        assert "have rows of their own, and from now on buckets are looked up, too" in caplog.text
    np.testing.assert_allclose(rows.sum(2), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("hashing", "also", "bound"),
    [
        (lambda: layers.Hashing(BUCKETS, name="cut"), False, ("buckets", True, "")),
        (lambda: layers.Hashing(12, name="twelve"), False, ("buckets", False, "12 buckets, more than the 11 rows")),
        (lambda: layers.StringLookup(vocabulary=["a"], name="words"), False, ("vocabulary", True, "")),
        (
            lambda: layers.StringLookup(vocabulary=["a"], num_oov_indices=0, name="words"),
            False,
            ("vocabulary", False, "no bucket for words outside of its vocabulary"),
        ),
        (lambda: layers.Hashing(BUCKETS, name="cut"), True, ("unknown", False, "")),
    ],
)
def test_what_bounds_ids_of_a_functional_model_is_known(hashing: Any, also: bool, bound: tuple[str, bool, str]) -> None:
    """`also`: the layer is called a second time, with ids as the data has them."""
    installed = rewriter.install()
    try:
        embedding = layers.Embedding(BUCKETS, DIM)
        functional(hashing(), embedding)
        if also:
            embedding(tf.keras.Input([1], dtype=tf.int64))
        (table,) = installed.tables.values()
    finally:
        installed.remove()
    by, frees, reason = bound
    assert (table.bound.by, table.bound.frees) == (by, frees)
    assert reason in table.bound.reason
    assert bool(reason) == bool(table.bound.reason)
