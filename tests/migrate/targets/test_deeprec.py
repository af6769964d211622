"""Conversions to DeepRec, run over a stand-in with DeepRec's signatures and compared with stock TensorFlow."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
from migrate.errors import MigrateError
from migrate.report.model import Applicability, State
from tests.support.standins import deeprec
from tests.support.targets.runner import CLIPPED, OPTIMIZERS, compare, convert, model, run, words

WIDE = (
    "wide = tf.SparseTensor(tf.stack([sparse.indices[:, 0], sparse.values], 1), tf.linspace(-1.0, 2.0, 8), [6, 20])\n"
)
BODIES = {
    "lookup": "out = tf.nn.embedding_lookup(W, ids)",
    "ids of int32": 'out = tf.nn.embedding_lookup(W, pairs, partition_strategy="div", name="e")',
    "by keywords": "out = tf.nn.embedding_lookup(params=W, ids=pairs)",
    "max_norm": "out = tf.nn.embedding_lookup(W, pairs, max_norm=0.8)",
    "a list of ids": "out = tf.nn.embedding_lookup(W, [ids, ids])",
    "gather": "out = tf.gather(params=W, indices=pairs)",
    "pooled": "out = tf.nn.embedding_lookup_sparse(W, sparse, None)",
    "pooled, sum": 'out = tf.nn.embedding_lookup_sparse([W], sparse, sp_weights=None, combiner="sum")',
    "pooled, by position": 'out = tf.nn.embedding_lookup_sparse(W, sparse, None, "mod", None, "sum")',
    "safe": 'out = tf.nn.safe_embedding_lookup_sparse(W, sparse, None, "sum", 3)',
    "sparse product": WIDE + "out = tf.sparse_tensor_dense_matmul(wide, W)",
    "factorization machine": WIDE + "out = tf.sparse.sparse_dense_matmul(wide, W) ** 2"
    " - tf.sparse.sparse_dense_matmul(wide, tf.square(W))",
}
VECTOR = "out = tf.nn.embedding_lookup(W, pairs) + tf.expand_dims({}, -1)"
STAND_IN = deeprec.installed


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.one_case
def test_it_trains_as_before(body: str, optimizer: str) -> None:
    compare(model(body, optimizer), "deeprec", STAND_IN())


@pytest.mark.parametrize("lookup", ["tf.gather(b, pairs)", "tf.nn.embedding_lookup(b, pairs)"])
def test_a_vector_is_a_table_of_width_one(lookup: str) -> None:
    compare(model(VECTOR.format(lookup)), "deeprec", STAND_IN(), moved=("w", "b"))


def test_a_step_with_clipping_stays_as_it_is() -> None:
    text = model(BODIES["lookup"], "adagrad", CLIPPED)
    result = compare(text, "deeprec", STAND_IN())
    assert CLIPPED.format(optimizer=OPTIMIZERS["adagrad"]) in result.converted
    assert "the training step is left unchanged" in words(result)


def test_some_columns_of_a_lookup() -> None:
    result = compare(
        model("out = tf.pad(tf.nn.embedding_lookup(W[:, :2], ids), [[0, 0], [0, 2]])"), "deeprec", STAND_IN()
    )
    assert "lookup is left unchanged" not in words(result)


def test_what_only_the_runtime_has_keeps_the_table() -> None:
    for body in (
        "out = tf.nn.embedding_lookup([W, W2], ids)",
        "out = tf.nn.embedding_lookup_sparse([W, W2], sparse, None)",
    ):
        text = model('W2 = tf.get_variable("w2", [20, 4], initializer=tf.zeros_initializer())\n' + body)
        for target in ("rec_sdk", "deeprec", "sok"):
            assert convert(text, target, assume=True).converted == text


def test_one_hot_products_become_lookups() -> None:
    text = model("out = tf.matmul(tf.one_hot(ids, 20), W)")
    result = compare(text, "deeprec", STAND_IN(), assume=True)
    assert "tf.nn.embedding_lookup(W, tf.cast(ids, tf.int64))" in result.converted


def test_ids_that_are_int64_already_are_not_cast() -> None:
    listed = convert(model("out = tf.nn.embedding_lookup(W, [1, 2])"), "deeprec")
    assert "tf.nn.embedding_lookup(W, tf.cast([1, 2], tf.int64))" in listed.converted
    result = convert(model("x = tf.cast(pairs, tf.int64)\nout = tf.nn.embedding_lookup(W, x)"), "deeprec")
    assert "tf.nn.embedding_lookup(W, x)" in result.converted


@pytest.mark.parametrize("optimizer", ["adam", "ftrl"])
def test_an_optimizer_that_trains_otherwise_needs_an_assumption(optimizer: str) -> None:
    text = model(BODIES["lookup"], optimizer)
    assert convert(text, "deeprec").converted == text
    result = convert(text, "deeprec", assume=True)
    (table,) = [table for table in result.tables if table.name == "w"]
    assert (table.verdict, table.applicability) == (State.APPLIED, Applicability.CHANGES_VALUES)
    with STAND_IN():
        run(result.converted)


@pytest.mark.parametrize("optimizer", ["momentum", "lazy_adam"])
def test_an_optimizer_that_it_lacks_keeps_the_tables(optimizer: str) -> None:
    text = model(BODIES["lookup"], optimizer)
    result = convert(text, "deeprec", assume=True)
    assert result.converted == text
    assert "DeepRec has no table optimizer that computes the same" in words(result)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("out = tf.nn.embedding_lookup(W, ids)\nloss = tf.nn.l2_loss(W)", "DeepRec has no function for the rows"),
        (
            "out = tf.nn.embedding_lookup(W, ids)\n"
            "loss = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])",
            "cannot be read as a whole",
        ),
    ],
)
def test_an_idiom_that_it_lacks_keeps_the_table(body: str, says: str) -> None:
    text = model(body)
    result = convert(text, "deeprec", assume=True)
    assert result.converted == text
    assert says in words(result)
    assert convert(text, "runtime", assume=True).converted != text, "the runtime has it"


def test_layers_stay() -> None:
    text = (
        "import tensorflow as tf\nm = tf.keras.Sequential([tf.keras.layers.Embedding(9, 4)])\n"
        "m.compile('sgd')\nm.fit(x, y)\n"
    )
    assert convert(text, "runtime").converted != text
    result = convert(text, "deeprec", assume=True)
    assert result.converted == text
    assert "DeepRec has no" in words(result)


def test_switches_become_options() -> None:
    text = model(BODIES["lookup"], "adagrad")
    result = convert(text, "deeprec", admission=2, eviction="5000steps", cache_mode="SSD")
    assert result.converted.startswith(
        "import tensorflow.compat.v1 as tf\nfrom tensorflow.core.framework.embedding import config_pb2\n"
    )
    for part in ("CounterFilter(filter_freq=2)", "GlobalStepEvict(steps_to_live=5000)", "StorageType.DRAM_SSDHASH"):
        assert part in result.converted
    with STAND_IN():
        run(result.converted)
    (table,) = [table for table in result.tables if table.name == "w"]
    assert table.applicability is Applicability.CHANGES_VALUES
    assert "fewer than 2 times read zeros" in words(result)
    assert "pass a global_step to `minimize` or `apply_gradients`" in words(result)


@pytest.mark.parametrize("mode", ["DDR", "SSD"])
@pytest.mark.one_case
def test_tables_in_memory_are_made_on_the_cpu(mode: str) -> None:
    """As in DeepRec's guide: only the operators of the CPU have several tiers."""
    text = model(BODIES["lookup"], "adagrad")
    converted = convert(text, "deeprec", cache_mode=mode).converted
    assert '    with tf.device("/cpu:0"):\n        W = tf.get_embedding_variable(' in converted
    assert convert(converted, "deeprec", cache_mode=mode).converted == converted
    elsewhere = converted.replace('with tf.device("/cpu:0"):', 'with tf.device("/gpu:0"):')
    with STAND_IN(), pytest.raises(ValueError, match="not made under"):
        run(elsewhere)
    with STAND_IN():
        run(converted)
    assert "tf.device" not in convert(text, "deeprec", cache_mode="HBM").converted


@pytest.mark.parametrize("indent", ["    ", "\t"])
@pytest.mark.one_case
def test_a_table_within_a_statement_is_named(indent: str) -> None:
    made = "tf.get_variable('w', [9, 4], initializer=tf.zeros_initializer())"
    text = (
        "import tensorflow.compat.v1 as tf\n\n\ndef build(ids, again):\n"
        f"{indent}W = {made}; n = 1\n{indent}if again: V = {made.replace('w', 'v')}\n"
        f"{indent}e = tf.nn.embedding_lookup(W, ids) * n + tf.nn.embedding_lookup(V, ids)\n"
        f"{indent}return tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(e))\n"
    )
    result = convert(text, "deeprec", assume=True, cache_mode="SSD")
    assert f'{indent}with tf.device("/cpu:0"):\n{indent * 2}W = tf.get_embedding_variable(' in result.converted
    assert "`V` is made within a statement: ; make it under `with tf.device" in words(result)


@pytest.mark.parametrize(
    ("switches", "says"),
    [
        ({"eviction": "86400"}, "5000steps"),
        ({"modify_graph": True}, "--modify-graph"),
        ({"multi_lookup": True}, "--multi-lookup"),
        ({"cache_mode": "HBM", "admission": 2}, "in HBM"),
    ],
)
def test_a_switch_that_it_lacks_is_an_error(switches: dict[str, object], says: str) -> None:
    with pytest.raises(MigrateError, match=says):
        convert(model(BODIES["lookup"]), "deeprec", **switches)


def test_hbm_has_two_optimizers() -> None:
    text = model(BODIES["lookup"], "sgd")
    assert convert(text, "deeprec", cache_mode="HBM").converted == text
    assert "StorageType.HBM" in convert(model(BODIES["lookup"], "adagrad"), "deeprec", cache_mode="HBM").converted


def test_it_is_recognised() -> None:
    for body in BODIES.values():
        once = convert(model(body), "deeprec").converted
        assert convert(once, "deeprec", assume=True).converted == once
        elsewhere = convert(once, "runtime", assume=True)
        assert elsewhere.converted == once and "python -m runtime.compat.deeprec" in words(elsewhere)


def test_every_optimizer_is_known_or_refused() -> None:
    assert {*OPTIMIZERS} == {"sgd", "adagrad", "adam", "ftrl", "momentum", "lazy_adam"}
