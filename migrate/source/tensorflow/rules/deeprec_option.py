"""DeepRec's option objects -> the options of the runtime, each where it is created."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS

MADE = 'item = tf.get_embedding_variable("item", 8, ev_option=option)\nrows = tf.nn.embedding_lookup(item, ids)\n'
AFTER = 'item = create_counted_table("item", 8, rules=option)\nrows = sparse_lookup(item, ids)\n'
HEAD = "import tensorflow.compat.v1 as tf\n"
ENUMS = "from tensorflow.core.framework.embedding import config_pb2\n"


def _storage(kind: str) -> str:
    return (
        f'storage = tf.StorageOption(config_pb2.StorageType.{kind}, "/mnt/rows", [1 << 30, 1 << 33],\n'
        "    cache_strategy=config_pb2.CacheStrategy.LRU)\n"
        "option = tf.EmbeddingVariableOption(storage_option=storage)\n"
    )


@register
class EmbeddingVariableOption(Rule):
    """Admission, eviction, tiers and initial rows. Code that chooses between options at run time is left unchanged.

    As in DeepRec, sizes limit the memory tiers; the disk tier has no limit. Storage types with an HBM tier leave the
    file unchanged, because their bytes are not converted to rows on a device; the façade of DeepRec runs them. So do
    types that are computed at run time.
    Types of persistent memory alone become main memory.
    """

    id = "tf-embedding-variable-option"
    title = "Options of an EmbeddingVariable become `KeyRules` of a counted table"
    refusals = (
        *OF_CALLS,
        Refusal(
            "option-attribute",
            "`{text}` is an attribute of an option",
            "an option of the runtime cannot be changed after it is made",
            "pass the value to the call that makes it",
        ),
        Refusal(
            "option-attribute-by-name",
            "`{text}` reads an attribute of an option by name",
            "an option of the runtime cannot be changed after it is made",
            "pass the value to the call that makes it",
        ),
        Refusal(
            "initial-source",
            "`init_data_source` is given",
            "the runtime has no such argument",
            "leave it out and give `ckpt_to_load_from`",
        ),
        Refusal(
            "unknown-steps",
            "it is not known whether `{text}` is greater than 0",
            "its value is computed",
            "bind the number to a name of its own",
        ),
        Refusal(
            "counter-type",
            "the type of a filter's counters cannot be read",
            "",
            "write one of tf.uint8, tf.uint16, tf.uint32 and tf.uint64 here",
        ),
        Refusal(
            "no-folder",
            "the storage tiers of `{kind}` have no folder",
            "these tiers are stored in files",
            "set storage_path to a folder on a fast disk",
        ),
        Refusal(
            "unknown-storage",
            "the storage type cannot be read",
            "the tiers are chosen at run time",
            "write `config_pb2.StorageType` and its name here, or choose between options",
        ),
        Refusal(
            "storage-on-gpu",
            "the storage type {name} keeps rows on a GPU",
            "its bytes are not converted to rows of a device",
            (
                "write `StorageType.{instead}`, and then add `device=` and `device_rows=` to the converted `KeyRules`; "
                "or run the program unchanged with `python -m runtime.compat.deeprec`"
            ),
        ),
        Refusal(
            "unknown-cache",
            "the cache strategy cannot be read",
            "it is decided at run time",
            "write `config_pb2.CacheStrategy.LRU` or `.LFU` here",
        ),
    )
    examples = (
        Example(
            "admission, eviction and initial rows",
            HEAD + "if exact:\n    kept = tf.CounterFilter(filter_freq=3)\nelse:\n"
            "    kept = tf.CBFFilter(filter_freq=3, max_element_size=2 ** 20, false_positive_probability=0.01,\n"
            "                        counter_type=tf.uint16)\n"
            "option = tf.EmbeddingVariableOption(\n"
            "    evict_option=tf.GlobalStepEvict(steps_to_live=4000),  # steps\n"
            "    filter_option=kept,\n    init_option=tf.InitializerOption(default_value_dim=1000))\n" + MADE,
            HEAD + "from runtime import Admission, CountingBloom, Eviction, InitialRows, KeyRules, "
            "create_counted_table, sparse_lookup\n"
            "if exact:\n    kept = Admission(threshold=3)\nelse:\n"
            "    kept = Admission(threshold=3,\n"
            "                     bloom=CountingBloom(max_element_size=2 ** 20, false_positive_probability=0.01, "
            "counter_bits=16))\n"
            "option = KeyRules(\n    eviction=Eviction(steps_to_live=4000),  # steps\n"
            "    admission=kept,\n    initial=InitialRows(rows=1000))\n" + AFTER,
        ),
        Example(
            "tiers",
            HEAD + ENUMS + _storage("DRAM_SSDHASH") + MADE,
            HEAD + "from runtime import KeyRules, Storage, create_counted_table, sparse_lookup\n"
            'storage = Storage("dram_ssdhash", path="/mnt/rows", sizes=[1 << 30], policy="lru", counts_values=True)\n'
            "option = KeyRules(storage=storage)\n" + AFTER,
        ),
        Example("a GPU's memory", HEAD + ENUMS + _storage("HBM_DRAM") + MADE, says="HBM_DRAM keeps rows on a GPU"),
        Example(
            "a storage type that is computed",
            HEAD + "option = tf.EmbeddingVariableOption(storage_option=tf.StorageOption(kind, path))\n" + MADE,
            says="the storage type cannot be read",
        ),
        Example(
            "initial rows from a checkpoint",
            HEAD + "option = tf.EmbeddingVariableOption(ckpt=tf.CheckpointOption('/old'))\n" + MADE,
            HEAD
            + "from runtime import KeyRules, WarmStart, create_counted_table, sparse_lookup\n"
            + "option = KeyRules(warm_start=WarmStart('/old'))\n"
            + AFTER,
        ),
    )
