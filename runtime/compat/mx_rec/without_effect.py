"""Arguments of Rec SDK's functions that are accepted without effect, with the reason; docs/rec_sdk.md lists them.

A test checks all functions: an argument that is not listed here has its effect, or is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

_CHANNELS = "there are no channels between a host and a device"
_HARDWARE = "a setting of the hardware"
_OLDER = "of older releases, which Rec SDK ignores as well or has no more"
_RANKS = "it is the number of ranks that there are"
_WHERE = "how the hardware sends it; another group than all ranks is refused"
_SIZES = "rows lie in memory that grows, as many as the other sizes allow"

#: For each function or class: its arguments, and why they have no effect.
WITHOUT_EFFECT: Mapping[str, Mapping[str, str]] = {
    "ACGPushOpsToDatasetHook": {"dump_graph": "it modifies nothing: GraphModifierHook does, and has such an argument"},
    "DumpConfig": dict.fromkeys(("args", "kwargs"), _HARDWARE),
    "FixedLossScaleManager.update_loss_scale": {"finite_grads": "the scale is fixed"},
    "IterationPerLoop.load_iteration_per_loop_var": {"sess": "the number is not kept in the session"},
    "NPUBroadcastGlobalVariablesHook": {"index": _HARDWARE, "root_rank": "all but 0 is refused"},
    "NPURunConfig": {"settings": f"those that TensorFlow's RunConfig has not are {_HARDWARE}; the log names them"},
    "allgather": {"rank_size": _RANKS, "places": _WHERE, "settings": _WHERE},
    "allreduce": {"places": _WHERE, "settings": _WHERE},
    "averaging": dict.fromkeys(("places", "settings"), _WHERE),
    "broadcast": dict.fromkeys(("places", "settings"), _WHERE),
    "clear_channel": {"is_train_channel": _CHANNELS},
    "create_hash_optimizer": {
        "use_locking": "rows are always updated under locks",
        "use_fusion_optim": "there is one implementation, which is fused",
        "accum_name": "slots have the names of the optimizer",
        "linear_name": "slots have the names of the optimizer",
    },
    "create_hash_optimizer_by_addr": {"use_locking": "rows are always updated under locks"},
    "create_table": {
        "shard_num": "checked; Rec SDK does not pass it on",
        "fusion_optimizer_var": "checked; Rec SDK does not pass it on",
        "hashtable_threshold": "checked; Rec SDK does not pass it on",
        "value_dtype": "all but float32 is refused",
        "host_vocabulary_size": _SIZES,
        "older": _OLDER,
    },
    "eos_map": dict.fromkeys(("librec", "channel_id", "max_train_steps", "max_eval_steps"), _CHANNELS),
    "get_asc_insert_func": {"dump_graph": "it modifies nothing", "table_names": "lookups name their tables"},
    "import_host_pipeline_ops": {"so_pkg_name": "no library is loaded"},
    "init": {
        "use_lccl": _HARDWARE,
        "bind_cpu": "the threads are those of TensorFlow's session",
        "positional": _OLDER,
        "max_steps": "nothing has to know how long the loop is",
        "train_steps": "nothing has to know how long the loop is",
        "eval_steps": "nothing has to know how long the loop is",
        "save_steps": "nothing has to know how long the loop is",
        "if_load": "a restore replaces all rows; it is only kept for `ConfigInitializer.if_load`",
    },
    "npu_allreduce": {"places": _WHERE, "settings": _WHERE},
    "npu_config_proto": {"job_start_file": _HARDWARE},
    "PipelineOps.clear_channel": {"channel_id": _CHANNELS},
    "PipelineOps.set_threshold": {"ids_name": "a threshold is one of a table, as in Rec SDK"},
    "reduce_scatter": {"rank_size": _RANKS, "places": _WHERE, "settings": _WHERE},
    "Saver": {"fid_version": _OLDER},
    "set_device_sat_mode": {"mode": _HARDWARE},
    "set_iteration_per_loop": {"sess": "the number is not kept in the session"},
    "sparse_lookup": {"send_count": "checked; nothing is bounded by it", "kwargs": f"`dim` and others {_OLDER}"},
    "FeatureSpec": {"batch_size": "overwritten by the batch's, as in Rec SDK", "older": "`feat_count` " + _OLDER},
}
