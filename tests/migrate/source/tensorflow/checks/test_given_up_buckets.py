"""`--unbucket`: which ids give up their buckets, and the reasons of those that keep them."""

from __future__ import annotations

import pytest

from migrate.report.model import Applicability, State
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, reasons

HASHED = "ids = tf.strings.to_hash_bucket_fast(words, 9)\n"
TAIL = MADE + LOOKUP + STEP
KERAS = (
    "import tensorflow as tf\nx = tf.keras.Input((1,), dtype=tf.string)\nn = tf.keras.Input((1,))\n{}"
    "model = tf.keras.Model(x, e)\nmodel.compile('sgd', 'mse')\n"
)


def freed(text: str, *tables: str) -> SourceResult:
    result = convert_text("model.py", text, Options(unbucket=tables or ("all",), assume=True), {})
    assert not [one for one in result.findings if one.state is State.FAILED], reasons(result)
    assert [one for one in result.tables if one.verdict is State.APPLIED], reasons(result)
    return result


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (HASHED, "to_hash_bucket_fast(words, wide_buckets(9))"),
        (
            "N = 9\nids = tf.strings.to_hash_bucket_fast(words, N)\nother = tf.one_hot(y, N)\n",
            "(words, wide_buckets(N))",
        ),
        (
            "h = tf.strings.to_hash_bucket_fast(words, 9)\nids = tf.reshape(h, [-1, 1])\ns = tf.shape(h)\n",
            "wide_buckets(9)",
        ),
        ("ids = x % 9\n", "tf.cast(x, tf.int64) % wide_buckets(9)"),
        ("x = tf.placeholder(tf.int64)\nids = x % 9\n", "ids = x % wide_buckets(9)"),
        ("ids = (a + b) % 9\n", "(tf.cast((a + b), tf.int64)) % wide_buckets(9)"),
        ("ids = tf.floormod(x, 9)\n", "tf.floormod(tf.cast(x, tf.int64), wide_buckets(9))"),
        ("ids = tf.concat([x % 9, tf.strings.to_hash_bucket_fast(y, 9)], 0)\n", "(y, wide_buckets(9))"),
        ("ids = tf.unique(tf.strings.to_hash_bucket_fast(y, 9))[0]\n", "(y, wide_buckets(9))"),
        ("def f(x):\n    return tf.strings.to_hash_bucket_fast(x, 9)\nids = f(words)\n", "(x, wide_buckets(9))"),
    ],
)
def test_what_makes_the_buckets_makes_wide_ids(before: str, after: str) -> None:
    result = freed(HEAD + before + TAIL)
    assert after in result.converted and "base_buckets=9" in result.converted, result.converted
    (table,) = result.tables
    assert (table.applicability, table.base_buckets, table.growth) == (Applicability.CHANGES_VALUES, "9", "free")
    assert "wide_buckets" not in convert_text("model.py", HEAD + before + TAIL, Options(), {}).converted


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (
            HASHED + "y = tf.one_hot(ids, 9)\n",
            "the buckets of `tf.strings.to_hash_bucket_fast(words, 9)` are also read by",
        ),
        (HASHED + "y = ids + 1\n", "are also read by `y = ids + 1` (model.py:3)"),
        (
            HASHED + "V = tf.get_variable('v', [9, 4])\nz = tf.matmul(V, V)\nf = tf.gather(V, ids)\n",
            "are also read by `tf.g",
        ),
        ("ids = tf.cast(tf.strings.to_hash_bucket_fast(words, 9), tf.int32)\n", "narrows the ids"),
        ("ids = tf.strings.to_hash_bucket_fast(words, 8)\n", "its ids have `8` buckets"),
        ("n = 9\nif small:\n    n = 8\nids = tf.strings.to_hash_bucket_fast(words, n)\n", "its ids have `n` buckets"),
        ("ids = x % 9 + 1\n", "the text does not show where its ids come from"),
        ("ids = tf.placeholder(tf.int64)\n", "the text does not show where its ids come from"),
        (
            "ids = tf.lookup.StaticHashTable(p, 0).lookup(w)\n",
            "bounded by a vocabulary, `StaticHashTable` at model.py:2",
        ),
        (HASHED + "import acme\nacme.save(ids)\n", "are also read by `acme.save(ids)` (model.py:4)"),
    ],
)
def test_other_tables_keep_their_buckets_and_convert(before: str, reason: str) -> None:
    result = freed(HEAD + before + TAIL)
    assert "wide_buckets" not in result.converted
    notes = [one for one in result.findings if one.rule == "tf-unbucket"]
    assert {one.state for one in notes} == {State.NOTED}
    assert any(reason in one.reason for one in notes), reasons(result)


def test_only_the_named_table_gives_up_its_buckets_unless_another_reads_them() -> None:
    second = MADE.replace("W", "V").replace('"w"', '"v"') + "f = tf.nn.embedding_lookup(V, y % 9)\n"
    text = HEAD + "ids = x % 9\n" + second + TAIL
    assert freed(text, "w").converted.count("wide_buckets(") == 1
    assert freed(text).converted.count("wide_buckets(") == 2
    shared = HEAD + "ids = x % 9\n" + second.replace("y % 9", "ids") + TAIL
    assert "wide_buckets" not in freed(shared, "w").converted
    assert freed(shared).converted.count("wide_buckets(") == 1


def test_a_size_that_is_a_parameter_is_the_rows_own() -> None:
    body = (
        "def net(n, words):\n    W = tf.get_variable('w', [n, 4])\n"
        "    e = tf.nn.embedding_lookup(W, tf.strings.to_hash_bucket_fast(words, n))\n    return tf.reduce_sum(e)\n"
        "loss = net(flags.n, words)\n"
    )
    assert "wide_buckets(n)" in freed(HEAD + body + STEP).converted
    rebound = body.replace("    e =", "    n = n + 1\n    e =")
    assert "wide_buckets" not in freed(HEAD + rebound + STEP).converted


def test_tables_that_are_read_in_other_ways_keep_their_buckets() -> None:
    l2 = HEAD + HASHED + MADE + LOOKUP + "loss = tf.reduce_sum(e) + tf.nn.l2_loss(W)\n" + STEP
    result = freed(l2)
    assert "wide_buckets" not in result.converted
    assert "`keeps the buckets`" not in reasons(result) and "in another way than by ids" in reasons(result)


@pytest.mark.parametrize(
    ("layers", "after"),
    [
        ("e = tf.keras.layers.Embedding(9, 4)(tf.keras.layers.Hashing(9)(x))\n", "Hashing(wide_buckets(9))(x)"),
        ("h = tf.keras.layers.HashedCrossing(num_bins=9)\ne = tf.keras.layers.Embedding(9, 4)(h((x, x)))\n", "=wide_b"),
        (
            "n = tf.keras.Input((1,), dtype='int64')\ne = tf.keras.layers.Embedding(9, 4)(n % 9)\n",
            "n % int(wide_buckets(9))",
        ),
    ],
)
def test_layers(layers: str, after: str) -> None:
    result = freed(KERAS.format(layers))
    assert after in result.converted and "Embedding(9, 4, base_buckets=9)" in result.converted, result.converted
    assert [one.state for one in result.findings if one.rule == "tf-unbucket"] == [State.APPLIED]


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        (
            "h = tf.keras.layers.Hashing(9)(x)\ny = tf.one_hot(h, 9)\ne = tf.keras.layers.Embedding(9, 4)(h)\n",
            "`tf.one_hot(",
        ),
        (
            "e = tf.keras.layers.Embedding(9, 4)(tf.keras.layers.Hashing(9, mask_value='')(x))\n",
            "bounded by `Hashing(9)`",
        ),
        ("e = tf.keras.layers.Embedding(9, 4)(n % 9)\n", "`n` may be of 32 bits"),
        ("e = tf.keras.layers.Embedding(9, 4)(n)\n", "does not show where its ids come from"),
        (
            "E = tf.keras.layers.Embedding(9, 4)\ne = E(tf.keras.layers.Hashing(9)(x))\ny = E.embeddings + 1\n",
            "`E.embeddings`",
        ),
    ],
)
def test_other_layers_keep_their_buckets(layers: str, reason: str) -> None:
    result = freed(KERAS.format(layers))
    assert "wide_buckets" not in result.converted
    assert reason in next(one.reason for one in result.findings if one.rule == "tf-unbucket"), reasons(result)


def test_columns_whose_category_others_read_keep_their_buckets() -> None:
    made = 'c = tf.feature_column.categorical_column_with_hash_bucket("a", 9)\n'
    text = (
        HEAD + made + "d = tf.feature_column.embedding_column(c, 4)\nx = tf.feature_column.input_layer(f, [d])\n" + STEP
    )
    assert '"a", wide_buckets(9))' in freed(text).converted
    spec = "p = tf.feature_column.make_parse_example_spec([d])\n"
    assert '"a", wide_buckets(9))' in freed(text + spec).converted
    other = text.replace("[d]", "[d, tf.feature_column.indicator_column(c)]")
    assert "wide_buckets" not in freed(other).converted
