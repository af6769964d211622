"""DeepRec's names: what makes tables, what says how, and what stock TensorFlow or this runtime lacks."""

from __future__ import annotations

from migrate.source.tensorflow.base.rule_kinds import File

#: Rules that read DeepRec.
VARIABLE, LOOKUP, OPTION = "tf-embedding-variable", "tf-embedding-variable-lookup", "tf-embedding-variable-option"
COLUMN, PROGRAM = "tf-embedding-variable-column", "tf-deeprec-program"

MAKER = "get_embedding_variable"
CATEGORIES = {
    "feature_column.categorical_column_with_embedding": "categorical_column_with_keys",
    "feature_column.sequence_categorical_column_with_embedding": "sequence_categorical_column_with_keys",
    "contrib.feature_column.sequence_categorical_column_with_embedding": "sequence_categorical_column_with_keys",
}
_CONTRIB = ("contrib.layers.", "contrib.layers.python.layers.feature_column.")
#: The second is how DeepRec's documentation spells it.
CATEGORIES |= {
    f"{home}{name}": "categorical_column_with_keys"
    for home in _CONTRIB
    for name in ("sparse_column_with_embedding", "sparse_column_wth_embedding")
}
COLUMNS = {
    **{f"{home}embedding_column": "keyed_embedding_column" for home in ("feature_column.", *_CONTRIB)},
    "feature_column.shared_embedding_columns": "keyed_shared_embedding_columns",
}
#: What `tf` has them by, and the module behind it.
OPTION_HOMES = ("", "python.ops.variables.")
OPTIONS = (
    "EmbeddingVariableOption", "StorageOption", "InitializerOption", "CheckpointOption", "CounterFilter", "CBFFilter",
    "GlobalStepEvict", "L2WeightEvict",
)  # fmt: skip
ENUMS = "core.framework.embedding.config_pb2."
#: DeepRec's optimizers, and its FTRL on EmbeddingVariables, by their names in `runtime.optimizers.deeprec`.
OPTIMIZERS = {
    **{
        f"train.{name}": name
        for name in ("AdagradDecayOptimizer", "AdagradDecayOptimizerV2", "AdamAsyncOptimizer", "AdamWOptimizer")
    },
    "train.FtrlOptimizer": "GroupFtrlOptimizer",
}
#: Tables and lookups of DeepRec that the runtime has no counterpart of.
LACKING = {
    "get_multihash_variable": "a multi-hash variable",
    "get_dynamic_dimension_embedding_variable": "a variable of dynamic dimension",
    "feature_column.categorical_column_with_adaptive_embedding": "an adaptive embedding",
    "feature_column.categorical_column_with_multihash": "a multi-hash column",
    "nn.adaptive_embedding_lookup_sparse": "an adaptive lookup",
    "hash_table.DistributedHashTable": "a hash table of another kind",
}
#: Lookups of several tables.
GROUPS = ("nn.group_embedding_lookup", "nn.group_embedding_lookup_sparse")
#: What shares variables between processes: its parameter, and what that is by default.
STRATEGIES = {
    "config.experimental.enable_distributed_strategy": ("strategy", "collective"),
    "config.experimental.enable_group_embedding": ("fusion_type", "localized"),
}
#: Around columns; what it fuses is one op here anyway.
GROUP_SCOPE = "feature_column.group_embedding_column_scope"
#: Where the runtime has the names that are written.
HOMES = {
    **dict.fromkeys(
        (
            "Admission", "CountingBloom", "Eviction", "InitialRows", "KeyRules", "Storage", "create_counted_table",
            "embedding_lookup_sparse", "grouped_embedding_lookup_sparse", "grouped_lookup", "ranks",
            "safe_embedding_lookup_sparse", "sparse_lookup", "WarmStart",
        ),
        "runtime",
    ),
    **dict.fromkeys([*CATEGORIES.values(), *COLUMNS.values()], "runtime.feature_column"),
    **dict.fromkeys(OPTIMIZERS.values(), "runtime.optimizers.deeprec"),
    "nullcontext": "contextlib",
}  # fmt: skip
#: Modules of DeepRec's TensorFlow that stock TensorFlow 2 has not.
LOST_MODULES = ("tensorflow.contrib", "tensorflow.core.framework.embedding")


def makes_tables(name: str) -> bool:
    """True for the canonical name of what makes an EmbeddingVariable or the category that does, or only reads them."""
    return name == MAKER or name in CATEGORIES or name in LACKING or name in GROUPS


def option_of(name: str) -> str:
    """Return which option object a canonical name is, or an empty string."""
    home, _, last = name.rpartition(".")
    return last if last in OPTIONS and (f"{home}." if home else "") in OPTION_HOMES else ""


def reads_deeprec(file: File) -> bool:
    """True for a file whose EmbeddingVariables and their columns are read as a whole, to become the runtime's."""
    return file.target.name == "runtime" and any(makes_tables(name) for _, name in file.names.calls)
