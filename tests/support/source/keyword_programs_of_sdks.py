"""The same for DeepRec and SparseOperationKit, whose signatures are those of their sources."""

from __future__ import annotations

from tests.support.source.keyword_programs import HEAD, Program

_OPTION = "e = tf.nn.embedding_lookup(t, ids)\n"
_END = "loss = tf.reduce_mean(tf.square(e))\nop = tf.train.AdagradOptimizer(0.3).minimize(loss)\n"
_TABLE = 't = tf.get_embedding_variable("table", embedding_dim=4)\n'
_SOK = "import sparse_operation_kit as sok\nimport tensorflow as tf\nsok.init()\n"
_VARIABLE = 'v = sok.DynamicVariable(dimension=4, initializer="0.5")\n'


def _with(option: str, **given: str) -> Program:
    """Return a program that makes a variable with one option."""
    made = (
        f't = tf.get_embedding_variable("table", embedding_dim=4, ev_option=tf.EmbeddingVariableOption({option}=o))\n'
    )
    return Program(HEAD + "o = {0}\n" + made + _OPTION + _END, given)


def _looks(before: str = "e = ", **given: str) -> Program:
    return Program(HEAD + _TABLE + before + "{0}\n" + _END, given)


def _step(made: str, rows: str, **given: str) -> Program:
    text = (
        f"{made}opt = sok.OptimizerWrapper(tf.keras.optimizers.Adam(0.1))\ndef step(ids, sparse):\n"
        f"    with tf.GradientTape() as tape:\n        rows = {rows}\n        loss = tf.reduce_mean(rows**2)\n"
        "    grads = tape.gradient(loss, [v])\n    opt.apply_gradients(zip(grads, [v]))\n    return loss\n"
    )
    return Program(_SOK + text, given)


_POOLED = 'sok.lookup_sparse(v, sparse, combiners="sum")'
OF_SDKS = {
    "tf.get_embedding_variable": Program(
        HEAD + "t = {0}\n" + _OPTION + _END, {"name": '"table"', "embedding_dim": "4"}),
    "tf.EmbeddingVariableOption": Program(
        HEAD + 't = tf.get_embedding_variable("table", embedding_dim=4, ev_option={0})\n' + _OPTION + _END),
    "tf.CheckpointOption": _with("ckpt", ckpt_to_load_from='"c"'),
    "tf.InitializerOption": _with("init_option"),
    "tf.GlobalStepEvict": _with("evict_option"),
    "tf.L2WeightEvict": _with("evict_option"),
    "tf.CounterFilter": _with("filter_option"),
    "tf.CBFFilter": _with("filter_option", filter_freq="3", max_element_size="100", false_positive_probability="0.01"),
    "tf.nn.embedding_lookup": _looks(params="t", ids="ids"),
    "tf.nn.embedding_lookup_sparse": _looks(params="t", sp_ids="sp", sp_weights="None"),
    "tf.nn.safe_embedding_lookup_sparse": _looks(embedding_weights="t", sparse_ids="sp"),
    "tf.nn.group_embedding_lookup": _looks("e, = ", params="[t]", ids="[ids]"),
    "tf.nn.group_embedding_lookup_sparse": _looks("e, = ", params="[t]", sp_ids="[sp]", combiners='["sum"]'),
    "sok.Variable": _step("v = {0}\n", _POOLED, shape="[20, 4]", initializer="tf.ones_initializer()"),
    "sok.DynamicVariable": _step("v = {0}\n", _POOLED, dimension="4", initializer='"0.5"'),
    "sok.lookup_sparse": _step(_VARIABLE, "{0}", params="v", sp_ids="sparse", combiners='"sum"'),
    "sok.all2all_dense_embedding": _step(_VARIABLE, "{0}", param="v", indices="ids"),
}  # fmt: skip
#: As in the sources of DeepRec (2402) and SOK (2.0).
SIGNATURES_OF_SDKS = {
    "tf.get_embedding_variable": (
        "name, embedding_dim, key_dtype=None, value_dtype=None, initializer=None, regularizer=None, trainable=True, "
        "collections=None, caching_device=None, partitioner=None, validate_shape=True, custom_getter=None, "
        "constraint=None, steps_to_live=None, init_data_source=None, ev_option=None"
    ),
    "tf.EmbeddingVariableOption": (
        "ht_type=None, ht_partition_num=1000, evict_option=None, ckpt=None, filter_option=None, storage_option=None, "
        "init_option=None"
    ),
    "tf.CheckpointOption": (
        "ckpt_to_load_from, tensor_name_in_ckpt=None, always_load_from_specific_ckpt=False, init_data_source=None"
    ),
    "tf.InitializerOption": "initializer=None, default_value_dim=4096, default_value_no_permission=0.0",
    "tf.GlobalStepEvict": "steps_to_live=4",
    "tf.L2WeightEvict": "l2_weight_threshold=1.0",
    "tf.CounterFilter": "filter_freq=3",
    "tf.CBFFilter": "filter_freq, max_element_size, false_positive_probability, counter_type=None",
    "tf.nn.embedding_lookup": (
        "params, ids, partition_strategy='mod', name=None, validate_indices=True, max_norm=None, blocknums=None"
    ),
    "tf.nn.embedding_lookup_sparse": (
        "params, sp_ids, sp_weights, partition_strategy='mod', name=None, combiner=None, max_norm=None"
    ),
    "tf.nn.safe_embedding_lookup_sparse": (
        "embedding_weights, sparse_ids, sparse_weights=None, combiner=None, default_id=None, name=None, "
        "partition_strategy='div', max_norm=None, prune=True"
    ),
    "tf.nn.group_embedding_lookup": "params, ids, partition_strategy='mod', name=None",
    "tf.nn.group_embedding_lookup_sparse": (
        "params, sp_ids, combiners, sp_weights=None, partition_strategy='mod', is_sequence=False, "
        "params_num_per_group=None, name=None"
    ),
    "sok.Variable": (
        "initial_value=None, trainable=True, validate_shape=True, caching_device=None, name=None, variable_def=None, "
        "dtype=None, import_scope=None, constraint=None, synchronization=None, aggregation=None, shape=None, "
        "initializer=None, mode=None"
    ),
    "sok.DynamicVariable": (
        "dimension, initializer=None, var_type=None, name=None, constraint=None, trainable=True, key_type=None, "
        "dtype=None, mode=None, init_capacity=None, max_capacity=None, max_hbm_for_vectors=None, max_bucket_size=None, "
        "max_load_factor=None, block_size=None, io_block_size=None, device_id=None, io_by_cpu=None, "
        "evict_strategy=None"
    ),
    "sok.lookup_sparse": (
        "params, sp_ids, sp_weights=None, combiners=None, use_low_frequency_filter=False, hotness=None"
    ),
    "sok.all2all_dense_embedding": "param, indices",
}
