"""What bounds the ids of tables is what computes them, and is said once for each bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.facts import Table
from rewriter.plan.growth_lines import bound_of, growth_lines

v1 = tf.compat.v1
ROWS = 6


def words() -> Any:
    return v1.placeholder(tf.string, [None])


def numbers() -> Any:
    return v1.placeholder(tf.int64, [None])


def hashed() -> Any:
    return tf.strings.to_hash_bucket_fast(words(), ROWS)


def with_oov() -> Any:
    known = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    return tf.lookup.StaticVocabularyTable(known, ROWS - 2).lookup(words())


def dataset(buckets: int) -> Any:
    data = tf.data.Dataset.from_tensors(["a"]).map(lambda word: tf.strings.to_hash_bucket_fast(word, buckets))
    return v1.data.make_one_shot_iterator(data).get_next()


WAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "fed": (numbers, ""),
    "computed": (lambda: tf.maximum(tf.reshape(numbers(), [-1]) * 2 - 1, 0), ""),
    "hashed": (hashed, "buckets"),
    "divided": (lambda: numbers() % ROWS, "buckets"),
    "of fewer buckets": (lambda: tf.strings.to_hash_bucket_strong(words(), ROWS - 1, [1, 2]) + 1, "buckets"),
    "words and buckets": (with_oov, "vocabulary"),
    "clipped": (lambda: tf.clip_by_value(numbers(), 0, ROWS - 1), "range"),
    "boundaries": (lambda: tf.raw_ops.Bucketize(input=v1.placeholder(tf.float32, [None]), boundaries=[1.0]), "range"),
    "replaced": (lambda: tf.where((ids := numbers()) >= tf.cast(ROWS, tf.int64), tf.zeros_like(ids), ids), "range"),
    "constant": (lambda: tf.constant([1, 2]), "range"),
    "a dataset's": (lambda: dataset(ROWS), "dataset"),
    "raw from a dataset": (lambda: dataset(2**40), ""),
    "python": (lambda: tf.reshape(tf.numpy_function(abs, [numbers()], tf.int64), [-1]), "unknown"),
    "of two": (lambda: tf.concat([hashed(), numbers()], 0), ""),
}


def judged(graph: tf.Graph) -> tuple[Table, ...]:
    return rewrite(graph, dry_run=True).tables


@pytest.mark.parametrize(("ids_of", "by"), WAYS.values(), ids=WAYS)
def test_what_bounds_ids(ids_of: Callable[[], Any], by: str, graph: tf.Graph) -> None:
    tf.nn.embedding_lookup(v1.get_variable("t", [ROWS, 2]), ids_of())
    (table,) = judged(graph)
    assert table.bound.by == by
    assert bool(bound_of(table)) is (by not in ("", "unknown"))


@pytest.mark.parametrize("default", [None, 0])
def test_columns(default: int | None, graph: tf.Graph) -> None:
    """Numbers beyond an identity's rows are errors in the data, unless they all become one."""
    fc = tf.feature_column
    columns = [
        fc.categorical_column_with_identity("id", ROWS, default_value=default),
        fc.categorical_column_with_hash_bucket("word", ROWS),
        fc.crossed_column(["id", "word"], ROWS),
        fc.categorical_column_with_vocabulary_list("known", ["a", "b"]),
    ]
    features = {"id": numbers(), "word": words(), "known": words()}
    v1.feature_column.input_layer(features, [fc.embedding_column(one, 2) for one in columns])
    bounds = {table.name.split("/")[1]: table.bound.by for table in judged(graph)}
    assert bounds == {
        "id_embedding": "" if default is None else "range",
        "word_embedding": "buckets",
        "id_X_word_embedding": "buckets",
        "known_embedding": "vocabulary",
    }


def test_a_sentence_for_each_bound(graph: tf.Graph) -> None:
    ids = {f"h{number}": hashed() for number in range(7)} | {"fed": numbers(), "more": hashed() * 2}
    for name, one in ids.items():
        tf.nn.embedding_lookup(v1.get_variable(name, [ROWS, 2]), one)
    assert growth_lines(judged(graph)) == [
        "`h0`, `h1`, `h2`, `h3`, `h4` and 2 more cannot grow: ids are hashed or divided into buckets; give them the "
        "setting `unbucket: true`, and each id has a row of its own",
        "`fed` can grow: each new id gets a row",
        "`more` cannot grow: ids are hashed or divided into buckets, which `unbucket` does not end, because its ids "
        "come out of `mul` (Mul), which divides nothing into buckets",
    ]


def test_a_table_that_gave_up_its_buckets_grows(graph: tf.Graph) -> None:
    tf.nn.embedding_lookup(v1.get_variable("t", [ROWS, 2], use_resource=False), hashed())
    (table,) = rewrite(graph, settings={"*": {"unbucket": True}}).tables
    assert (table.bound.by, growth_lines([table])) == ("", ["`t` can grow: each new id gets a row"])
