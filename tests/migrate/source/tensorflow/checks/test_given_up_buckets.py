"""`--unbucket`: which ids give up their buckets, and the reasons of those that keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.report.model import Applicability, State
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, reasons
from tests.support.source.projects import convert, write

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
        ("ids = tf.cast(tf.strings.to_hash_bucket_fast(words, 9), tf.int32)\n", "casts the ids"),
        ("ids = tf.strings.to_hash_bucket_fast(words, 8)\n", "its ids have `8` buckets"),
        ("n = 9\nif small:\n    n = 8\nids = tf.strings.to_hash_bucket_fast(words, n)\n", "its ids have `n` buckets"),
        ("x = tf.placeholder(tf.uint64)\nids = tf.cast(x % 9, tf.int64)\n", "`x` have a fraction or are of uint64"),
        ("x = tf.bitcast(tf.fingerprint(w), tf.uint64)\nids = tf.cast(x % 9, tf.int64)\n", "`x` have a fraction"),
        ("x = tf.to_float(y)\nids = tf.cast(tf.floormod(x, 9), tf.int64)\n", "`x` have a fraction"),
        ("ids = tf.cast(tf.string_to_number(w) % 9, tf.int64)\n", "`tf.string_to_number(w)` have a fraction"),
        ("ids = x % 9 + 1\n", "the source does not show where its ids come from"),
        (
            "d = tf.data.Dataset.from_tensor_slices(x).map(lambda w: tf.strings.to_hash_bucket_fast(w, 9))\n"
            "ids = tf.data.make_one_shot_iterator(d).get_next()\n",
            "the source does not show where its ids come from",
        ),
        ("ids = tf.placeholder(tf.int64)\n", "the source does not show where its ids come from"),
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


NINE = "k = tf.lookup.KeyValueTensorInitializer({}, tf.range(4, dtype=tf.int64))\n"
FOUR = NINE.format('["a", "b", "c", "d"]')
NAMED = "WORDS = open('words').read().split()\nN = 5\n" + NINE.format("{}")
TABLE = "t = tf.lookup.StaticVocabularyTable(k, num_oov_buckets=N)\nids = t.lookup(words)\n"
LAYER = "ids = tf.keras.layers.StringLookup({})(words)\n"
INDEX = "ids = tf.contrib.lookup.index_table_from_{}.lookup(words)\n"
IN_FUNCTION = """
def words_of():
    words = read()
    return tf.lookup.KeyValueTensorInitializer(words, tf.range(4))
N, ROWS = 5, 9
t = tf.lookup.StaticVocabularyTable(words_of(), N)
ids = t.lookup(x)
"""


@pytest.mark.parametrize(
    ("before", "rows", "wide", "base"),
    [
        (
            FOUR + "ids = tf.lookup.StaticVocabularyTable(k, 5).lookup(w)\n",
            "9",
            "Buckets(5, 4).widest",
            "Buckets(5, 4)",
        ),
        (
            NAMED.format("WORDS") + TABLE,
            "len(WORDS) + N",
            "num_oov_buckets=Buckets(N, len(WORDS)).widest",
            "Buckets(N, len(WORDS))",
        ),
        (
            NAMED.format("tf.constant(WORDS)") + "ROWS = N + len(WORDS)\n" + TABLE,
            "ROWS",
            "=Buckets(N, len(WORDS)).widest",
            "Buckets(5, ROWS - 5)",
        ),
        (INDEX.format('tensor(tf.constant(["a"]), 8)'), "9", "Buckets(8, 1).widest)", "Buckets(8, 1)"),
        (INDEX.format('file("f", 5, vocab_size=4)'), "9", '"f", Buckets(5, 4).widest, v', "Buckets(5, 4)"),
        (LAYER.format("vocabulary=v"), "9", "StringLookup(vocabulary=v, beyond=9)(", "Buckets(1, 0, 9)"),
        (
            LAYER.format('num_oov_indices=3, mask_token="", '),
            "9",
            'StringLookup(num_oov_indices=3, mask_token="", beyond=9)(',
            "Buckets(3, 1, 9)",
        ),
        ("ROWS = flags.n\n" + LAYER.format(""), "ROWS", "StringLookup(beyond=ROWS)(", "Buckets(1, 0, ROWS)"),
    ],
)
def test_words_of_a_vocabulary_keep_their_rows(before: str, rows: str, wide: str, base: str) -> None:
    result = freed(HEAD + before + TAIL.replace("[9, 4]", f"[{rows}, 4]"))
    assert wide in result.converted and f"base_buckets={base})" in result.converted, result.converted
    assert [one.growth for one in result.tables] == ["free"] and "Buckets" not in result.tables[0].base_buckets


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (FOUR + "N = 6\n" + TABLE, "its ids have `N` buckets and the variable has `9` rows"),
        (NAMED.format("WORDS") + TABLE, "its ids have `N` buckets"),
        (IN_FUNCTION, "and the source does not show how many words there are"),
        (FOUR + "N = 5\n" + TABLE + "y = t.size()\n", "are also read by `t.size` (model.py:6)"),
        (FOUR + "N = 5\n" + TABLE + "y = tf.one_hot(t.lookup(other), 9)\n", "are also read by `tf.one_hot("),
        (INDEX.format('file("f", 5)'), "the source does not show how many words there are"),
        (
            INDEX.format('tensor(["a"])'),
            "`index_table_from_tensor` at model.py:2, and words outside of it have no bucket",
        ),
        (LAYER.format("vocabulary=v, mask_token=m"), "not by buckets"),
        (LAYER.format('vocabulary=v, output_mode="one_hot"'), "not by buckets"),
        ("n = flags.n\n" + LAYER.format("num_oov_indices=n"), "its ids"),
    ],
)
def test_vocabularies_whose_rows_are_not_known_keep_their_buckets(before: str, reason: str) -> None:
    result = freed(HEAD + before + TAIL)
    assert "widest" not in result.converted and "base_buckets" not in result.converted
    assert reason in next(one.reason for one in result.findings if one.rule == "tf-unbucket"), reasons(result)
    assert [one.growth for one in result.tables] == ["bounded"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'ids = tf.strings.to_hash_bucket_fast(words, 9, name="b")\n',
            'naming_buckets(tf.strings.to_hash_bucket_fast, 9)(words, wide_buckets(9), name="b")',
        ),
        (
            'ids = tf.identity(x % 9, "b")\n',
            "ids = naming_buckets(tf.identity, 9)(tf.cast(x, tf.int64) % wide_buckets(",
        ),
        ('N = 9\nids = tf.floormod(x, N, name=n)\ny = sess.run("b:0")\n', "naming_buckets(tf.floormod, N)("),
        (
            "def f(x, n):\n    return tf.strings.to_hash_bucket_fast(x, n)\n"
            "ids = tf.reshape(f(w, 9), [-1], name='b')\n",
            "ids = naming_buckets(tf.reshape, 9)(f(w, 9), [-1], name=",
        ),
        (
            FOUR + "t = tf.lookup.StaticVocabularyTable(k, 5)\nids = tf.identity(t.lookup(w), 'b')\n",
            "naming_buckets(tf.identity, Buckets(5, 4))(",
        ),
        ("ids = tf.identity(x % 9, name=None)\n", "ids = tf.identity(tf.cast(x"),
    ],
)
def test_names_are_those_of_the_buckets(before: str, after: str) -> None:
    assert after in (text := freed(HEAD + before + TAIL).converted), text


@pytest.mark.parametrize(
    ("before", "reader"),
    [
        ('ids = x % 9\ny = sess.run("s/mod_1:0")\n', '"s/mod_1:0"'),
        ('ids = tf.unique(x % 9, name="u")[0]\ny = sess.run("u:0")\n', '"u:0"'),
        (HASHED + 'y = graph.get_tensor_by_name("StringToHashBucketFast:0")\n', '"StringToHashBucketFast:0"'),
        ('ids = tf.keras.layers.Hashing(9)(words)\nh = Hook({"a": "hashing/Hash:0"})\n', '"hashing/Hash:0"'),
    ],
)
def test_buckets_that_other_code_reads_by_a_name_stay(before: str, reader: str) -> None:
    result = freed(HEAD + before + TAIL)
    assert "base_buckets" not in result.converted
    assert any(reader in one.reason for one in result.findings if one.rule == "tf-unbucket"), reasons(result)


@pytest.mark.parametrize(
    ("ids", "bound"),
    [
        ("(x % 18) % 9", "ids are divided into 18 buckets at model.py:2"),
        ("tf.floormod(tf.strings.to_hash_bucket_fast(x, 1000), 9)", "ids are hashed into 1,000 buckets at model.py:2"),
        ("((x % 90) % 18) % 9", "ids are divided into 18 buckets at model.py:2"),
        ("tf.concat([(x % 18) % 9, y % 9], 0)", ""),
        ("(x + 18) % 9", ""),
    ],
)
def test_what_still_bounds_ids_without_these_buckets(ids: str, bound: str) -> None:
    result = freed(HEAD + f"ids = {ids}\n" + TAIL)
    (table,) = result.tables
    assert (table.base_buckets, table.growth, table.bound) == ("9", "bounded" if bound else "free", bound)


def test_a_name_is_kept_where_the_number_of_buckets_is_known() -> None:
    body = (
        "def net(n, words):\n    W = tf.get_variable('w', [n, 4])\n"
        "    def hashed(x):\n        return tf.strings.to_hash_bucket_fast(x, n{})\n"
        "    e = tf.nn.embedding_lookup(W, {})\n    return tf.reduce_sum(e)\nloss = net(flags.n, words)\n"
    )
    named = HEAD + body.format(", name='b'", "hashed(words)") + STEP
    assert "naming_buckets(tf.strings.to_hash_bucket_fast, n)(x, wide_buckets(n), name='b')" in freed(named).converted
    apart = freed(HEAD + body.format("", "tf.identity(hashed(words), 'b')") + STEP)
    assert "`tf.identity(hashed(words), 'b')` gives names to the buckets of" in reasons(apart)
    assert "wide_buckets" not in apart.converted


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
    ("rows", "lookup", "base"),
    [
        ("L.vocabulary_size()", "StringLookup(vocabulary=v)", "L.buckets"),
        ("9", "StringLookup(vocabulary=v, beyond=9)", "Buckets(1, 0, 9)"),
    ],
)
def test_lookups_before_layers(rows: str, lookup: str, base: str) -> None:
    made = f"L = tf.keras.layers.StringLookup(vocabulary=v)\ne = tf.keras.layers.Embedding({rows}, 4)(L(x))\n"
    result = freed(KERAS.format(made))
    assert f"L = {lookup}\n" in result.converted and f"base_buckets={base})" in result.converted, result.converted
    assert "from runtime.keras import StringLookup\n" in result.converted
    assert "wide" not in freed(KERAS.format(made + "y = tf.one_hot(L(x), 9)\n")).converted


def test_layers_and_ids_in_files_of_one_program(tmp_path: Path) -> None:
    ids = "import tensorflow as tf\ndef ids_of(words):\n    return tf.keras.layers.Hashing(9)(words)\n"
    layers = "from ids import ids_of\n" + KERAS.format("e = tf.keras.layers.Embedding(9, 4)(ids_of(x))\n")
    root = write(tmp_path / "own", {"ids.py": ids, "model.py": layers})
    done = convert(root, unbucket=("all",))
    assert "Hashing(wide_buckets(9))" in done["ids.py"].converted and "base_buckets=9" in done["model.py"].converted
    other = "import tensorflow as tf\nfrom ids import ids_of\nprint(tf.one_hot(ids_of(tf.constant(['a'])), 9))\n"
    root = write(tmp_path / "shared", {"ids.py": ids, "model.py": layers, "other.py": other})
    done = convert(root, unbucket=("all",))
    assert done["ids.py"].converted == ids and "Embedding(9, 4)(" in done["model.py"].converted
    assert "in a file that other programs run, too" in reasons(done["model.py"])


def test_a_variable_and_its_ids_in_files_of_one_program(tmp_path: Path) -> None:
    ids = HEAD + "N = 9\ndef ids_of(words):\n    return tf.strings.to_hash_bucket_fast(words, N)\n"
    made = MADE.replace("[9,", "[N,")
    model = HEAD + f"from ids import N, ids_of\nids = ids_of(words)\n{made}{LOOKUP}loss = tf.reduce_sum(e)\n{STEP}"
    done = convert(write(tmp_path, {"ids.py": ids, "model.py": model}), unbucket=("all",))
    assert "wide_buckets(N)" in done["ids.py"].converted and "base_buckets=N" in done["model.py"].converted


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
        ("e = tf.keras.layers.Embedding(9, 4, mask_zero=True)(tf.keras.layers.Hashing(9)(x))\n", "masks the id 0"),
        (
            "e = tf.keras.layers.Embedding(9, 4, mask_zero=True)(tf.keras.layers.StringLookup(vocabulary=v)(x))\n",
            "masks the id 0",
        ),
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


def test_vocabularies_of_columns() -> None:
    made = "c = tf.feature_column.categorical_column_with_vocabulary_{}\n"
    text = (
        HEAD + made + "d = tf.feature_column.embedding_column(c, 4)\nx = tf.feature_column.input_layer(f, [d])\n" + STEP
    )
    for category, after in {
        'list("a", ["x"], num_oov_buckets=2)': "num_oov_buckets=Buckets(2, 1).widest)",
        'list("a", WORDS[1:], num_oov_buckets=2)': "num_oov_buckets=Buckets(2, len(WORDS[1:])).widest)",
        'file("a", "f", 40, num_oov_buckets=N)': "num_oov_buckets=Buckets(N, 40).widest)",
    }.items():
        assert after in freed(text.format(category)).converted
    for category in ('list("a", ["x"])', 'file("a", "f", num_oov_buckets=2)'):
        assert "widest" not in freed(text.format(category)).converted
    identity = freed(text.replace("vocabulary_{}", "identity('a', 9)"))
    assert "which uses numbers as ids without hashing them" in reasons(identity)


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
