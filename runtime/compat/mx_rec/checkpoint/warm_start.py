"""Rec SDK's warm starts: `WarmStartSettings`, also in lists, start from the tables of earlier checkpoints."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.compat.mx_rec.checkpoint import rank_parts
from runtime.compat.mx_rec.checkpoint.table_files import filling, table_names
from runtime.compat.mx_rec.embedding.sparse_embedding import BaseSparseEmbedding
from runtime.table.create import tables

v1: Any = tf.compat.v1


def starting(stock: Callable[..., None]) -> Callable[..., None]:
    """Return a `tf.compat.v1.train.warm_start` that supports tables, and lists as arguments."""

    def warm_start(
        ckpt_to_initialize_from: Any,
        vars_to_warm_start: Any = ".*",
        var_name_to_vocab_info: Any = None,
        var_name_to_prev_var_name: Any = None,
    ) -> None:
        """Initialize variables and tables of the current graph from a checkpoint.

        A table is included if a pattern of `vars_to_warm_start` matches its name (`re.match`) and the checkpoint has
        it, perhaps under the name in `var_name_to_prev_var_name`. Several checkpoints need lists of equal length; if
        two have a table, the last one counts.

        Raises:
            ValueError: lists have different lengths, or only some of the arguments are lists.
        """
        arguments = (ckpt_to_initialize_from, vars_to_warm_start, var_name_to_prev_var_name)
        if not isinstance(ckpt_to_initialize_from, (list, tuple)):
            path, patterns, renamed = arguments
            _start(stock, path, patterns, var_name_to_vocab_info, renamed)
            return
        if not all(isinstance(one, (list, tuple)) for one in arguments) or len({len(one) for one in arguments}) > 1:
            raise ValueError(
                "a warm start from several checkpoints needs lists of equal length: give a list of checkpoints, one of "
                "patterns as `vars_to_warm_start` and one of dicts as `var_name_to_prev_var_name`"
            )
        for path, patterns, renamed in zip(*arguments, strict=True):
            _start(stock, path, patterns, var_name_to_vocab_info, renamed)

    return warm_start


def _start(stock: Callable[..., None], path: Any, patterns: Any, vocabularies: Any, renamed: Any) -> None:
    listed = [patterns] if isinstance(patterns, str) else list(patterns or [])
    if not all(isinstance(one, str) for one in listed):
        stock(path, patterns, vocabularies, renamed)  # variables only, tables are handled below
        return
    there = {one.table_name: one for one in tables(v1.get_default_graph()) if isinstance(one, BaseSparseEmbedding)}
    known = set(table_names(path))
    earlier = {name: (renamed or {}).get(name, name) for name in there}
    for name, table in there.items():
        if earlier[name] in known and table.is_save and any(re.match(pattern, name) for pattern in listed):
            with table.scope("warm_start"):
                table.variable.start_by(rank_parts.replaced(table, filling(table, path, earlier[name])))
    collection = v1.GraphKeys.TRAINABLE_VARIABLES if isinstance(patterns, str) else v1.GraphKeys.GLOBAL_VARIABLES
    variables = {id(one): one for pattern in listed for one in v1.get_collection(collection, scope=pattern)}
    anchors = {id(table.variable) for table in there.values()}
    dense = [one for number, one in variables.items() if number not in anchors]
    if dense or not listed:
        stock(path, dense or patterns, vocabularies, {k: v for k, v in (renamed or {}).items() if k not in there})
