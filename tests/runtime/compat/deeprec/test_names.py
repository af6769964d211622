"""DeepRec's names: `install` puts them on TensorFlow and `uninstall` leaves no trace; batches that threads prepare."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec

_NAMES = {
    "ops.kv_variable_ops": ("EmbeddingVariable", "DynamicEmbeddingVariable", "MultiHashVariable", "lookup_tier"),
    "training.adam_async": ("AdamAsyncOptimizer",),
    "training.adagrad_decay": ("AdagradDecayOptimizer",),
    "training.adagrad_decay_v2": ("AdagradDecayOptimizerV2",),
    "training.weight_decay_optimizers": ("AdamWOptimizer",),
    "ops.embedding_ops": ("fused_safe_embedding_lookup_sparse", "group_embedding_lookup_sparse"),
    "ops.prefetch": ("staged",),
    "ops.work_queue": ("WorkQueue",),
    "data.experimental.ops.parquet_dataset_ops": ("ParquetDataset",),
    "framework.ops": ("IndexedSlices", "Tensor", "Graph"),
    "ops.array_ops": ("stack", "unstack", "concat"),
    "ops.control_flow_ops": ("case", "cond", "while_loop", "group"),
    "feature_column.feature_column_v2": ("embedding_column", "group_embedding_column_scope"),
}


def test_modules_of_deeprec(rec: Any) -> None:
    for module, names in _NAMES.items():
        found = importlib.import_module(f"tensorflow.python.{module}")
        assert all(hasattr(found, name) for name in names), module
    from tensorflow.python.training import adam_async

    assert adam_async.AdamAsyncOptimizer is rec.train.AdamAsyncOptimizer
    with pytest.raises(AttributeError, match=r"weight_decay_optimizers\.MomentumWOptimizer is not supported"):
        _ = importlib.import_module("tensorflow.python.training.weight_decay_optimizers").MomentumWOptimizer
    with pytest.raises(AttributeError, match=r"tensorflow\.contrib\.opt is not supported"):
        _ = rec.contrib.opt
    deeprec.uninstall()
    for module in ("ops.kv_variable_ops", "training.adam_async"):
        with pytest.raises(ImportError):
            importlib.import_module(f"tensorflow.python.{module}")
    assert not hasattr(importlib.import_module("tensorflow.python.training"), "adam_async")


def test_columns_of_contrib(rec: Any) -> None:
    from tensorflow.contrib.layers.python.layers import feature_column, feature_column_ops

    one, two = (
        feature_column.sparse_column_with_embedding(column_name=name, dtype=rec.int64, evconfig=None) for name in "ab"
    )
    ones = rec.ones_initializer(rec.float32)
    columns = [
        feature_column.embedding_column(sparse_id_column=one, dimension=3, initializer=ones, do_fusion=True),
        *feature_column.shared_embedding_columns([two], dimension=2, initializer=ones, combiner="sum"),
    ]
    ids = rec.SparseTensor([[0, 0], [0, 1]], rec.constant([1, 2], rec.int64), [1, 2])
    found = feature_column_ops.input_from_feature_columns({"a": ids, "b": ids}, columns)
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        assert session.run(found).tolist() == [[1.0, 1.0, 1.0, 2.0, 2.0]]
    option = rec.EmbeddingVariableOption()
    with pytest.raises(ValueError, match="has both an ev_option and an evconfig: give one"):
        feature_column.sparse_column_with_embedding("a", ev_option=option, evconfig=option)
    with pytest.raises(TypeError, match="needs a sparse_id_column and a dimension"):
        feature_column.embedding_column(dimension=3)


def test_switches_of_a_session(rec: Any) -> None:
    two = rec.constant(2)
    config = rec.ConfigProto(allow_soft_placement=True)
    assert isinstance(config, type(tf.compat.v1.ConfigProto()))
    options = config.graph_options.optimizer_options
    options.do_op_fusion = options.do_smart_stage = True
    options.global_jit_level = 0
    options.micro_batch_num = 1
    config.graph_options.optimizer_options.async_embedding_options.threads_num = 4
    config.executor_policy = rec.ExecutorPolicy.USE_INLINE_EXECUTOR
    config.intra_op_parallelism_threads = 3
    assert options.do_op_fusion is True and copy.deepcopy(config).intra_op_parallelism_threads == 3
    with pytest.raises(AttributeError, match="do_magic"):
        options.do_magic = True
    with rec.Session(config=config) as session:
        assert session._config.intra_op_parallelism_threads == 3
        assert session.run(two) == 2
    with rec.train.MonitoredTrainingSession(config=config) as monitored:
        assert monitored.run(two) == 2


def test_staged_batches_are_the_batches(rec: Any) -> None:
    batch = {"a": rec.constant([1]), "b": (rec.constant([2]), None)}
    assert rec.staged(batch, num_threads=4, capacity=40) is batch
    rec.train.mark_target_node([batch["a"]])
    with rec.train.MonitoredTrainingSession(hooks=[rec.make_prefetch_hook()]) as session:
        assert session.run(batch["a"]).tolist() == [1]
    for settings, said in (
        ({"num_threads": 0}, "must be 1 or more"),
        ({"feed_dict": {1: 2}}, "the feed of 1 in tf.staged is 2: give a tensor, or a feed_generator"),
        ({"feed_list": [1]}, "has a feed_list without a feed_generator: give one"),
    ):
        with pytest.raises(ValueError, match=said):
            rec.staged(batch, **settings)


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


def _range(rec: Any, *limits: int) -> Any:
    return rec.data.make_one_shot_iterator(rec.data.Dataset.range(*limits)).get_next()


def _all(rec: Any, tensors: Any) -> list[Any]:
    """Return what each step of a monitored session gets, until the batches end."""
    found = []
    with rec.train.MonitoredTrainingSession(hooks=[rec.make_prefetch_hook()]) as session:
        while not session.should_stop():
            found.append(session.run(tensors))
    return found


@pytest.mark.parametrize("named", [False, True])
def test_a_generator_feeds_placeholders(rec: Any, named: bool) -> None:
    first, second = rec.placeholder(rec.float32, [None]), rec.placeholder(rec.string, [])

    def generate() -> Iterator[Any]:
        for number in range(3):
            values = [np.full(number, number), f"word{number}"]
            yield {first: values[0], second: values[1]} if named else values

    features = [first + 1.0, rec.strings.length(second)]
    made = rec.staged(features, feed_list=None if named else [first, second], feed_generator=generate(), num_threads=1)
    assert [(a.tolist(), b) for a, b in _all(rec, made)] == [([], 5), ([2.0], 5), ([3.0, 3.0], 5)]


def test_an_error_that_skips_a_batch(rec: Any) -> None:
    checked = rec.debugging.check_numerics(8.0 / rec.cast(_range(rec, 6) - 2, rec.float32), "two")
    skipping = rec.staged(checked, ignored_exception_types=(rec.errors.INVALID_ARGUMENT,))
    assert [float(one) for one in _all(rec, skipping)] == [-4.0, -8.0, 8.0, 4.0, pytest.approx(8 / 3)]


def test_an_error_that_ends_the_batches(rec: Any) -> None:
    checked = rec.debugging.check_numerics(8.0 / rec.cast(_range(rec, 6) - 2, rec.float32), "two")
    ending = rec.staged(checked, closed_exception_types=(rec.errors.InvalidArgumentError,))
    assert [float(one) for one in _all(rec, ending)] == [-4.0, -8.0]


def test_another_error_is_the_programs(rec: Any) -> None:
    given = rec.placeholder(rec.float32, [])
    made = rec.staged(given, feed_list=[given], feed_generator=iter([[1.0], [1.0, 2.0]]))
    with pytest.raises(ValueError, match="yields 2 values, and feed_list has 1: give a value for each"):
        _all(rec, made)


def test_several_threads_and_sources_give_every_batch_once(rec: Any) -> None:
    joined = rec.prefetch_join([_range(rec, 5), _range(rec, 100, 105)], capacity=3)
    assert sorted(int(one) for one in _all(rec, joined)) == [*range(5), *range(100, 105)]


def test_each_thread_takes_another_batch(rec: Any) -> None:
    given = rec.placeholder(rec.int64, [])
    values = _range(rec, 9)
    made = rec.staged(given * 10, feed_dict={given: values}, num_threads=3, capacity=2)
    assert sorted(int(one) for one in _all(rec, made)) == [10 * one for one in range(9)]


def test_a_session_that_ends_before_the_batches_stops_the_threads(rec: Any) -> None:
    given = rec.placeholder(rec.int64, [])
    made = rec.staged(given, feed_list=[given], feed_generator=iter([[one] for one in range(10**6)]))
    with rec.train.MonitoredTrainingSession(hooks=[rec.make_prefetch_hook()]) as session:
        assert [int(session.run(made)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="needs at least one source"):
        tf.prefetch_join([])  # type: ignore[attr-defined]
