"""Starts the pipeline, directly or by modifying the graph, after Rec SDK's checks."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.compat import graph_modifier
from runtime.compat.mx_rec.constants import ASCEND_CUTTING_POINT_INITIALIZER, ASCEND_SPARSE_LOOKUP_ENTRANCE
from runtime.compat.mx_rec.embedding.merged_lookups import merge
from runtime.compat.mx_rec.embedding.sparse_embedding import BaseSparseEmbedding
from runtime.compat.mx_rec.embedding.sparse_lookup import collected_time, with_time
from runtime.compat.mx_rec.features import batch_ids
from runtime.compat.mx_rec.state import ConfigInitializer, GraphState, state_of
from runtime.table.create import tables


def start_asc_pipeline() -> None:
    """Start the pipeline: from now on, no table with a new name and no training lookup can be added to this graph.

    Raises:
        RuntimeError: there is no table, or all have padding keys and shapes vary.
        ValueError: only some tables have rows on the host.
    """
    state = state_of()
    if not state.started:
        _check_tables(ConfigInitializer.get_instance())
        state.started = True
        ConfigInitializer.get_instance().hybrid_manager_config.freeze = True


def _check_tables(instance: ConfigInitializer) -> None:
    own = [table for table in tables(tf.compat.v1.get_default_graph()) if isinstance(table, BaseSparseEmbedding)]
    if not own:
        raise RuntimeError("the pipeline has no table: call create_table first")
    if len({table.is_hbm for table in own}) > 1:
        listed = {table.table_name: "device" if table.is_hbm else "host" for table in own}
        raise ValueError(f"only some tables have rows on the host, {listed}: give all or none a host_vocabulary_size")
    if not instance.use_static and all(table.padding_keys_mask for table in own):
        raise RuntimeError("all tables have padding_keys while shapes vary: call init(use_dynamic=False)")


def do_merge_lookup(is_train: bool = True) -> None:
    """Merge the lookups of each table for one mode.

    The runtime trains them like one anyway; tables that count ids get a single lookup.

    Raises:
        ValueError: `is_train` is not a bool.
        RuntimeError: the graph has no lookups by tensors, or none for this mode.
    """
    _validation.boolean("is_train", is_train)
    state = state_of()
    if not ConfigInitializer.get_instance().modify_graph or is_train in state.merged:
        return
    if not tf.compat.v1.get_collection(ASCEND_SPARSE_LOOKUP_ENTRANCE):
        raise RuntimeError("the graph has no lookups to merge: call sparse_lookup(..., modify_graph=True) first")
    if is_train not in _modes(state):
        raise RuntimeError(f"the graph has no lookups with is_train={is_train} to merge")
    if is_train and True not in state.trained:
        raise RuntimeError("no lookup has a gradient: give at least one is_grad=True")
    if is_train:
        merge(state.standing, lambda config, ids: with_time(config, collected_time(ids)))
        state.standing = []
    state.merged.add(is_train)


def merge_for_training() -> None:
    """Merge the existing lookups, when a stock optimizer computes gradients."""
    if ConfigInitializer._instance is not None and True in _modes(state_of()):
        do_merge_lookup(True)


def require_merged(grads_and_vars: Any) -> None:
    """Refuse gradients of `tf.gradients` that miss tables whose lookups are not built yet.

    Raises:
        RuntimeError: a table has no gradient, and its training lookups are not merged.
    """
    standing = {id(one.table): one.table.table_name for one in state_of().standing}
    for gradient, variable in grads_and_vars:
        name = standing.get(id(getattr(variable, "table", None)))
        if gradient is None and name is not None:
            raise RuntimeError(
                f"the lookups for training are not merged, so the table `{name}` has no gradient: compute gradients "
                "with an optimizer before tf.gradients, or call do_merge_lookup()"
            )


def _modes(state: GraphState) -> set[bool]:
    return {facts["is_training"] for facts in state.anchors.values()}


def modify_graph_and_start_emb_cache(full_graph: Any = None, dump_graph: bool = False) -> None:
    """Let datasets compute the ids of the lookups, then start the pipeline.

    Args:
        full_graph: default: the current graph.
        dump_graph: whether to write the graph before and after to `./export_graph`.

    Raises:
        ValueError: it is not a graph, or some ids come from no dataset.
        RuntimeError: the training lookups are not merged, because no optimizer has computed gradients.
    """
    if full_graph is not None:
        _validation.kind("full_graph", full_graph, tf.Graph, "a tf.Graph or None")
    _validation.boolean("dump_graph", dump_graph)
    graph = full_graph or tf.compat.v1.get_default_graph()
    with graph.as_default():
        prepare(state_of())
        graph_modifier.part("modify_graph_and_start_emb_cache")(graph, dump_graph, tables=[])
        finish(state_of())


def prepare(state: GraphState) -> None:
    """Check what the graph modification needs, and record the iterators of the lookups."""
    instance = ConfigInitializer.get_instance()
    by_mode: dict[bool, list[tf.Tensor]] = {}
    for anchor in tf.compat.v1.get_collection(ASCEND_SPARSE_LOOKUP_ENTRANCE):
        getters = batch_ids.getters_behind([anchor])
        if not getters and not state.orphans_allowed:
            raise ValueError(
                f"the ids {anchor.op.inputs[0].name} come from no dataset: add OrphanLookupKeySlicerHook() before "
                "GraphModifierHook, or read them from an iterator"
            )
        by_mode.setdefault(state.anchors[anchor.name]["is_training"], []).append(anchor)
    if True in by_mode and True not in state.merged:
        raise RuntimeError(
            "the lookups for training are not merged: compute gradients with an optimizer before the graph is "
            "modified, or call do_merge_lookup()"
        )
    if False in by_mode:
        do_merge_lookup(False)
    if by_mode:
        _check_tables(instance)
    operations = tf.compat.v1.get_default_graph().get_operations()
    state.makers = [(one, *one.inputs) for one in operations if one.type == "MakeIterator"]
    for mode, anchors in by_mode.items():
        makers = [op for getter in batch_ids.getters_behind(anchors) for op in batch_ids.makers_of(getter)]
        kind = "MakeIterator" if makers else "OneShotIterator"
        instance.train_params_config.iterator_type = kind
        if makers:
            state.initializers[mode] = makers[0]
            tf.compat.v1.add_to_collection(ASCEND_CUTTING_POINT_INITIALIZER, makers[0])


def finish(state: GraphState) -> None:
    """Start the pipeline of a modified graph.

    A replaced iterator stays as it was, for programs that read more batches of it: its initializer makes both.
    """
    for maker, dataset, iterator in state.makers:
        if maker.inputs[1] is not iterator:
            with tf.control_dependencies(None), tf.device(maker.device):
                former = tf.raw_ops.MakeIterator(dataset=dataset, iterator=iterator, name="former_iterator")
            _tf_private.add_control_inputs(maker, [former])
    state.makers = []
    state.modified = True
    ConfigInitializer.get_instance().train_params_config.note_modified(tf.compat.v1.get_default_graph())
    start_asc_pipeline()
