"""`create_counted_table`: a table in which only updates create keys, as in DeepRec's EmbeddingVariable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.embedding_variable.counted_table import CountedTable
from runtime.embedding_variable.options import InitialRows, KeyRules, WarmStart
from runtime.ranks import checkpoint_parts
from runtime.ranks.process_group import refuse_several
from runtime.table.arguments import TableArguments, checked_value_dtype
from runtime.table.clusters.servers import server_of
from runtime.table.create import new_in_graph, tables

v1: Any = tf.compat.v1
_KEYS = (tf.int64, tf.int32, tf.string)


@_tf_private.as_written
def create_counted_table(
    name: str,
    dim: int,
    key_dtype: Any = tf.int64,
    initializer: Any = None,
    rules: KeyRules | None = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
) -> CountedTable:
    """Create a counted table: rows of width `dim` in the current v1 graph; lookups are read-only.

    Updates create keys, count them and admit them according to `rules`; saving drops rows according to `rules`. It is
    looked up like other tables, and trained by the optimizers of `tf.compat.v1.train` and `runtime.optimizers.deeprec`:
    its variable, named in the open variable scope, is trainable. Checkpoints have the layout of DeepRec's
    EmbeddingVariables.

    Args:
        name: of the variable, below the open variable scope.
        dim: values per row.
        key_dtype: int64, int32 or string; strings are hashed to 63 bits.
        initializer: of new rows, unless the rules have one: an initializer, or the values of one row. Default: the
            scope's initializer, else truncated normal.
        rules: default: every key gets a row in its first update.
        trainable: whether its variable is trainable.
        collections: further collections of the graph to add the variable to.

    Raises:
        ValueError: an argument has a wrong type or value, the graph already has the name, the checkpoint to start from
            does not exist, or eager mode is on.
    """
    _validation.text("name", name, 1000)
    if rules is not None:
        _validation.kind("rules", rules, KeyRules, "a runtime.KeyRules or None")
    scope = v1.get_variable_scope()
    _validation.boolean("trainable", trainable)
    return counted_table(
        f"{scope.name}/{name}" if scope.name else name,
        _validation.integer("dim", dim, 1, 8192),
        key_dtype,
        scope.initializer if initializer is None else initializer,
        rules or KeyRules(),
        lambda table: CountedAnchor(table, trainable, tuple(collections or ())),
    )


def counted_table(
    name: str,
    dim: int,
    key_dtype: Any,
    initializer: Any,
    rules: KeyRules,
    anchor: Callable[[CountedTable], CountedAnchor],
    share: tuple[str, int, int] | None = None,
) -> CountedTable:
    """Create the table from checked arguments, with exactly this name; `anchor` and `share` as in `CountedTable`.

    Raises:
        ValueError: the key type is unsupported, the graph already has the name, the checkpoint to start from does not
            exist, or eager mode is on.
    """
    if key_dtype not in _KEYS:
        raise ValueError(f"`key_dtype` {key_dtype!r} of the table `{name}` must be tf.int64, tf.int32 or tf.string")
    with tf.init_scope():
        if tf.executing_eagerly():
            raise ValueError(
                f"the table `{name}` cannot be created in eager mode, where keys cannot be counted: create it in a v1 "
                "graph (tf.compat.v1.disable_v2_behavior(), or with tf.Graph().as_default())"
            )
    if any(table.table_name == name for table in tables()):
        raise ValueError(f"the table `{name}` exists already: give the second one another name")
    servers = server_of(name)
    if servers and rules.device is not None:
        raise ValueError(
            f"the counted table `{name}` lies on {servers[0].device}, and rows on a device lie in one process: leave "
            "`device` out, or the storage type with an HBM tier (with hbm_as_dram such types run without it)"
        )
    if servers:
        refuse_several(name, "lies on a parameter server")
    arguments = TableArguments(
        key_dtype=tf.as_dtype(key_dtype),
        dim=dim,
        name=name,
        emb_initializer=v1.zeros_initializer(),
        device_vocabulary_size=rules.device_rows,
        is_save=True,
        init_param=1.0,
        storage=rules.storage,
        device=rules.device,
        value_dtype=checked_value_dtype(rules.value_dtype),
        servers=servers,
    )
    drawn = (rules.initial or InitialRows()).drawn(dim, initializer)
    with new_in_graph():
        table = CountedTable(arguments, rules.updates, drawn, anchor, share)
        if rules.warm_start is not None:
            _start(table, rules.warm_start)
    return table


def _start(table: CountedTable, warm: WarmStart) -> None:
    path, name = warm.path(table.table_name), warm.name or table.share[0]
    if path is None:
        return
    if checkpoint_parts.is_whole(path):
        raise ValueError(
            f"the table `{table.table_name}` cannot start from the checkpoint {path}, which several ranks wrote: "
            "restore it with runtime.ranks.checkpoint.Saver in one process, and start from a checkpoint that a "
            "tf.compat.v1 Saver saves there"
        )
    table.variable.start_from(path, name)
    table.variable.source = (path, name) if warm.always else None
