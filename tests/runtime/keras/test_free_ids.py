"""Lookups of Keras whose other words have ids of their own, beside the stock layers and their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
WORDS = tf.constant([[f"w{number}", f"w{number + 1}"] for number in range(20)])
NUMBERS = tf.constant([[number, -number] for number in range(2, 22)], tf.int64)
LAYERS = {"StringLookup": (["w0", "w5", "w9"], "w3", WORDS), "IntegerLookup": ([5, 9, -9], 3, NUMBERS)}


def pair(name: str, masked: bool, **settings: Any) -> tuple[Any, Any, Any]:
    vocabulary, mask, inputs = LAYERS[name]
    given = {"vocabulary": vocabulary, "mask_token": mask if masked else None, **settings}
    return getattr(K.layers, name)(**given), getattr(runtime.keras, name)(**given), inputs


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_ids_of_words_stay_and_others_tell_their_bucket(name: str, masked: bool, count: int) -> None:
    stock, free, inputs = pair(name, masked, num_oov_indices=count)
    old, new = (np.asarray(layer(inputs)) for layer in (stock, free))
    rows = stock.vocabulary_size()
    is_word = (old == 0 if masked else False) | (old >= count + masked)
    np.testing.assert_array_equal(new[is_word], old[is_word])
    np.testing.assert_array_equal(free.buckets.row_of(new), old)
    assert (new[~is_word] >= rows).all() and len(np.unique(new)) == len(np.unique(np.asarray(inputs)))
    np.testing.assert_array_equal(free(tf.RaggedTensor.from_tensor(inputs)).flat_values, new.ravel())
    if not hasattr(K, "Variable"):  # Keras 3 takes no SparseTensor here
        np.testing.assert_array_equal(free(tf.sparse.from_dense(inputs)).values, new.ravel())


@pytest.mark.parametrize("name", LAYERS)
def test_a_model_predicts_as_the_stock_one_also_when_it_was_saved(name: str, tmp_path: Any) -> None:
    stock, free, inputs = pair(name, True, num_oov_indices=2)
    matrix = np.random.default_rng(0).normal(size=[stock.vocabulary_size(), 4]).astype(np.float32)
    embedding = runtime.keras.Embedding(len(matrix), 4, weights=[matrix], base_buckets=free.buckets)
    given = K.Input([2], dtype=inputs.dtype)
    model = K.Model(given, embedding(free(given)))
    want = tf.gather(matrix, stock(inputs))
    np.testing.assert_array_equal(model.predict(inputs, verbose=0), want)
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(K.models.load_model(tmp_path / "model.keras").predict(inputs, verbose=0), want)


def test_ids_of_other_words_begin_where_it_is_told() -> None:
    lookup = runtime.keras.StringLookup(max_tokens=9, beyond=9)
    lookup.adapt(WORDS[:2])
    assert lookup.buckets == runtime.Buckets(1, 0, 9)
    assert int(lookup(["none"])[0]) >= 9
    assert type(lookup).from_config(lookup.get_config()).beyond == 9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"output_mode": "multi_hot"}, "which output_mode='multi_hot' does not allow"),
        ({"num_oov_indices": 0}, "num_oov_indices"),
        ({"beyond": 0}, "beyond"),
    ],
)
def test_what_has_no_such_ids_is_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runtime.keras.StringLookup(vocabulary=["a"], **settings)


def test_more_words_than_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"takes 3 ids, and those of other words begin at 2: give beyond=3 or more"):
        runtime.keras.StringLookup(vocabulary=["a", "b"], beyond=2)(WORDS)


def test_a_graph_of_tensorflow_1_has_to_be_told_how_many_rows_there_are() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        words = tf.constant([["w0", "w1"]])
        with pytest.raises(ValueError, match="give beyond=ROWS"):
            runtime.keras.StringLookup(vocabulary=["w0", "w1"])(words)
        ids = runtime.keras.StringLookup(vocabulary=["w0", "w1"], beyond=3)(words)
        session.run(tf.compat.v1.tables_initializer())
        assert session.run(ids)[0].tolist() == [1, 2]
