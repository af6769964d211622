"""What bounds the ids of tables, as records and the summary say it."""

from __future__ import annotations

import pytest

from migrate.report.model import Report
from migrate.source.driver.summary import summary_lines
from tests.support.source.converting import HEAD, STEP, converted

MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
COLUMN = (
    "c = tf.feature_column.{}\ncolumn = tf.feature_column.embedding_column(c, 4)\n"
    "x = tf.feature_column.input_layer(features, [column])\n"
)
KERAS = (
    "import tensorflow as tf\nx = tf.keras.Input((1,), dtype=tf.string)\n"
    "e = tf.keras.layers.Embedding(9, 4)({})\nmodel = tf.keras.Model(x, e)\nmodel.compile('sgd', 'mse')\n"
)


@pytest.mark.parametrize(
    ("ids", "growth", "bound"),
    [
        ("tf.strings.to_hash_bucket_fast(words, 9)", "bounded", "ids are hashed into 9 buckets at model.py:3"),
        ("tf.string_to_hash_bucket_strong(w, num_buckets=k, key=[1, 2])", "bounded", "ids are hashed into `k` buckets"),
        (
            "tf.reshape(tf.cast(x, tf.int64) % 9000, [-1])",
            "bounded",
            "ids are divided into 9,000 buckets at model.py:3",
        ),
        ("tf.math.floormod(x, 9)", "bounded", "ids are divided into 9 buckets at model.py:3"),
        ("tf.concat([a % 9, tf.strings.to_hash_bucket_fast(b, 9)], 0)", "bounded", "buckets at model.py:3; ids are"),
        ("tf.lookup.StaticHashTable(pairs, 0).lookup(words)", "bounded", "a vocabulary, `StaticHashTable` at"),
        ('tf.io.parse_example(s, {"x": tf.io.FixedLenFeature([], tf.int64)})["x"]', "free", ""),
        ("tf.placeholder(tf.int64, [None])", "unknown", ""),
        ("x % 9 + 1", "unknown", ""),
        ("tf.where(first, x % 9, y)", "unknown", ""),
    ],
)
def test_lookups(ids: str, growth: str, bound: str) -> None:
    (table,) = converted(f"{HEAD}{MADE}e = tf.nn.embedding_lookup(W, {ids})\n{STEP}").tables
    assert (table.growth, bound in table.bound) == (growth, True), table


@pytest.mark.parametrize(
    ("category", "bound"),
    [
        ('categorical_column_with_hash_bucket("a", 9)', '`hash_bucket_size=9` of the column `"a"` at model.py:2'),
        ('crossed_column(["a", "b"], 9)', '`hash_bucket_size=9` of the cross of `["a", "b"]` at model.py:2'),
        ('categorical_column_with_identity("a", 9)', '`num_buckets=9` of the column `"a"` at model.py:2'),
        (
            'categorical_column_with_vocabulary_list("a", ["x", "y"])',
            'the vocabulary of the column `"a"` at model.py:2',
        ),
    ],
)
def test_columns(category: str, bound: str) -> None:
    (table,) = converted(HEAD + COLUMN.format(category) + STEP).tables
    assert (table.growth, table.bound) == ("bounded", bound)


@pytest.mark.parametrize(
    ("ids", "growth", "bound"),
    [
        ("tf.keras.layers.Hashing(9)(x)", "bounded", "`Hashing(9)` at model.py:3"),
        ("tf.keras.layers.StringLookup(vocabulary=v)(x)", "bounded", "a vocabulary, `StringLookup` at model.py:3"),
        ("x", "unknown", ""),
    ],
)
def test_layers(ids: str, growth: str, bound: str) -> None:
    (table,) = converted(KERAS.format(ids)).tables
    assert (table.growth, table.bound) == (growth, bound)


def test_the_summary_has_a_clause_for_each_table_that_is_known_and_a_line_for_the_others() -> None:
    second = MADE.replace("w", "v").replace("W", "V") + "f = tf.nn.embedding_lookup(V, ids)\n"
    result = converted(f"{HEAD}{MADE}e = tf.nn.embedding_lookup(W, x % 9)\n{second}{STEP}")
    lines = [*summary_lines(Report("check", "0", findings=result.findings, tables=result.tables))]
    assert lines[-3].startswith("1 table cannot grow, because of the ids: `--unbucket all` changes that where ids are")
    assert lines[-2] == "1 table: the source does not show how many ids there can be; run `migrate trial` to see"


def test_a_table_that_stays_says_nothing() -> None:
    (table,) = converted(f"{HEAD}{MADE}e = tf.nn.embedding_lookup(W, x % 9)\ny = tf.matmul(W, z)\n{STEP}").tables
    assert not table.growth and not table.bound
