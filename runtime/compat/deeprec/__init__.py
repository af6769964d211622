"""DeepRec's EmbeddingVariable on stock TensorFlow: `install()`, or `python -m runtime.compat.deeprec script.py …`."""

from __future__ import annotations

from runtime.compat.deeprec import config_pb2
from runtime.compat.deeprec.columns import (
    categorical_column_with_embedding,
    sequence_categorical_column_with_embedding,
    sparse_column_with_embedding,
)
from runtime.compat.deeprec.composed import (
    DynamicEmbeddingVariable,
    MultiHashVariable,
    get_dynamic_dimension_embedding_variable,
    get_multihash_variable,
)
from runtime.compat.deeprec.creation import get_embedding_variable
from runtime.compat.deeprec.installing import install, uninstall
from runtime.compat.deeprec.lookups import embedding_lookup, embedding_lookup_sparse, safe_embedding_lookup_sparse
from runtime.compat.deeprec.options import (
    CBFFilter,
    CheckpointOption,
    CounterFilter,
    EmbeddingVariableOption,
    GlobalStepEvict,
    InitializerOption,
    L2WeightEvict,
    StorageOption,
)
from runtime.compat.deeprec.variable import EmbeddingVariable, PartitionedEmbeddingVariable

__all__ = [
    "CBFFilter",
    "CheckpointOption",
    "CounterFilter",
    "DynamicEmbeddingVariable",
    "EmbeddingVariable",
    "EmbeddingVariableOption",
    "GlobalStepEvict",
    "InitializerOption",
    "L2WeightEvict",
    "MultiHashVariable",
    "PartitionedEmbeddingVariable",
    "StorageOption",
    "categorical_column_with_embedding",
    "config_pb2",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "get_dynamic_dimension_embedding_variable",
    "get_embedding_variable",
    "get_multihash_variable",
    "install",
    "safe_embedding_lookup_sparse",
    "sequence_categorical_column_with_embedding",
    "sparse_column_with_embedding",
    "uninstall",
]
