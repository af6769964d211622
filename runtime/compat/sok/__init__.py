"""SparseOperationKit, 1.x and 2.x, on stock TensorFlow: `install()`, or `python -m runtime.compat.sok script.py …`."""

from __future__ import annotations

from runtime.compat.sok.dumping import dump, load
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.compat.sok.increments import incremental_model_dump
from runtime.compat.sok.installing import install, uninstall
from runtime.compat.sok.keras_adam import Adam
from runtime.compat.sok.layers import (
    All2AllDenseEmbedding,
    DistributedEmbedding,
    TFDistributedEmbedding,
    get_embedding,
)
from runtime.compat.sok.lookups import all2all_dense_embedding, lookup_sparse, sparse_read_and_evict
from runtime.compat.sok.optimizers import SGD, LazyAdamOptimizer, OptimizerScope, OptimizerWrapper
from runtime.compat.sok.saver import Saver
from runtime.compat.sok.starting import Init, init
from runtime.compat.sok.static import DistributedVariable, LocalizedVariable, Variable
from runtime.compat.sok.variables import assign, export, filter_variables, split_embedding_variable_from_others

__all__ = [
    "SGD",
    "Adam",
    "All2AllDenseEmbedding",
    "DistributedEmbedding",
    "DistributedVariable",
    "DynamicVariable",
    "Init",
    "LazyAdamOptimizer",
    "LocalizedVariable",
    "OptimizerScope",
    "OptimizerWrapper",
    "Saver",
    "TFDistributedEmbedding",
    "Variable",
    "all2all_dense_embedding",
    "assign",
    "dump",
    "export",
    "filter_variables",
    "get_embedding",
    "incremental_model_dump",
    "init",
    "install",
    "load",
    "lookup_sparse",
    "sparse_read_and_evict",
    "split_embedding_variable_from_others",
    "uninstall",
]
