"""Symbols of DeepRec: table constructors, their options, and what stock TensorFlow or this runtime lacks."""

from __future__ import annotations

from migrate.source.tensorflow.base.rule_kinds import File

#: Rules that convert DeepRec code.
VARIABLE, LOOKUP, OPTION = "tf-embedding-variable", "tf-embedding-variable-lookup", "tf-embedding-variable-option"
COLUMN, PROGRAM = "tf-embedding-variable-column", "tf-deeprec-program"

MAKER = "get_embedding_variable"
CATEGORIES = {
    "feature_column.categorical_column_with_embedding": "categorical_column_with_keys",
    "feature_column.sequence_categorical_column_with_embedding": "sequence_categorical_column_with_keys",
    "contrib.feature_column.sequence_categorical_column_with_embedding": "sequence_categorical_column_with_keys",
}
_CONTRIB = ("contrib.layers.", "contrib.layers.python.layers.feature_column.")
#: The second spelling is the one in DeepRec's documentation.
CATEGORIES |= {
    f"{home}{name}": "categorical_column_with_keys"
    for home in _CONTRIB
    for name in ("sparse_column_with_embedding", "sparse_column_wth_embedding")
}
COLUMNS = {
    **{f"{home}embedding_column": "keyed_embedding_column" for home in ("feature_column.", *_CONTRIB)},
    "feature_column.shared_embedding_columns": "keyed_shared_embedding_columns",
}
#: Prefixes below `tf` under which the options are available: the package itself and the defining module.
OPTION_HOMES = ("", "python.ops.variables.")
OPTIONS = (
    "EmbeddingVariableOption", "StorageOption", "InitializerOption", "CheckpointOption", "CounterFilter", "CBFFilter",
    "GlobalStepEvict", "L2WeightEvict",
)  # fmt: skip
ENUMS = "core.framework.embedding.config_pb2."
#: DeepRec's optimizers, and its FTRL for EmbeddingVariables, with their names in `runtime.optimizers.deeprec`.
OPTIMIZERS = {
    **{
        f"train.{name}": name
        for name in ("AdagradDecayOptimizer", "AdagradDecayOptimizerV2", "AdamAsyncOptimizer", "AdamWOptimizer")
    },
    "train.FtrlOptimizer": "GroupFtrlOptimizer",
}
#: DeepRec's table constructors and lookups without a counterpart in the runtime.
LACKING = {
    "get_multihash_variable": "a multi-hash variable",
    "get_dynamic_dimension_embedding_variable": "a variable of dynamic dimension",
    "feature_column.categorical_column_with_adaptive_embedding": "an adaptive embedding",
    "feature_column.categorical_column_with_multihash": "a multi-hash column",
    "nn.adaptive_embedding_lookup_sparse": "an adaptive lookup",
    "hash_table.DistributedHashTable": "a hash table of another kind",
}
#: Lookups in several tables at once.
GROUPS = ("nn.group_embedding_lookup", "nn.group_embedding_lookup_sparse")
#: Calls that distribute variables over processes, with their parameter and its default.
STRATEGIES = {
    "config.experimental.enable_distributed_strategy": ("strategy", "collective"),
    "config.experimental.enable_group_embedding": ("fusion_type", "localized"),
}
#: A scope around columns that fuses their lookups; the runtime's lookups are one op each anyway.
GROUP_SCOPE = "feature_column.group_embedding_column_scope"
#: The modules of the runtime from which converted code imports names.
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
#: Modules of DeepRec's TensorFlow that stock TensorFlow 2 lacks.
LOST_MODULES = ("tensorflow.contrib", "tensorflow.core.framework.embedding")


def makes_tables(name: str) -> bool:
    """True for canonical names of calls that create an EmbeddingVariable or its column, or look several up."""
    return name == MAKER or name in CATEGORIES or name in LACKING or name in GROUPS


def option_of(name: str) -> str:
    """Return the name of the option class that a canonical name refers to, or an empty string."""
    home, _, last = name.rpartition(".")
    return last if last in OPTIONS and (f"{home}." if home else "") in OPTION_HOMES else ""


def reads_deeprec(file: File) -> bool:
    """True for a file whose EmbeddingVariables and columns are converted to the runtime's."""
    return file.target.name == "runtime" and any(makes_tables(name) for _, name in file.names.calls)
