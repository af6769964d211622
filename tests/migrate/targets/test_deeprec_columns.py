"""Embedding columns converted to DeepRec: run over the façade, compared with stock TensorFlow."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")
import tensorflow as tensorflow

from migrate.report.model import Applicability, State
from tests.support.targets.facades import deeprec_installed
from tests.support.targets.runner import convert, words

tf = tensorflow.compat.v1
STEPS = 5
HEAD = "import tensorflow.compat.v1 as tf\nfc = tf.feature_column\n\n"
BUILD = HEAD + (
    """def build(features, labels):
    start = tf.constant_initializer(0.2)
{columns}
    {read}
    kernel = tf.get_variable("kernel", [x.shape[-1], 1], initializer=tf.ones_initializer())
    labels = tf.reshape(labels, [8] + [1] * (x.shape.rank - 1))
    loss = tf.reduce_mean(tf.square(tf.tensordot(tf.tanh(x), kernel, 1) - labels))
    return loss, {optimizer}.minimize(loss)
"""
)
LAYER = "x = fc.input_layer(features, [{}])"
FLAT = LAYER.format("e")
OVER = "\ne = fc.embedding_column(c, 4, initializer=start)"
#: Name -> the columns, and what reads them.
COLUMNS = {
    "identity": ("c = fc.categorical_column_with_identity('item', 30)" + OVER, FLAT),
    "shared": (
        "a, b = fc.categorical_column_with_identity('item', 30), fc.categorical_column_with_identity('seen', 30)\n"
        "shared = fc.shared_embedding_columns([a, b], 5, combiner='sum', initializer=start)",
        LAYER.format("*shared"),
    ),
    "weighted": (
        "a = fc.categorical_column_with_identity('seen', 30)\nc = fc.weighted_categorical_column(a, 'weight')" + OVER,
        FLAT,
    ),
    "in a loop": (
        "columns = []\nfor key in ('item', 'seen'):\n    c = fc.categorical_column_with_identity(key, 30)\n"
        "    columns.append(fc.embedding_column(c, 4, initializer=start))",
        LAYER.format("*columns"),
    ),
    "texts in buckets": ("c = fc.categorical_column_with_hash_bucket('user', 1000)" + OVER, FLAT),
    "numbers in buckets": ("c = fc.categorical_column_with_hash_bucket('item', 10000, dtype=tf.int64)" + OVER, FLAT),
    "vocabulary": (
        "c = fc.categorical_column_with_vocabulary_list('user', ['a', 'b', 'c', 'd', 'e', 'f'])" + OVER,
        FLAT,
    ),
    "sequence": (
        "c = fc.sequence_categorical_column_with_identity('seen', 30)" + OVER,
        "x, _ = tf.keras.experimental.SequenceFeatures([e])({'seen': tf.sparse.from_dense(features['seen'] + 1)})",
    ),
    "DenseFeatures": (
        "c = fc.categorical_column_with_identity('item', 30)" + OVER,
        "x = tf.keras.layers.DenseFeatures([e])(features)",
    ),
}
OPTIMIZERS = {"sgd": "tf.train.GradientDescentOptimizer(0.3)", "adagrad": "tf.train.AdagradOptimizer(0.3)"}


def model(columns: str, read: str = FLAT, optimizer: str = "sgd") -> str:
    lines = "\n".join(f"    {line}" for line in columns.splitlines())
    return BUILD.format(columns=lines, read=read, optimizer=OPTIMIZERS[optimizer])


def losses(text: str, around: AbstractContextManager[Any]) -> list[float]:
    """Train on seeded batches: ids repeat, some examples have none."""
    random = np.random.RandomState(4)
    batches = {
        "user": random.choice(list("abcdef"), (STEPS, 8, 2)),
        "friend": random.choice(list("abcdef"), (STEPS, 8, 1)),
        "seen": random.randint(-1, 29, (STEPS, 8, 3)),
        "item": random.randint(0, 30, (STEPS, 8, 1)),
    }
    batches["weight"] = np.where(batches["seen"] < 0, 0.0, 1.0 + random.rand(STEPS, 8, 3)).astype(np.float32)
    batches["seen"][:, 1] = -1
    batches["weight"][:, 1] = 0
    labels = random.rand(STEPS, 8, 1).astype(np.float32)
    with around, tf.Graph().as_default(), tf.Session() as session:
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        features, label = tf.data.make_one_shot_iterator(
            tf.data.Dataset.from_tensor_slices((batches, labels))
        ).get_next()
        loss, train = space["build"](features, label)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return [float(session.run([loss, train])[0]) for _ in range(STEPS)]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(("columns", "read"), COLUMNS.values(), ids=COLUMNS)
def test_it_trains_as_before(columns: str, read: str, optimizer: str) -> None:
    text = model(columns, read, optimizer)
    result = convert(text, "deeprec", assume=True)
    assert {table.verdict for table in result.tables} == {State.APPLIED}, words(result)
    assert "categorical_column_with_embedding(" in result.converted
    assert OPTIMIZERS[optimizer] + ".minimize(loss)" in result.converted, "the training step stays"
    want = losses(text, nullcontext())
    np.testing.assert_allclose(losses(result.converted, deeprec_installed()), want, rtol=1e-5)
    assert len({round(loss, 4) for loss in want}) == STEPS
    again = convert(result.converted, "deeprec", assume=True)
    assert again.converted == result.converted
    assert {table.verdict for table in again.tables} == {State.NOTED}, "nothing is left to do"
    elsewhere = convert(result.converted, "runtime", assume=True)
    assert elsewhere.converted == result.converted and "python -m runtime.compat.deeprec" in words(elsewhere)


IDENTITY = "c = fc.categorical_column_with_identity('item', 30{})" + OVER
PARSED = {
    "by the columns": "spec = fc.make_parse_example_spec([e])",
    "by hand": "spec = {'item': tf.io.FixedLenFeature([1], tf.int64)}",
}


@pytest.mark.parametrize("parsed", PARSED.values(), ids=PARSED)
def test_a_range_of_parsed_ids_is_exact(parsed: str) -> None:
    text = model(IDENTITY.format("") + f"\n{parsed}\nfeatures = tf.io.parse_example(features, spec)")
    result = convert(text, "deeprec")
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}, words(result)
    narrow = convert(text.replace("tf.int64", "tf.int32"), "deeprec")
    assert (narrow.converted == text.replace("tf.int64", "tf.int32")) == ("tf.int64" in parsed)


def test_values_that_shared_a_bucket_get_rows_of_their_own() -> None:
    columns = "c = fc.categorical_column_with_hash_bucket('user', 2)" + OVER
    text = model(columns)
    got = losses(convert(text, "deeprec", assume=True).converted, deeprec_installed())
    want = losses(text, nullcontext())
    assert got[0] == pytest.approx(want[0])
    assert not np.allclose(got, want, rtol=1e-4)


#: Columns that stay, and why.
KEPT = {
    "crossed": ("c = fc.crossed_column(['item', 'seen'], 50)" + OVER, "over a `crossed_column`"),
    "buckets of numbers": (
        "c = fc.bucketized_column(fc.numeric_column('age'), [1, 2])" + OVER,
        "over a `bucketized_column`",
    ),
    "also an indicator": (IDENTITY.format("") + "\ni = fc.indicator_column(c)", "code other than embedding columns"),
    "a column that is not trained": (
        IDENTITY.format("") + "\nf = fc.embedding_column(c, 4, trainable=False)",
        "uses the same category and is left",
    ),
    "a list": (
        "cats = [fc.categorical_column_with_identity(k, 30) for k in ('item', 'seen')]\n"
        "e = fc.shared_embedding_columns(cats, 4, initializer=start)",
        "the list is not written here",
    ),
    "another type": (
        "c = fc.categorical_column_with_hash_bucket('item', 90, tf.int32)" + OVER,
        "int64 or strings",
    ),
    "weighted sequence": (
        "a = fc.sequence_categorical_column_with_identity('seen', 30)\nc = fc.weighted_categorical_column(a, 'weight')"
        + OVER,
        "has no weighted category of sequences",
    ),
    "two vocabularies, shared": (
        "a = fc.categorical_column_with_vocabulary_list('user', ['a', 'b'])\n"
        "b = fc.categorical_column_with_vocabulary_list('other', ['c', 'd'])\n"
        "shared = fc.shared_embedding_columns([a, b], 4, initializer=start)",
        "at the same position in two vocabularies shared a row",
    ),
    "an argument": (
        IDENTITY.format("").replace("start)", "start, use_safe_embedding_lookup=False)"),
        "no such argument",
    ),
}


@pytest.mark.parametrize(("columns", "says"), KEPT.values(), ids=KEPT)
def test_what_stays_says_why(columns: str, says: str) -> None:
    text = model(columns)
    result = convert(text, "deeprec", assume=True)
    assert result.converted == text
    assert says in words(result)


def test_switches_are_options_of_the_category() -> None:
    text = model(IDENTITY.format(""), optimizer="adagrad")
    result = convert(text, "deeprec", assume=True, admission=2, eviction="500steps", cache_mode="SSD")
    for part in ("CounterFilter(filter_freq=2)", "GlobalStepEvict(steps_to_live=500)", "StorageType.DRAM_SSDHASH"):
        assert part in result.converted
    assert {table.applicability for table in result.tables} == {Applicability.CHANGES_VALUES}
    assert 'read the columns under `with tf.device("/cpu:0"):`' in words(result)
    read = re.compile(r"^( *)(.*input_layer\()", re.MULTILINE)
    by_hand, number = read.subn(r'\1with tf.device("/cpu:0"):\n\1    \2', result.converted)
    assert number == 1
    losses(by_hand, deeprec_installed())
