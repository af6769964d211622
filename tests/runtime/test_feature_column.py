"""Columns over tables beside TensorFlow's own, through TensorFlow's own input layers: the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
import runtime.feature_column as ours
from runtime import get_dense_and_sparse_variable, tables
from runtime.optimizers import adagrad

v1: Any = tf.compat.v1
fc: Any = tf.feature_column
VALUES = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)


class Block:
    """An initializer whose rows differ, for stock columns; tables get the same rows by import."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        return tf.constant(VALUES[: shape[0], : shape[1]])

    def get_config(self) -> dict[str, Any]:
        return {}


def features() -> dict[str, Any]:
    tags = tf.sparse.SparseTensor([[0, 0], [0, 1], [2, 0]], ["x", "y", "z"], [3, 2])
    weights = tf.sparse.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 2.0, 0.5], [3, 2])
    return {
        "user": tf.constant([["a", "b"], ["c", ""], ["", ""]]),
        "item": tf.constant([[1], [2], [7]], tf.int64),
        "hist": tf.constant([[1, 2], [2, -1], [3, 3]], tf.int64),
        "tags": tags,
        "tag_weights": weights,
        "age": tf.constant([[0.1], [0.2], [0.3]]),
    }


def columns(embedding: Callable[..., Any], shared: Callable[..., Any], initializer: Any) -> list[Any]:
    user = fc.categorical_column_with_hash_bucket("user", 50)
    item, hist = (fc.categorical_column_with_identity(key, 10) for key in ("item", "hist"))
    tags = fc.categorical_column_with_vocabulary_list("tags", ["x", "y"], num_oov_buckets=2)
    return [
        fc.numeric_column("age"),
        embedding(user, 4, initializer=initializer),
        embedding(fc.weighted_categorical_column(tags, "tag_weights"), 3, "sqrtn", initializer, max_norm=0.8),
        *shared([item, hist], 5, combiner="sum", initializer=initializer),
    ]


def run(embedding: Any, shared: Any, initializer: Any, train: Callable[[Any], Any], fill: bool) -> list[Any]:
    with tf.Graph().as_default(), v1.Session() as session:
        inputs = v1.feature_column.input_layer(features(), columns(embedding, shared, initializer))
        kernel = v1.get_variable("kernel", [inputs.shape[1], 1], initializer=v1.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(inputs, kernel) - 1.0))
        step = train(loss)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        if fill:
            for table in tables():
                session.run(table.import_rows(np.arange(60), VALUES[:, : table.dim]))
        return [session.run([loss, inputs, step])[:2] for _ in range(4)]


def stock_step(loss: Any) -> Any:
    return v1.train.AdagradOptimizer(0.1).minimize(loss)


def split_step(loss: Any) -> Any:
    dense, sparse = get_dense_and_sparse_variable()
    first, second = v1.train.AdagradOptimizer(0.1), adagrad.create_hash_optimizer(0.1, 0.1)
    grads = first.compute_gradients(loss, dense + sparse)
    return tf.group(first.apply_gradients(grads[: len(dense)]), second.apply_gradients(grads[len(dense) :]))


def test_an_input_layer_gives_and_trains_the_same() -> None:
    want = run(fc.embedding_column, v1.feature_column.shared_embedding_columns, Block(), stock_step, False)
    zeros = v1.zeros_initializer()
    got = run(ours.embedding_column, ours.shared_embedding_columns, zeros, split_step, True)
    for (loss, inputs), (our_loss, our_inputs) in zip(want, got, strict=True):
        np.testing.assert_allclose(our_loss, loss, rtol=1e-5)
        np.testing.assert_allclose(our_inputs, inputs, rtol=1e-5, atol=1e-6)
    assert want[3][0] < want[0][0]


def test_a_lookup_that_is_not_safe_takes_ids_of_any_rank_as_the_stock_one() -> None:
    item = fc.categorical_column_with_identity("item", 10)
    found = []
    for make, initializer in ((fc.embedding_column, Block()), (ours.embedding_column, v1.zeros_initializer())):
        column = make(item, 4, "sum", initializer, use_safe_embedding_lookup=False)
        with tf.Graph().as_default(), v1.Session() as session:
            ids = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 0, 1]], tf.constant([1, 2, 7], tf.int64), [3, 1, 2])
            rows = v1.feature_column.input_layer({"item": ids}, [column])
            session.run(v1.global_variables_initializer())
            for table in tables():
                session.run(table.import_rows(np.arange(60), VALUES[:, : table.dim]))
            found.append(session.run(rows))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_names_are_those_of_the_variables() -> None:
    with tf.Graph().as_default():
        v1.feature_column.input_layer(features(), columns(ours.embedding_column, ours.shared_embedding_columns, None))
        assert [table.table_name for table in tables()] == [
            "hist_item_shared_embedding_embedding_weights",
            "input_layer_tags_weighted_by_tag_weights_embedding_embedding_weights",
            "input_layer_user_embedding_embedding_weights",
        ]


def test_reuse_gives_the_same_table() -> None:
    column = ours.embedding_column(fc.categorical_column_with_identity("item", 10), 4)
    with tf.Graph().as_default():
        for _ in range(2):
            with v1.variable_scope("tower", reuse=v1.AUTO_REUSE):
                v1.feature_column.input_layer({"item": tf.constant([[1]], tf.int64)}, [column])
        assert len(tables()) == 1


def test_a_long_name_is_cut_and_stays_its_own() -> None:
    with tf.Graph().as_default():
        for last in "ab":
            column = ours.embedding_column(fc.categorical_column_with_identity("k" * 120 + last, 10), 4)
            v1.feature_column.input_layer({"k" * 120 + last: tf.constant([[1]], tf.int64)}, [column])
        names = [table.table_name for table in tables()]
    assert len(set(names)) == 2
    assert all(len(name) == 100 for name in names)


def test_an_untrained_input_layer_has_no_gradient() -> None:
    column = ours.embedding_column(fc.categorical_column_with_identity("item", 10), 4)
    with tf.Graph().as_default():
        rows = v1.feature_column.input_layer({"item": tf.constant([[1]], tf.int64)}, [column], trainable=False)
        assert tf.gradients(rows, [tables()[0].variable]) == [None]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trainable": False}, "needs trainable=True"),
        ({"ckpt_to_load_from": "a", "tensor_name_in_ckpt": "b"}, "warm_start"),
        ({"dimension": 0}, "dimension"),
    ],
)
def test_what_a_table_cannot_do(settings: dict[str, Any], message: str) -> None:
    column = fc.categorical_column_with_identity("item", 10)
    with pytest.raises(ValueError, match=message):
        ours.embedding_column(column, **{"dimension": 4, **settings})


has_layer = pytest.mark.skipif(not hasattr(tf.keras.layers, "DenseFeatures"), reason="Keras 3 has no DenseFeatures")


@has_layer
def test_dense_features_in_keras_trains_the_same() -> None:
    data = {"item": np.array([[1], [2], [7], [2]]), "age": np.ones((4, 1), np.float32)}
    labels = np.arange(4, dtype=np.float32)[:, None]

    def fit(embedding: Any, fill: bool) -> Any:
        item = fc.categorical_column_with_identity("item", 10)
        column = embedding(item, 4, initializer=v1.zeros_initializer() if fill else Block())
        layer = tf.keras.layers.DenseFeatures([column, fc.numeric_column("age")])
        model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile("adam", "mse")
        model.predict(data, verbose=0)
        if fill:
            layer._trainable_weights[0].table.import_rows(np.arange(10), VALUES[:10, :4])
        history = model.fit(data, labels, epochs=4, batch_size=2, shuffle=False, verbose=0).history["loss"]
        return history, model.predict(data, verbose=0)

    (want, predicted), (got, ours_predicted) = fit(fc.embedding_column, False), fit(ours.embedding_column, True)
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(ours_predicted, predicted, rtol=1e-4)
    assert want[-1] < want[0]


@has_layer
def test_evaluation_in_keras_inserts_nothing() -> None:
    layer = tf.keras.layers.DenseFeatures([ours.embedding_column(fc.categorical_column_with_identity("item", 10), 4)])
    layer({"item": tf.constant([[1]])}, training=False)
    (anchor,) = layer.trainable_weights
    assert int(anchor.table.size()) == 0
    layer({"item": tf.constant([[1]])}, training=True)
    assert int(anchor.table.size()) == 1


DATA = {"item": np.array([1, 2, 7, 2], np.int32), "age": np.ones(4, np.float32)}
LABELS = np.arange(4, dtype=np.float32)[:, None]


def fitted(*, seed: int, functional: bool = True) -> Any:
    """Return a model with two layers over one column, after two steps."""
    column = ours.embedding_column(fc.categorical_column_with_identity("item", 10), 4)
    first, second = (tf.keras.layers.DenseFeatures(one) for one in ([column, fc.numeric_column("age")], [column]))
    tf.keras.utils.set_random_seed(seed)
    if functional:
        inputs = {name: tf.keras.Input(name=name, shape=(), dtype=one.dtype) for name, one in DATA.items()}
        both = tf.keras.layers.concatenate([first(inputs), second(inputs)])
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(both))
    else:
        model = tf.keras.Sequential([first, tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(DATA, LABELS, epochs=2, verbose=0)
    return model


@has_layer
@pytest.mark.parametrize(
    ("file", "functional"),  # Keras itself loads no sequential model of a dict of features
    [("m.keras", True), ("m.weights.h5", True), ("m.weights.h5", False), ("checkpoint", True), ("checkpoint", False)],
)
@pytest.mark.one_case
def test_rows_and_slots_are_in_the_files_of_keras(tmp_path: Any, file: str, functional: bool) -> None:
    model, path = fitted(seed=1, functional=functional), str(tmp_path / file)
    if file == "m.keras":
        model.save(path)
        loaded = tf.keras.models.load_model(path)
    else:
        model.save_weights(path)
        loaded = fitted(seed=2, functional=functional)
        loaded.load_weights(path)
    found = []
    for one in (model, loaded):
        before = one.predict(DATA, verbose=0)
        found.append([before, one.fit(DATA, LABELS, epochs=2, verbose=0).history["loss"]])
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-6)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-6)


@has_layer
def test_a_file_without_rows_is_refused(tmp_path: Any) -> None:
    layer = fitted(seed=1, functional=False).layers[0]
    with pytest.raises(ValueError, match="the file has no table rows"):
        layer.load_own_variables({"1": np.zeros((10, 4), np.float32)})
    column = fc.embedding_column(fc.categorical_column_with_identity("item", 10), 4)
    stock = tf.keras.Sequential([tf.keras.layers.DenseFeatures([column]), tf.keras.layers.Dense(1)])
    stock.predict(DATA, verbose=0)
    stock.save_weights(tmp_path / "m.weights.h5")
    before = stock.get_weights()[0]
    stock.layers[0].set_weights([before + 1])
    stock.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_array_equal(stock.get_weights()[0], before)
    with pytest.raises(ValueError, match="expected 1 variables"):
        stock.layers[0].load_own_variables({})


@has_layer
def test_a_strategy_is_refused() -> None:
    column = ours.embedding_column(fc.categorical_column_with_identity("item", 10), 4)
    with tf.distribute.MirroredStrategy(["cpu:0"]).scope():
        layer = tf.keras.layers.DenseFeatures([column])
        with pytest.raises(RuntimeError, match=r"outside of strategy.scope"):
            layer(DATA)


@has_layer
@pytest.mark.parametrize("kind", ["plain", "sequence"])
def test_a_flag_that_is_a_tensor_decides_what_is_inserted(kind: str) -> None:
    sequence = kind == "sequence"
    layer: Any = tf.keras.experimental.SequenceFeatures if sequence else tf.keras.layers.DenseFeatures
    made = (fc.sequence_categorical_column_with_identity if sequence else fc.categorical_column_with_identity)(
        "item", 10
    )
    reader = layer([ours.embedding_column(made, 4)])
    features = {"item": tf.sparse.from_dense(tf.constant([[1], [3]], tf.int64))}
    reader(features, training=False)
    called = tf.function(lambda flag: reader(features, training=flag))
    sizes = []
    for flag in (False, True):
        called(tf.constant(flag))
        sizes.append(int(reader.trainable_weights[0].table.size()))
    assert sizes == [0, 2]


def test_a_configuration_leads_to_a_column_over_a_table() -> None:
    column = ours.embedding_column(fc.categorical_column_with_identity("item", 10), 4, "sum", max_norm=2.0)
    names: Any = tf.__internal__.feature_column
    made = names.deserialize_feature_column(names.serialize_feature_column(column))
    assert type(made) is type(column)
    assert (made.combiner, made.max_norm, made.name) == ("sum", 2.0, column.name)


def freed(words: list[str], said: int) -> Any:
    category = fc.categorical_column_with_vocabulary_list(
        "tags", words, num_oov_buckets=runtime.Buckets(2, said).widest
    )
    zeros = v1.zeros_initializer()
    return ours.embedding_column(fc.weighted_categorical_column(category, "tag_weights"), 4, initializer=zeros)


def test_a_vocabulary_keeps_the_rows_of_its_words_and_frees_those_of_other_words() -> None:
    column, words = freed(["x", "y"], 2), ["x", "y"]
    stock = fc.weighted_categorical_column(
        fc.categorical_column_with_vocabulary_list("tags", words, num_oov_buckets=2), "tag_weights"
    )
    with tf.Graph().as_default(), v1.Session() as session:
        want = v1.feature_column.input_layer(features(), [fc.embedding_column(stock, 4, initializer=Block())])
        with v1.variable_scope("ours"):
            got = v1.feature_column.input_layer(features(), [column])
        (table,) = tables()
        assert table.arguments.base_buckets == runtime.Buckets(2, 2)
        based = runtime.set_base(table, VALUES[:4, :4])
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        session.run(based)
        np.testing.assert_array_equal(session.run(got), session.run(want))
    config = column.get_config()
    assert config["base_buckets"] == "2,2,2"


def test_buckets_behind_another_number_of_words_are_refused() -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match=r"has 2 words, .* follow 5 words: give num_oov_buckets=Bu"),
    ):
        v1.feature_column.input_layer(features(), [freed(["x", "y"], 5)])
