"""Arguments that are accepted without effect, by function and name, with the reason; docs/sok.md lists them.

Other arguments without effect are refused; tests/runtime/compat/sok/test_arguments.py compares this with the code.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["HOROVOD", "SOK"]


def _of(function: str, *arguments: str, why: str) -> dict[str, str]:
    return {f"{function}.{argument}": why for argument in arguments}


SOK: Mapping[str, str] = {
    **_of("DynamicVariable.scatter_add", "name", why="names ops alone"),
    **_of("DynamicVariable.scatter_sub", "name", why="names ops alone"),
    **_of("DynamicVariable.scatter_update", "name", why="names ops alone"),
    **_of("DynamicVariable.scatter_add", "use_locking", why="an update of rows is one op"),
    **_of("DynamicVariable.scatter_sub", "use_locking", why="an update of rows is one op"),
    **_of("DynamicVariable.scatter_update", "use_locking", why="an update of rows is one op"),
    **_of(
        "DynamicVariable",
        "max_capacity",
        "max_hbm_for_vectors",
        "max_bucket_size",
        "max_load_factor",
        "block_size",
        why="tables grow in memory, and no row is evicted",
    ),
    **_of("Variable", "aggregation", "synchronization", why="ranks take the place of replicas"),
    **_of("Variable", "caching_device", why="rows are read where they lie"),
    **_of("TFDistributedEmbedding", "comm_options", why="ranks exchange by their engine"),
    **_of("DistributedEmbedding", "max_feature_num", why="checked; they sized buffers, and bound nothing here"),
    **_of("lookup_sparse", "hotness", why="rows of samples are as long as their ids"),
}
HOROVOD: Mapping[str, str] = {
    **_of("allgather", "ignore_name_scope", "name", why="names ops alone"),
    **_of("allreduce", "ignore_name_scope", "name", why="names ops alone"),
    **_of("alltoall", "ignore_name_scope", "name", why="names ops alone"),
    **_of("broadcast", "ignore_name_scope", "name", why="names ops alone"),
    **_of("allgather_object", "name", why="names ops alone"),
    **_of("broadcast_object", "name", why="names ops alone"),
    **_of("reducescatter", "name", why="names ops alone"),
    **_of("DistributedOptimizer", "name", why="names ops alone"),
    **_of("allreduce", "device_dense", "device_sparse", why="everything is sent from the CPU"),
    **_of("reducescatter", "device_dense", why="everything is sent from the CPU"),
    **_of("BroadcastGlobalVariablesHook", "device", why="everything is sent from the CPU"),
    **_of("DistributedGradientTape", "device_dense", "device_sparse", why="everything is sent from the CPU"),
    **_of("DistributedOptimizer", "device_dense", "device_sparse", why="everything is sent from the CPU"),
    **_of("allreduce", "compression", why="numbers are sent uncompressed"),
    **_of("reducescatter", "compression", why="numbers are sent uncompressed"),
    **_of("DistributedGradientTape", "compression", why="numbers are sent uncompressed"),
    **_of("DistributedOptimizer", "compression", why="numbers are sent uncompressed"),
    **_of("DistributedGradientTape", "gradient_predivide_factor", why="a mean is divided once, after the sum"),
    **_of("DistributedOptimizer", "gradient_predivide_factor", why="a mean is divided once, after the sum"),
    **_of("DistributedGradientTape", "groups", "num_groups", why="gradients of one type are sent together"),
    **_of("DistributedOptimizer", "groups", "num_groups", why="gradients of one type are sent together"),
    **_of("DistributedGradientTape", "scale_local_gradients", why="no variable is local to a rank"),
    **_of("DistributedOptimizer", "scale_local_gradients", why="no variable is local to a rank"),
    **_of("DistributedOptimizer", "use_locking", why="the optimizer has its own"),
    **_of("broadcast_variables", "inplace", why="variables are assigned"),
}
