"""Names of `tf.contrib` and what programs ask of a release: as in TensorFlow 1.15, by stock TensorFlow's numbers."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec


def test_a_linear_layer_over_several_inputs_is_a_product(rec: Any) -> None:
    from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _Linear

    random = np.random.default_rng(1)
    inputs = [random.normal(size=(4, width)).astype(np.float32) for width in (2, 3)]
    kernel = random.normal(size=(5, 6)).astype(np.float32)
    with rec.variable_scope("gates"):
        layer = _Linear([rec.constant(one) for one in inputs], 6, True, kernel_initializer=lambda *_, **__: kernel)
    other = _Linear(rec.constant(inputs[0]), 2, False)
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        found = session.run(layer([rec.constant(one) for one in inputs]))
    np.testing.assert_allclose(found, np.concatenate(inputs, 1) @ kernel, rtol=1e-5)
    assert [one.op.name for one in rec.trainable_variables()] == ["gates/kernel", "gates/bias", "kernel"]
    assert other(rec.constant(inputs[0])).shape == [4, 2]
    with pytest.raises(ValueError, match=r"_Linear got an input of shape .*: give tensors"):
        _Linear(rec.constant([1.0]), 2, False)


def _lists(rec: Any, rows: list[list[int]]) -> Any:
    """Return ids whose shape is known only when they are fed, as those of a data set."""
    ids = tf.RaggedTensor.from_row_lengths(
        rec.constant([one for row in rows for one in row], rec.int64), [*map(len, rows)]
    )
    made = ids.to_sparse()
    return rec.SparseTensor(made.indices, made.values, rec.placeholder_with_default(made.dense_shape, [2]))


def test_distinct_ids_are_looked_up_once_and_counted_once(rec: Any) -> None:
    from tensorflow.contrib.layers import embedding_lookup_unique

    matrix, ids = np.arange(20, dtype=np.float32).reshape(10, 2), [[3, 1, 3], [3, 0, 1]]
    stock = rec.get_variable("stock", initializer=matrix)
    counted = rec.get_embedding_variable(
        "counted",
        2,
        initializer=rec.ones_initializer(),
        ev_option=rec.EmbeddingVariableOption(filter_option=rec.CounterFilter(1)),
    )
    fed = rec.placeholder(rec.int64, [None, 3])
    rows = [embedding_lookup_unique(one, fed, name="read") for one in (stock, counted)]
    assert [one.shape.as_list() for one in rows] == [[None, 3, 2]] * 2
    train = rec.train.GradientDescentOptimizer(0.5).minimize(sum(rec.reduce_sum(one) for one in rows))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        np.testing.assert_array_equal(session.run(rows[0], {fed: ids}), matrix[ids])
        session.run(train, {fed: ids})
        matrix[[0, 1, 3]] -= 0.5 * np.array([[1.0], [2.0], [3.0]], np.float32)
        np.testing.assert_array_equal(session.run(rows[0], {fed: ids}), matrix[ids])
        assert session.run(rec.nn.embedding_lookup(counted, [0, 1, 3]))[:, 0].tolist() == [0.5, 0.0, -0.5]
        assert session.run(counted.get_frequency(np.array([0, 1, 3]))).tolist() == [1, 1, 1]


def test_sequences_side_by_side_are_padded_rows(rec: Any) -> None:
    from tensorflow.contrib.feature_column import sequence_input_layer

    rows = [[1, 2, 3], [], [4]]
    features = {"own": _lists(rec, rows), "stock": _lists(rec, rows), "short": _lists(rec, [[1], [], [4]])}
    matrix = np.arange(20, dtype=np.float32).reshape(10, 2) + 1
    start = rec.constant_initializer(matrix)
    option = rec.EmbeddingVariableOption(init_option=rec.InitializerOption(start, default_value_dim=10))
    own = rec.feature_column.sequence_categorical_column_with_embedding("own", rec.int64, ev_option=option)
    identity = rec.feature_column.sequence_categorical_column_with_identity
    columns = [
        rec.feature_column.embedding_column(identity("stock", 10), 2, initializer=start),
        rec.feature_column.embedding_column(own, 2, initializer=start),
    ]
    found = sequence_input_layer(features, columns)
    short = sequence_input_layer(
        features, [*columns, rec.feature_column.embedding_column(identity("short", 10), 2, initializer=start)]
    )
    names = [one.op.name for one in rec.trainable_variables()]
    assert names[:2] == [f"sequence_input_layer/{name}_embedding/embedding_weights" for name in ("own", "stock")]
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        values, lengths = session.run(found)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="short_embedding and own_embedding must have the same"
        ):
            session.run(short)
    want = np.zeros((3, 3, 4), np.float32)
    for at, row in enumerate(rows):
        want[at, : len(row)] = np.tile(matrix[row], 2)
    np.testing.assert_array_equal(values, want)
    assert lengths.tolist() == [3, 0, 1]
    with pytest.raises(ValueError, match=r"the columns \['plain'\] .* give no sequences: make embedding_columns"):
        sequence_input_layer(features, [rec.feature_column.numeric_column("plain")])


def test_the_distribution_says_that_it_is_deeprecs(rec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With setuptools' module and without it; other distributions keep their versions."""
    del rec
    for present in (True, False):
        if not present:
            deeprec.uninstall()
            monkeypatch.setitem(sys.modules, "pkg_resources", None)
            deeprec.install()
        found = importlib.import_module("pkg_resources").get_distribution
        assert found("Tensorflow").version == f"{tf.__version__}+deeprec"
        assert found("numpy").version == np.__version__
    deeprec.uninstall()
    assert sys.modules["pkg_resources"] is None


def test_a_weighted_sum_is_that_of_the_rows_and_the_bias(rec: Any) -> None:
    from tensorflow.contrib.layers.python.layers import feature_column, feature_column_ops

    rows = [[1, 2, 2], [], [3]]
    own = feature_column.sparse_column_with_embedding("own", rec.int64)
    stock = rec.feature_column.categorical_column_with_identity("stock", 5)
    features = {"own": _lists(rec, rows), "stock": _lists(rec, rows)}
    output, variables, bias = feature_column_ops.weighted_sum_from_feature_columns(features, [own], num_outputs=2)
    both, of_both, _ = feature_column_ops.weighted_sum_from_feature_columns(features, [own, stock], 2, scope="both")
    target = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], np.float32)
    train = rec.train.GradientDescentOptimizer(0.1).minimize(
        rec.reduce_sum(output * target) + rec.reduce_sum(both * target)
    )
    assert [one.op.name for one in variables[own]] == [
        "weighted_sum_from_feature_columns/linear_model/input_layer/own_embedding/embedding_weights"
    ]
    assert set(of_both) == {own, stock} and bias.shape == [2]
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        assert not session.run(output).any()
        session.run(train)
        found, of_two, by_bias = session.run([output, both, bias])
    weights = np.zeros((5, 2), np.float32)
    for ids, gradient in zip(rows, target, strict=True):
        for one in ids:
            weights[one] -= 0.1 * gradient
    sums = np.array([weights[ids].sum(0) if ids else np.zeros(2) for ids in rows])
    np.testing.assert_allclose(by_bias, -0.1 * target.sum(0), rtol=1e-6)
    np.testing.assert_allclose(found, sums + by_bias, rtol=1e-5)
    np.testing.assert_allclose(of_two, 2 * sums + by_bias, rtol=1e-5)
