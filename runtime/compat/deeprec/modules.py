"""DeepRec's modules, and its names in TensorFlow's inner modules, for programs that import those."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import tensorflow as tf

from runtime.compat import absent, contrib_layers
from runtime.compat.changes import Changes
from runtime.compat.deeprec import (
    collective,
    columns,
    composed,
    config_pb2,
    contrib,
    distribution,
    grouped,
    incremental,
    lookups,
    micro_batches,
    options,
    switches,
    variable,
    weights,
)
from runtime.compat.deeprec.inputs import dataframe, parquet, staging, work_queue
from runtime.optimizers import deeprec as optimizers

v1: Any = tf.compat.v1
CATEGORIES = (
    "categorical_column_with_adaptive_embedding",
    "categorical_column_with_embedding",
    "categorical_column_with_multihash",
    "sequence_categorical_column_with_embedding",
)
_PYTHON = "tensorflow.python"
_FACADE = "runtime.compat.deeprec"
_FRAMEWORK = "tensorflow.core.framework"
_CONTRIB = "tensorflow.contrib"
_LAYERS = f"{_CONTRIB}.layers.python.layers"
#: Names that TensorFlow 1's inner modules had, and that are elsewhere in TensorFlow 2.
_MOVED = {
    "framework.ops": ("IndexedSlices", "Tensor"),
    "ops.array_ops": ("stack", "unstack"),
    "ops.control_flow_ops": ("Assert", "case", "cond", "while_loop"),
}
_MADE = ("embedding_variable", "multihash_variable")


def add_modules(changes: Changes) -> None:
    """Make DeepRec's modules importable, add its names to TensorFlow's modules, and `contrib` to `tf`."""
    for name, contents in _own().items():
        _add(changes, name, contents)
    enums = _add(changes, f"{_FRAMEWORK}.embedding.config_pb2", _of(config_pb2, config_pb2.__all__))
    changes.set(
        sys.modules[_FRAMEWORK], "embedding", changes.add_module(f"{_FRAMEWORK}.embedding", {"config_pb2": enums})
    )
    _add_to_inner_modules(changes)
    distribution.answer(changes)
    contrib_layers.add(changes, _contrib(), _FACADE)


def _of(module: Any, names: Any) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names}


def _own() -> dict[str, dict[str, Any]]:
    """Return the modules that DeepRec adds to TensorFlow's packages, by name, with their contents."""
    training, data = f"{_PYTHON}.training", f"{_PYTHON}.data.experimental.ops"
    modules: dict[str, dict[str, Any]] = {
        f"{training}.incremental_saver": _of(incremental, ("IncrementalSaver", "_get_incremental_saver")),
        f"{training}.adam_async": _of(optimizers, ("AdamAsyncOptimizer",)),
        f"{training}.adagrad_decay": _of(optimizers, ("AdagradDecayOptimizer",)),
        f"{training}.adagrad_decay_v2": _of(optimizers, ("AdagradDecayOptimizerV2",)),
        f"{training}.weight_decay_optimizers": _of(optimizers, ("AdamWOptimizer",)),
        f"{_PYTHON}.ops.kv_variable_ops": {
            **_of(variable, ("EmbeddingVariable",)),
            **_of(composed, ("DynamicEmbeddingVariable", "MultiHashVariable")),
            "lookup_tier": lookups.lookup_tier,
        },
        f"{_PYTHON}.ops.prefetch": _of(staging, ("make_prefetch_hook", "prefetch_join", "staged")),
        f"{_PYTHON}.ops.work_queue": _of(work_queue, ("WorkQueue",)),
        f"{_PYTHON}.distribute.group_embedding_collective_strategy": _of(collective, ("CollectiveStrategy",)),
        f"{data}.parquet_dataset_ops": {
            **_of(parquet, parquet.__all__),
            "DataFrame": dataframe.DataFrame,
        },
        f"{data}.dataframe": _of(dataframe, dataframe.__all__),
    }
    return {name: {**contents, "__getattr__": absent.lacking(name, _FACADE)} for name, contents in modules.items()}


def _add(changes: Changes, name: str, contents: dict[str, Any]) -> Any:
    """Make a module importable, and add it to its package if that is one of TensorFlow's."""
    module = changes.add_module(name, contents)
    package, _, last = name.rpartition(".")
    if package.startswith(_PYTHON):
        changes.set(importlib.import_module(package), last, module)
    return module


def _contrib() -> dict[str, dict[str, Any]]:
    """Return DeepRec's part of `tf.contrib`; a package has the names that it re-exports."""
    column = _of(contrib, ("embedding_column", "shared_embedding_columns"))
    column["sparse_column_with_embedding"] = columns.sparse_column_with_embedding
    column["sparse_column_wth_embedding"] = columns.sparse_column_with_embedding  # misspelled so in the documentation
    over = _of(contrib, ("input_from_feature_columns", "weighted_sum_from_feature_columns"))
    unique = _of(contrib, ("embedding_lookup_unique",))
    functions = unique | {name: getattr(v1.nn, name) for name in lookups.LOOKUPS}
    read = {name: getattr(v1.train, name) for name in ("list_variables", "load_variable")}
    return {
        f"{_CONTRIB}.layers": {
            **column,
            **over,
            **unique,
            "safe_embedding_lookup_sparse": functions["safe_embedding_lookup_sparse"],
        },
        f"{_LAYERS}.feature_column": column,
        f"{_LAYERS}.feature_column_ops": over,
        f"{_CONTRIB}.feature_column": _of(contrib, ("sequence_input_layer",)),
        f"{_LAYERS}.embedding_ops": functions,
        f"{_CONTRIB}.framework": {**read, "get_or_create_global_step": v1.train.get_or_create_global_step},
        f"{_CONTRIB}.framework.python.framework.checkpoint_utils": read,
        f"{_CONTRIB}.rnn": {name: value for name, value in vars(v1.nn.rnn_cell).items() if name[0] != "_"},
        f"{_CONTRIB}.rnn.python.ops.core_rnn_cell": _of(contrib, ("_Linear",)),
    }


def _add_to_inner_modules(changes: Changes) -> None:
    """Add names to TensorFlow's inner modules, for programs that import these."""
    getters = {name: getattr(v1, name) for name in vars(v1) if name.startswith("get_") and name.endswith(_MADE)}
    groups = _of(grouped, ("group_embedding_lookup", "group_embedding_lookup_sparse"))
    added: dict[str, dict[str, Any]] = {
        "ops.variable_scope": getters,
        "ops.variables": _of(options, options.__all__),
        "ops.embedding_ops": {**groups, **{name: getattr(v1.nn, plain) for name, plain in lookups.FUSED.items()}},
        "feature_column.feature_column_v2": {
            **_of(columns, CATEGORIES),
            "embedding_column": tf.feature_column.embedding_column,
            "group_embedding_column_scope": grouped.group_embedding_column_scope,
        },
        "training.saver": {"Saver": incremental.Saver},
        "feature_column.sequence_feature_column": _of(columns, ("sequence_categorical_column_with_embedding",)),
    }
    inner = sys.modules[f"{_PYTHON}.ops.embedding_ops"]
    for name, ours in lookups.LOOKUPS.items():
        for spelling in (name, f"{name}_v2"):
            added["ops.embedding_ops"][spelling] = lookups.extended(getattr(inner, spelling), ours)
    for module, moved in _MOVED.items():
        inner = importlib.import_module(f"{_PYTHON}.{module}")
        added.setdefault(module, {}).update({name: getattr(v1, name) for name in moved if not hasattr(inner, name)})
    for module, names in added.items():
        for name, value in names.items():
            changes.set(sys.modules[f"{_PYTHON}.{module}"], name, value)
    changes.set(v1.variable_scope, "keep_weights", weights.keep_weights)
    changes.set(v1.train.Optimizer, "apply_gradients", micro_batches.summing(v1.train.Optimizer.apply_gradients))
    for module, name in (("client.session", "BaseSession"), ("training.server_lib", "Server")):
        owner = getattr(sys.modules[f"{_PYTHON}.{module}"], name)
        changes.set(owner, "__init__", switches.unwrapping(owner.__init__))
