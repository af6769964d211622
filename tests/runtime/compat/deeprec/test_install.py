"""`install` puts names on TensorFlow, `uninstall` leaves no trace."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest
import tensorflow as tf

from runtime.compat import deeprec


def _names(module: Any, seen: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Return what the public names of TensorFlow's modules stand for."""
    if module.__name__ not in seen:
        seen[module.__name__] = {name: id(value) for name, value in vars(module).items() if not name.startswith("_")}
        for name, value in list(vars(module).items()):
            plain = type(value) is ModuleType or type(value).__name__ == "TFModuleWrapper"
            if plain and "._api." in value.__name__ and name not in ("keras", "estimator"):
                _names(value, seen)
    return seen


def _state() -> tuple[dict[str, dict[str, int]], dict[str, int], dict[str, int]]:
    modules = {name: id(module) for name, module in sys.modules.items() if name.startswith("tensorflow")}
    keys = {name: id(value) for name, value in vars(tf.compat.v1.GraphKeys).items()}
    return _names(tf, {}), modules, keys


def test_afterwards_tensorflow_is_as_before() -> None:
    before = _state()
    deeprec.install()
    assert _state() != before
    for _ in range(2):
        assert tf.losses.sigmoid_cross_entropy is tf.compat.v1.losses.sigmoid_cross_entropy
        assert callable(tf.losses.BinaryCrossentropy)
    deeprec.install()
    deeprec.uninstall()
    after = _state()
    for one, other in zip(before, after, strict=True):
        assert one == other
    deeprec.uninstall()
    with pytest.raises(AttributeError):
        _ = tf.get_embedding_variable
    for module in ("tensorflow.core.framework.embedding.config_pb2", "tensorflow.contrib"):
        with pytest.raises(ImportError):
            importlib.import_module(module)


def test_names_of_deeprec_and_of_tensorflow_1(rec: Any) -> None:
    for module in (rec, rec.compat.v1):
        for name in (
            "get_embedding_variable",
            "EmbeddingVariableOption",
            "StorageOption",
            "InitializerOption",
            "CheckpointOption",
            "CounterFilter",
            "CBFFilter",
            "GlobalStepEvict",
            "L2WeightEvict",
        ):
            assert getattr(module, name) is getattr(deeprec, name)
        assert module.feature_column.categorical_column_with_embedding is deeprec.categorical_column_with_embedding
        assert (
            module.feature_column.sequence_categorical_column_with_embedding
            is deeprec.sequence_categorical_column_with_embedding
        )
        assert module.GraphKeys.EMBEDDING_VARIABLES == "embedding_variables"
        assert module.contrib.layers.sparse_column_with_embedding is deeprec.sparse_column_with_embedding
    assert rec.Session is tf.compat.v1.Session
    assert rec.train.AdagradOptimizer is tf.compat.v1.train.AdagradOptimizer
    assert rec.train.Checkpoint is not tf.compat.v1.train.Checkpoint
    assert rec.losses.sigmoid_cross_entropy is tf.compat.v1.losses.sigmoid_cross_entropy
    assert rec.feature_column.input_layer is tf.compat.v1.feature_column.input_layer
    assert rec.ones_initializer(rec.float32)([2], dtype=rec.float32).shape == [2]
    from tensorflow.core.framework.embedding import config_pb2

    assert config_pb2.StorageType.DRAM_SSDHASH == 12


def test_stock_variables_are_looked_up_as_before(rec: Any) -> None:
    weights = tf.constant([[1.0], [2.0], [4.0]])
    ids = tf.sparse.from_dense([[1, 2]])
    found = [
        rec.nn.embedding_lookup(weights, [2, 0]),
        rec.nn.embedding_lookup_sparse(weights, ids, None, combiner="sum"),
        rec.nn.safe_embedding_lookup_sparse(weights, ids, combiner="sum"),
        rec.compat.v1.nn.embedding_lookup_sparse(weights, ids, None, "mod", None, "sum"),
        tf.compat.v1.feature_column.input_layer(
            {"a": ids},
            rec.feature_column.embedding_column(
                rec.feature_column.categorical_column_with_identity("a", 3),
                1,
                initializer=tf.compat.v1.ones_initializer(),
            ),
        ),
    ]
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        assert [value.tolist() for value in session.run(found)] == [[[4.0], [1.0]], [[6.0]], [[6.0]], [[6.0]], [[1.0]]]
