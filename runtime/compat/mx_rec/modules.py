"""The modules of Rec SDK, with their names."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from runtime.compat.mx_rec import constants, state
from runtime.compat.mx_rec.checkpoint import saver
from runtime.compat.mx_rec.embedding import sparse_embedding
from runtime.compat.mx_rec.embedding.sparse_lookup import sparse_lookup
from runtime.compat.mx_rec.features.feature_spec import FeatureSpec
from runtime.compat.mx_rec.features.insert_function import get_asc_insert_func
from runtime.compat.mx_rec.graph import hooks, host_pipeline_ops, pipeline
from runtime.compat.mx_rec.hardware import npu
from runtime.compat.mx_rec.optimizers import factories
from runtime.compat.mx_rec.optimizers.customized import CustomizedOptimizer
from runtime.compat.mx_rec.ranks import rank_ids
from runtime.table.trainable_variables import get_dense_and_sparse_variable as _of_runtime

#: Version of the release whose interface this is.
VERSION = "5.0.RC2"
logger = logging.getLogger("mx_rec")


def _instance() -> state.ConfigInitializer:
    return state.ConfigInitializer.get_instance()


def get_initializer(is_training: bool) -> tf.Operation:
    """Return the initializer of the iterator behind the lookups of a mode."""
    return _instance().train_params_config.get_initializer(is_training)


def get_target_batch(is_training: bool) -> Any:
    """Return the batch that the lookups of a mode read."""
    return _instance().train_params_config.get_target_batch(is_training)


def set_if_load(if_load: bool) -> None:
    """Set whether a checkpoint is going to be restored."""
    _instance().if_load = if_load


def get_if_load() -> bool:
    """Return whether a checkpoint is going to be restored."""
    return _instance().if_load


def get_use_dynamic_expansion() -> bool:
    """Return whether tables are trained by address."""
    return _instance().use_dynamic_expansion


def clear_channel(is_train_channel: bool = False) -> None:
    """Do nothing: there is no channel with ids of an earlier batch."""


def get_dense_and_sparse_variable() -> tuple[list[Any], list[Any]]:
    """Return the trainable variables and the anchors of tables, whatever name their collection has."""
    name = _instance().train_params_config.ascend_global_hashtable_collection
    dense, _ = _of_runtime()
    return dense, tf.compat.v1.get_collection(name)


def version() -> str:
    """Return the version of the interface."""
    return VERSION


def get_host_pipeline_ops() -> Any:
    """Return the ops of Rec SDK's library."""
    return host_pipeline_ops.import_host_pipeline_ops()


def _of(module: Any) -> dict[str, Any]:
    return {name: getattr(module, name) for name in module.__all__}


_MANAGER = {"start_asc_pipeline": pipeline.start_asc_pipeline}
_HELPER = {"FeatureSpec": FeatureSpec, "get_asc_insert_func": get_asc_insert_func}
_MERGE = {"do_merge_lookup": pipeline.do_merge_lookup}
_MODIFIER = {
    "GraphModifierHook": hooks.GraphModifierHook,
    "modify_graph_and_start_emb_cache": pipeline.modify_graph_and_start_emb_cache,
}
_RANKS = _of(rank_ids)
_ADAPTER = {
    "NPUCheckpointSaverHook": tf.compat.v1.train.CheckpointSaverHook,
    "hccl_ops": npu.hccl_ops,
    "npu_ops": npu.npu_ops,
}
_INITIALIZE = {
    "ConfigInitializer": state.ConfigInitializer,
    "clear_channel": clear_channel,
    "get_host_pipeline_ops": get_host_pipeline_ops,
    "get_if_load": get_if_load,
    "get_initializer": get_initializer,
    "get_rank_id": rank_ids.get_rank_id,
    "get_rank_size": rank_ids.get_rank_size,
    "get_target_batch": get_target_batch,
    "get_use_dynamic_expansion": get_use_dynamic_expansion,
    "init": state.init,
    "set_if_load": set_if_load,
    "terminate_config_initializer": state.terminate_config_initializer,
}
#: What the modules of Rec SDK's optimizers import, too, where tests of its own replace it.
_SETTINGS = {"ConfigInitializer": state.ConfigInitializer}
CONTENTS: dict[str, dict[str, Any]] = {
    "mx_rec": {
        "ASCEND_GLOBAL_HASHTABLE_COLLECTION": constants.ASCEND_GLOBAL_HASHTABLE_COLLECTION,
        "__version__": VERSION,
        "version": version,
    },
    "mx_rec.constants.constants": _of(constants),
    "mx_rec.util.constants": _of(constants),
    "mx_rec.core.asc": {**_HELPER, **_MANAGER},
    "mx_rec.core.asc.feature_spec": {"FeatureSpec": FeatureSpec},
    "mx_rec.core.asc.helper": _HELPER,
    "mx_rec.core.asc.manager": _MANAGER,
    "mx_rec.core.embedding": {"create_table": sparse_embedding.create_table, "sparse_lookup": sparse_lookup},
    "mx_rec.core.emb.base_sparse_embedding": {"BaseSparseEmbedding": sparse_embedding.BaseSparseEmbedding},
    "mx_rec.core.emb.sparse_embedding": _of(sparse_embedding),
    "mx_rec.core.feature_process": {"EvictHook": hooks.EvictHook},
    "mx_rec.graph": {
        **_MODIFIER,
        **_MERGE,
        "LookupSubgraphSlicerHook": hooks.LookupSubgraphSlicerHook,
        "OrphanLookupKeySlicerHook": hooks.OrphanLookupKeySlicerHook,
    },
    "mx_rec.graph.hooks": {
        "LookupSubgraphSlicerHook": hooks.LookupSubgraphSlicerHook,
        "OrphanLookupKeySlicerHook": hooks.OrphanLookupKeySlicerHook,
    },
    "mx_rec.graph.acg_push_ops": {"ACGPushOpsToDatasetHook": hooks.ACGPushOpsToDatasetHook},
    "mx_rec.graph.merge_lookup": _MERGE,
    "mx_rec.graph.modifier": _MODIFIER,
    **{f"mx_rec.optimizers.{name}": {**_SETTINGS, **contents} for name, contents in factories.FACTORIES.items()},
    "mx_rec.optimizers.base": {**_SETTINGS, "CustomizedOptimizer": CustomizedOptimizer},
    "mx_rec.saver.saver": {"Saver": saver.Saver},
    "mx_rec.saver.sparse": {"export": saver.export},
    "mx_rec.util.communication.hccl_ops": _RANKS,
    "mx_rec.util.config_utils.embedding_utils": {"SparseEmbedConfig": state.SparseEmbedConfig},
    "mx_rec.util.config_utils.feature_spec_utils": {"FeatureSpecConfig": state.FeatureSpecConfig},
    "mx_rec.util.config_utils.hybrid_mgmt_utils": {"HybridManagerConfig": state.HybridManagerConfig},
    "mx_rec.util.config_utils.optimizer_utils": {"OptimizerConfig": state.OptimizerConfig},
    "mx_rec.util.config_utils.train_param": {"TrainParamsConfig": state.TrainParamsConfig},
    "mx_rec.util.initialize": _INITIALIZE,
    "mx_rec.util.log": {"logger": logger},
    "mx_rec.util.ops": {"import_host_pipeline_ops": host_pipeline_ops.import_host_pipeline_ops},
    "mx_rec.util.tf_version_adapter": _ADAPTER,
    "mx_rec.util.variable": {"get_dense_and_sparse_variable": get_dense_and_sparse_variable},
    "rec_sdk_common.communication.hccl.hccl_info": _RANKS,
    "rec_sdk_common.log.log": {"LoggingProxy": logger, "logger": logger},
    "rec_sdk_common.util.tf_adapter": _ADAPTER,
    **npu.CONTENTS,
}
