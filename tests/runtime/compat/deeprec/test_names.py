"""DeepRec's modules, switches and data sets: what its own tests and its model zoo import and set."""

from __future__ import annotations

import copy
import importlib
from typing import Any

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
