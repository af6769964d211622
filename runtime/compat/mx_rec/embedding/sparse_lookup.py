"""`sparse_lookup`: the runtime's lookup with Rec SDK's rules for modes, shapes and order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation
from runtime.compat.mx_rec.constants import ASCEND_SPARSE_LOOKUP_ENTRANCE, ASCEND_TIMESTAMP, ASCAnchorAttr
from runtime.compat.mx_rec.embedding import joint_expansion
from runtime.compat.mx_rec.embedding.invalid_ids import rows_of
from runtime.compat.mx_rec.embedding.merged_lookups import stand_for
from runtime.compat.mx_rec.embedding.sparse_embedding import BaseSparseEmbedding
from runtime.compat.mx_rec.features import batch_ids
from runtime.compat.mx_rec.features.feature_spec import FeatureSpec
from runtime.compat.mx_rec.state import ConfigInitializer, GraphState, state_of

_MOST_LOOKUPS = 128
#: Keywords that Rec SDK's own functions pass to each other, and `dim=None` of old programs.
_SWALLOWED = {"dim", "feature_spec_name_ids_dict", "multi_lookup", "lookup_ids"}


def sparse_lookup(
    hashtable: Any,
    ids: Any,
    send_count: Any = None,
    is_train: Any = True,
    name: Any = None,
    modify_graph: Any = False,
    batch: Any = None,
    access_and_evict_config: Any = None,
    is_grad: Any = True,
    serving_default_value: Any = None,
    **kwargs: Any,
) -> tf.Tensor:
    """Return the rows of ids: float32 of shape ids.shape + [dim].

    With `is_train=False` an id without a row reads zeros, or `serving_default_value`, and nothing is inserted.

    Args:
        hashtable: from `create_table`.
        ids: a FeatureSpec that the dataset sends (`get_asc_insert_func`), or with `modify_graph=True` a tensor.
        send_count: needed where batches have one shape; it bounds nothing here.
        is_train: whether the lookup is for training.
        name: default: `sparse_lookup_<n>`.
        modify_graph: lets the graph modifier move the computation of the ids into the dataset.
        batch: the batch that a FeatureSpec's ids are in; needed where shapes change.
        access_and_evict_config: thresholds, with ids that are a tensor.
        is_grad: False cuts the gradient.
        serving_default_value: a tensor that broadcasts to [number of ids, dim].
        kwargs: swallowed; see `_SWALLOWED`.

    Raises:
        ValueError: a wrong type, a FeatureSpec of another table, a tensor without `modify_graph=True`, sizes that do
            not fit, or thresholds that differ from those of another lookup of the table.
        RuntimeError: a FeatureSpec that no dataset of this mode sends, one without `batch` where shapes change, more
            than 128 lookups of a table, rows on a host without `modify_graph`, or a lookup for training after
            the pipeline was started.
        KeyError: the batch lacks the ids.
    """
    instance = ConfigInitializer.get_instance()
    unknown = sorted(set(kwargs) - _SWALLOWED)
    if unknown:
        raise TypeError(f"sparse_lookup() got an unexpected keyword argument {unknown[0]!r}")
    _check_arguments(hashtable, ids, send_count, is_train, name, modify_graph, batch, access_and_evict_config)
    _validation.boolean("is_grad", is_grad)
    if serving_default_value is not None:
        _validation.kind("serving_default_value", serving_default_value, tf.Tensor, "a tensor")
    state = state_of()
    count = _count(hashtable, is_train, state)
    _check_sizes(hashtable, send_count, instance)
    scope = re.sub("[^0-9A-Za-z_.-]", "_", name or f"sparse_lookup_{count - 1}")
    default = _default(serving_default_value, is_train)
    with tf.name_scope(f"{hashtable.table_name}//{scope}"):
        if isinstance(ids, FeatureSpec):
            rows = _of_spec(hashtable, ids, is_train, batch, instance, state, default)
            rows = rows if is_grad else tf.stop_gradient(rows)
        else:
            rows = _of_tensor(hashtable, ids, is_train, instance, state, access_and_evict_config, is_grad, default)
    state.lookups[hashtable.table_name, is_train] = count
    if is_grad:
        state.trained.add(is_train)
    return rows


def _count(table: BaseSparseEmbedding, is_train: bool, state: GraphState) -> int:
    """Return how many lookups of this mode the table has with a new one."""
    if is_train and state.started:
        raise RuntimeError(
            f"the table `{table.table_name}` is looked up for training after the pipeline was started: look up "
            "before start_asc_pipeline() or modify_graph_and_start_emb_cache()"
        )
    count = state.lookups.get((table.table_name, is_train), 0) + 1
    if count > _MOST_LOOKUPS:
        raise RuntimeError(f"the table `{table.table_name}` has more than {_MOST_LOOKUPS} lookups of one mode")
    return count


def _require_in_memory(table: BaseSparseEmbedding) -> None:
    if not table.is_hbm:
        raise RuntimeError(
            f"the rows of the table `{table.table_name}` are on the host: give the ids as a tensor, with "
            "modify_graph=True"
        )


def _check_arguments(
    table: Any, ids: Any, send_count: Any, is_train: Any, name: Any, modify_graph: Any, batch: Any, config: Any
) -> None:
    _validation.kind("hashtable", table, BaseSparseEmbedding, "a table created by create_table")
    _validation.kind("ids", ids, (FeatureSpec, tf.Tensor), "a FeatureSpec or a tensor")
    if send_count is not None:
        _validation.integer("send_count", send_count, 1)
    _validation.boolean("is_train", is_train)
    if name is not None:
        _validation.text("name", name)
    if modify_graph is not None:
        _validation.boolean("modify_graph", modify_graph)
    for argument, value in (("batch", batch), ("access_and_evict_config", config)):
        if value is not None:
            _validation.kind(argument, value, dict, "a dict or None")
    if isinstance(ids, tf.Tensor):
        if not modify_graph:
            raise ValueError(
                f"the ids of the table `{table.table_name}` are a tensor: give modify_graph=True, or look up with a "
                "FeatureSpec"
            )
    elif ids.table_name != table.table_name:
        raise ValueError(
            f"the FeatureSpec `{ids.name}` is for the table `{ids.table_name}`, not for `{table.table_name}`"
        )


def _check_sizes(table: BaseSparseEmbedding, send_count: int | None, instance: ConfigInitializer) -> None:
    if not instance.use_static:
        return
    if table.padding_keys_len is not None:
        send_count = table.padding_keys_len
    if send_count is None:
        raise ValueError(
            f"a lookup of the table `{table.table_name}` needs `send_count` with init(use_dynamic=False): give the "
            "largest number of distinct ids of a batch"
        )
    table.send_count = send_count
    if table.is_hbm:
        return
    needed = send_count * table.rank_size
    for size, rows in (
        ("device_vocabulary_size", table.slice_device_vocabulary_size),
        ("host_vocabulary_size", table.slice_host_vocabulary_size),
    ):
        if rows < needed:
            raise ValueError(f"`{size}` of the table `{table.table_name}` is less than {needed}: got {rows}")


def _default(default: Any, is_train: bool) -> Any:
    """Return what an id without a row reads; in Rec SDK, evaluation reads no initial value."""
    return tf.zeros([], tf.float32) if default is None and not is_train else default


def _counting(config: dict[str, Any] | None, instance: ConfigInitializer) -> dict[str, Any] | None:
    """Return thresholds that count ids if increments leave out rare ones; each id still gets its row at once."""
    is_off = not config or config.get("access_threshold") in (None, -1)
    if is_off and instance.is_incremental_checkpoint and instance.settings.recent_key_count_threshold:
        return {"access_threshold": 1}
    return config


def _of_tensor(
    table: BaseSparseEmbedding,
    ids: tf.Tensor,
    is_train: bool,
    instance: ConfigInitializer,
    state: GraphState,
    config: dict[str, Any] | None,
    is_grad: bool,
    default: Any,
) -> tf.Tensor:
    anchor = tf.identity(ids, name="ids")
    config = _counting(config, instance)
    tf.compat.v1.add_to_collection(ASCEND_SPARSE_LOOKUP_ENTRANCE, anchor)
    if is_train and config and config.get("access_threshold") not in (None, -1) and not table.expands:
        waiting = stand_for(table, anchor, config, default, is_grad)
        state.standing.append(waiting)
        rows = waiting.rows if is_grad else tf.stop_gradient(waiting.rows)
    elif is_train and joint_expansion.fits(table, anchor):
        timed = with_time(config, collected_time([anchor]))
        rows = joint_expansion.joined(state, table, anchor, config, timed, is_grad, default)
    else:
        rows = rows_of(
            table,
            anchor,
            is_train=is_train,
            name="rows",
            modify_graph=True,
            access_and_evict_config=with_time(config, collected_time([anchor]) if is_train and config else None),
            is_grad=is_grad,
            serving_default_value=default,
        )
    instance.modify_graph = state.modify_graph = True
    state.merged.discard(is_train)
    state.anchors[anchor.name] = {
        ASCAnchorAttr.TABLE_INSTANCE.value: table,
        ASCAnchorAttr.IS_TRAINING.value: is_train,
        ASCAnchorAttr.IS_GRAD.value: is_grad,
        ASCAnchorAttr.MOCK_LOOKUP_RESULT.value: rows,
    }
    return rows


def _of_spec(
    table: BaseSparseEmbedding,
    spec: FeatureSpec,
    is_train: bool,
    batch: dict[Any, Any] | None,
    instance: ConfigInitializer,
    state: GraphState,
    default: Any,
) -> tf.Tensor:
    """Return the rows of one of a table's FeatureSpecs; the first lookup serves all of them.

    So an id in several of them is counted, admitted and, by address, trained as one.
    """
    _require_in_memory(table)
    specs = state.specs.get((table.table_name, is_train), [])
    if spec not in specs:
        known = any(spec in those for those in state.specs.values())
        reason = f"is not sent for is_train={is_train}" if known else "is not sent by any dataset of this graph"
        raise RuntimeError(f"the FeatureSpec `{spec.name}` {reason}: map the dataset with get_asc_insert_func first")
    if not instance.use_static and batch is None:
        raise RuntimeError(f"the lookup of the FeatureSpec `{spec.name}` needs `batch` with init(use_dynamic=True)")
    if (spec, is_train) not in state.rows:
        ids = [_ids_of(one, is_train, batch) for one in specs]
        flat = [tf.reshape(tf.cast(one, tf.int64), [-1]) for one in ids]
        joined = rows_of(
            table,
            flat[0] if len(flat) == 1 else tf.concat(flat, 0),
            is_train=is_train,
            name="rows",
            access_and_evict_config=with_time(_counting(_rules(specs), instance), _sent_time(state, is_train, batch)),
            serving_default_value=_repeated(default, ids, table.dim),
        )
        parts = [joined] if len(flat) == 1 else tf.split(joined, [tf.size(one) for one in flat])
        for sent, values, rows in zip(specs, ids, parts, strict=True):
            shaped = tf.reshape(rows, tf.concat([tf.shape(values), [table.dim]], 0))
            shaped.set_shape(values.shape.concatenate([table.dim]))
            state.rows[sent, is_train] = shaped
    return state.rows[spec, is_train]


def _repeated(default: Any, ids: list[tf.Tensor], dim: int) -> Any:
    """Return a default for the ids of all FeatureSpecs together; most broadcast as they are."""
    if default is None or default.shape.rank in (0, 1) or default.shape[0] == 1 or len(ids) == 1:
        return default
    raise ValueError(
        f"`serving_default_value` of shape {default.shape} does not fit {len(ids)} FeatureSpecs of one table: give "
        f"one of shape [{dim}]"
    )


def _rules(specs: list[FeatureSpec]) -> dict[str, Any]:
    first = specs[0].rules
    for spec in specs[1:]:
        if spec.rules != first:
            raise ValueError(
                f"the FeatureSpecs of the table `{spec.table_name}` have different thresholds, {first} and "
                f"{spec.rules}: give all of them the same"
            )
    return first


def _ids_of(spec: FeatureSpec, is_train: bool, batch: dict[Any, Any] | None) -> tf.Tensor:
    if batch is not None:
        if spec.index_key not in batch:
            raise KeyError(f"`batch` has no {spec.index_key!r}, the index_key of the FeatureSpec `{spec.name}`")
        return tf.convert_to_tensor(batch[spec.index_key])
    ids = batch_ids.ids_of(spec, is_train)
    if ids is None:
        raise RuntimeError(
            f"no iterator of this graph reads the dataset that sends the FeatureSpec `{spec.name}`: call get_next() of "
            "its iterator before the lookup, or give `batch`"
        )
    return ids


def _sent_time(state: GraphState, is_train: bool, batch: dict[Any, Any] | None) -> Any:
    for spec in state.specs.get(("", is_train), []):
        if batch is not None and spec.index_key in batch:
            return batch[spec.index_key]
        return batch_ids.ids_of(spec, is_train)
    return None


def collected_time(ids: Sequence[tf.Tensor]) -> Any:
    """Return the time of the batch that ids are from, if the graph's collection has one; None without any.

    Raises:
        ValueError: there are times, but none or several of them belong to this batch.
    """
    collected = list({time.name: time for time in tf.compat.v1.get_collection(ASCEND_TIMESTAMP)}.values())
    getters = {op.name for op in batch_ids.getters_behind(list(ids))}
    behind = [{op.name for op in batch_ids.getters_behind([time])} for time in collected]
    own = [time for time, names in zip(collected, behind, strict=True) if names & getters]
    # Fed times, or any time for fed ids: if there is only one, it is used.
    own = own or [time for time, names in zip(collected, behind, strict=True) if not names or not getters]
    if collected and len(own) != 1:
        source = ids[0].op.inputs[0] if ids[0].op.inputs else ids[0]
        raise ValueError(
            f"{len(own)} of the {len(collected)} times in the collection {ASCEND_TIMESTAMP} are from the batch of the "
            f"ids {source.name}: add exactly one from the same iterator"
        )
    return own[0] if own else None


def with_time(config: dict[str, Any] | None, time: Any) -> dict[str, Any] | None:
    """Return the thresholds in the runtime's form, with the time of the batch: the newest if each sample has one."""
    if not config:
        return None
    unknown = sorted(str(key) for key in set(config) - {"access_threshold", "eviction_threshold", "faae_coefficient"})
    if unknown:
        raise ValueError(f"access_and_evict_config has no key {unknown[0]!r}")
    known = {key: int(value) if isinstance(value, np.integer) else value for key, value in config.items()}
    return known if time is None else {**known, "timestamp": tf.reduce_max(tf.cast(time, tf.int64))}
