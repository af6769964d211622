"""Dynamic embedding tables for TensorFlow: growing hash tables for eager mode, tf.function and v1 graphs."""

from __future__ import annotations

from runtime import needs_tensorflow  # noqa: F401 - before all others, which import TensorFlow

# isort: split
from runtime import checkpoint, initializers, optimizers
from runtime.config import init, terminate_config_initializer
from runtime.embedding_variable.create import (
    Admission,
    Eviction,
    InitialRows,
    KeyRules,
    WarmStart,
    create_counted_table,
)
from runtime.initializers import column_blocks
from runtime.lookup import gradients as _gradients  # noqa: F401 - importing registers them
from runtime.lookup.ahead import ExchangedIds, exchange_ids, exchange_safe_sparse_ids, exchange_sparse_ids
from runtime.lookup.all_rows import all_rows
from runtime.lookup.batch_rows import looked_up_rows
from runtime.lookup.columns import column_lookup, column_lookup_sparse
from runtime.lookup.grouped import grouped_lookup
from runtime.lookup.grouped_pooled import grouped_embedding_lookup_sparse, grouped_safe_embedding_lookup_sparse
from runtime.lookup.local import local_lookup, local_rows
from runtime.lookup.one_hot import one_hot_lookup
from runtime.lookup.partitioned import partitioned_lookup
from runtime.lookup.penalties import l1_norm, l2_loss, penalty, regularized
from runtime.lookup.pooled import embedding_lookup_sparse, safe_embedding_lookup_sparse
from runtime.lookup.prefetch import prefetch
from runtime.lookup.sparse import sparse_lookup
from runtime.lookup.whole_table import whole_table_l1, whole_table_l2
from runtime.lookup.zero_padding import padded_lookup, zero_padded
from runtime.policy.admission import set_threshold
from runtime.policy.base import forget_base, set_base
from runtime.policy.eviction import EvictHook, evict_by_age, evict_by_norm, evict_by_step
from runtime.policy.wide_buckets import naming_buckets, wide_buckets
from runtime.storage.buckets import Buckets
from runtime.storage.tiers import Device, Storage
from runtime.table.admission_rules import CountingBloom
from runtime.table.columns import ColumnTable, create_column_table
from runtime.table.create import create_table, tables
from runtime.table.of_rows import set_rows, table_of_rows
from runtime.table.status import status
from runtime.table.table import Table
from runtime.table.table_summaries import TableSummaryHook, table_summaries
from runtime.table.tier_summaries import tier_summaries
from runtime.table.trainable_variables import get_dense_and_sparse_variable
from runtime.table.variable_scopes import scoped_initializer, scoped_name, unique_name

__all__ = [
    "Admission",
    "Buckets",
    "ColumnTable",
    "CountingBloom",
    "Device",
    "EvictHook",
    "Eviction",
    "ExchangedIds",
    "InitialRows",
    "KeyRules",
    "Storage",
    "Table",
    "TableSummaryHook",
    "WarmStart",
    "all_rows",
    "checkpoint",
    "column_blocks",
    "column_lookup",
    "column_lookup_sparse",
    "create_column_table",
    "create_counted_table",
    "create_table",
    "embedding_lookup_sparse",
    "evict_by_age",
    "evict_by_norm",
    "evict_by_step",
    "exchange_ids",
    "exchange_safe_sparse_ids",
    "exchange_sparse_ids",
    "forget_base",
    "get_dense_and_sparse_variable",
    "grouped_embedding_lookup_sparse",
    "grouped_lookup",
    "grouped_safe_embedding_lookup_sparse",
    "init",
    "initializers",
    "l1_norm",
    "l2_loss",
    "local_lookup",
    "local_rows",
    "looked_up_rows",
    "naming_buckets",
    "one_hot_lookup",
    "optimizers",
    "padded_lookup",
    "partitioned_lookup",
    "penalty",
    "prefetch",
    "regularized",
    "safe_embedding_lookup_sparse",
    "scoped_initializer",
    "scoped_name",
    "set_base",
    "set_rows",
    "set_threshold",
    "sparse_lookup",
    "status",
    "table_of_rows",
    "table_summaries",
    "tables",
    "terminate_config_initializer",
    "tier_summaries",
    "unique_name",
    "whole_table_l1",
    "whole_table_l2",
    "wide_buckets",
    "zero_padded",
]
