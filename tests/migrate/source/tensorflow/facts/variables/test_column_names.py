"""The names and rows of embedding columns in a report are those that TensorFlow gives them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.source.converting import converted

tf = pytest.importorskip("tensorflow").compat.v1
HEAD = "import tensorflow.compat.v1 as tf\nfc = tf.feature_column\n"
COLUMNS = """
VOCABULARY = ("a", "b")
age = fc.bucketized_column(fc.numeric_column("age"), [1, 2, 3])
crossed = fc.crossed_column(["user", age], 100)
tag = fc.categorical_column_with_vocabulary_list("tag", VOCABULARY, num_oov_buckets=2)
KEY = "shop"
first, second = fc.categorical_column_with_identity("b", 20), fc.categorical_column_with_identity("a", 20)
made = [
    fc.embedding_column(age, 3),
    fc.embedding_column(crossed, 3),
    fc.embedding_column(fc.crossed_column([crossed, "city"], hash_bucket_size=70), 3),
    fc.embedding_column(fc.weighted_categorical_column(tag, "w"), 3),
    fc.embedding_column(fc.categorical_column_with_hash_bucket(KEY, 1 + 8), 3),
    fc.embedding_column(fc.sequence_categorical_column_with_identity("seq", num_buckets=12), 3),
    fc.embedding_column(dimension=3, categorical_column=first),
    fc.shared_embedding_columns([first, second], 3)[0],
    fc.shared_embedding_columns([first, second], 3, shared_embedding_collection_name="both")[0],
]
"""
READ = "rows = fc.input_layer(features, made)\nop = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_mean(rows))\n"


def shown(text: str) -> dict[str, str]:
    """Return the rows of each record of a program, by name."""
    return {one.name: one.rows for one in converted(HEAD + text).tables}


def test_names_and_rows_are_those_of_tensorflow() -> None:
    space: dict[str, Any] = {}
    with tf.Graph().as_default():
        exec(HEAD + COLUMNS, space)
    want = {getattr(one, "shared_embedding_collection_name", None) or one.name: one for one in space["made"]}
    found = shown(COLUMNS + READ)
    assert found.keys() == want.keys()
    assert {name: eval(rows) for name, rows in found.items()} == {
        name: one.categorical_column._num_buckets for name, one in want.items()
    }


@pytest.mark.parametrize(
    ("made", "name", "rows"),
    [
        ("[fc.embedding_column(fc.categorical_column_with_identity(n, 9), 3) for n in NAMES]", "*_embedding", "9"),
        ("[fc.embedding_column(c, 3) for c in unseen()]", "*_embedding", ""),
        ("[fc.embedding_column(fc.bucketized_column(unseen(), [1, 2]), 3)]", "*_bucketized_embedding", ""),
        ("fc.shared_embedding_columns(unseen(), 3)", "*_shared_embedding", ""),
        ("[fc.embedding_column(fc.categorical_column_with_vocabulary_list('k', unseen()), 3)]", "k_embedding", ""),
    ],
)
def test_what_the_source_does_not_show_is_left_open(made: str, name: str, rows: str) -> None:
    assert shown(f"from other import unseen\nNAMES = ('a', 'b')\nmade = {made}\n{READ}") == {name: rows}


def test_a_column_is_read_by_the_input_layers_that_it_reaches() -> None:
    column = "fc.embedding_column(fc.categorical_column_with_identity('{}', 9), 3)"
    made = f"a, b, c = {', '.join(map(column.format, 'abc'))}\nmade = [*[a], *{{'b': b}}.values()]\n"
    other = "more = fc.input_layer(features, [b] + [c])\n"
    lines = {one.name: [place.line for place in one.lookups] for one in converted(HEAD + made + READ + other).tables}
    assert lines == {"a_embedding": [5], "b_embedding": [5, 7], "c_embedding": [7]}
