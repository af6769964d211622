"""Arguments that are accepted without effect, each with the reason; the list is complete.

A test compares it with the code, and docs/deeprec.md has the same table.
"""

from __future__ import annotations

from collections.abc import Mapping

_ONE_OP = "a look-up is one op anyway; the values are the same"
_NO_BUFFER = "about where and how long DeepRec's threads run; the batches are the same"
_AS_ITS_SAVER = "an `IncrementalSaver` saves what its Saver does, and makes its ops at once"
_HASH_TABLE = "about the layout of DeepRec's hash table in memory"
#: By function or class, then by argument.
WITHOUT_EFFECT: Mapping[str, Mapping[str, str]] = {
    "get_embedding_variable": {
        "caching_device": "rows lie in the memory of the process that looks them up",
        "validate_shape": "an EmbeddingVariable has no shape to validate",
    },
    "sparse_column_with_embedding": {"ht_partition_num": _HASH_TABLE},
    "EmbeddingVariableOption": {"ht_type": _HASH_TABLE, "ht_partition_num": _HASH_TABLE},
    "StorageOption": {"layout": _HASH_TABLE},
    "embedding_column": {"do_fusion": _ONE_OP},
    "shared_embedding_columns": {"do_fusion": _ONE_OP},
    "linear_model": {"do_fusion": _ONE_OP},
    "group_embedding_column_scope": {"name": "it names a fused op, and each column has a look-up of its own"},
    "group_embedding_lookup": {
        "partition_strategy": "keys are shared out by their value, as in DeepRec, which ignores it"
    },
    "group_embedding_lookup_sparse": {
        "params_num_per_group": "it bounds how many look-ups share an op; the values are the same",
        "partition_strategy": "keys are shared out by their value, as in DeepRec, which ignores it",
    },
    "Saver": {
        "incremental_save_restore": "an `IncrementalSaver` makes what increments need itself",
        "incremental_include_normal_var": "increments always hold all other variables, as if it was true",
    },
    "IncrementalSaver": {
        "meta_graph_suffix": "an increment has no meta graph; the whole checkpoint has it",
        **dict.fromkeys(("sharded", "allow_empty", "defer_build", "incremental_include_normal_var"), _AS_ITS_SAVER),
        "filename_tensor": _AS_ITS_SAVER,
    },
    "Scaffold": {"incremental_save_restore": "the hook that saves increments makes what they need itself"},
    "ParquetDataset": {
        "num_parallel_reads": "the files are read one after the other, which is one of the orders that DeepRec allows",
        "num_sequential_reads": "as `num_parallel_reads`",
    },
    "staged": {
        **dict.fromkeys(("num_clients", "timeout_millis"), _NO_BUFFER),
        "use_stage_subgraph_thread_pool": _NO_BUFFER,
        "stage_subgraph_thread_pool_id": _NO_BUFFER,
        "stage_subgraph_stream_id": _NO_BUFFER,
    },
    "prefetch_join": dict.fromkeys(("num_clients", "timeout_millis"), _NO_BUFFER),
    "WorkQueue": {
        "num_slices": "it cuts tables into slices; files are whole in DeepRec, too",
        "num_clients": "each taker waits its turn, however many there are",
    },
    "mark_target_node": {"nodes": "it guides a graph optimization of DeepRec's that changes no result"},
}
