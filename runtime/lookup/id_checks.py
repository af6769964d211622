"""Checks of the ids, weights and flags of all lookups."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from runtime import _tf_private_estimator, _validation, ranks
from runtime.table import control_dependencies
from runtime.table.table import Table

Result = TypeVar("Result")
_INSERTING = ("RecLookupOrInsert", "RecLookupAndAdmit", "RecPooledLookupOrInsert", "RecExpand", "RecLookupPlaces")


def integers(ids: Any, owner: str) -> tf.Tensor:
    """Return `ids` as an int32 or int64 tensor; `owner` says in messages what they belong to.

    Raises:
        ValueError: it is not a tensor, or has another type.
    """
    try:
        keys = tf.convert_to_tensor(ids)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Invalid parameter type of para `ids`: got {ids!r}, must be an int32 or int64 tensor"
        ) from error
    if keys.dtype not in (tf.int32, tf.int64):
        raise ValueError(
            f"the ids of {owner} are {keys.dtype.name}: cast them with tf.cast(ids, tf.int64)"
            + ("" if keys.dtype != tf.string else " (strings: tf.strings.to_hash_bucket_fast)")
        )
    return keys


def set_shape(rows: tf.Tensor, keys: tf.Tensor, dim: int) -> None:
    """Set the static shape of `rows` from `keys` and dim; in eager mode nothing is done, since comparing is slow."""
    if not tf.executing_eagerly():
        rows.set_shape(keys.shape.concatenate([dim]))


def wide(keys: tf.Tensor) -> tf.Tensor:
    """Return keys as int64; a cast is skipped if not needed, since it is slow in eager mode."""
    return keys if keys.dtype == tf.int64 else tf.cast(keys, tf.int64)


def either(is_train: Any, train: Callable[[], Result], evaluate: Callable[[], Result]) -> Result:
    """Return `train()` or `evaluate()`, or a tf.cond of both if `is_train` is a tensor.

    Where an Estimator evaluates or predicts, nothing trains: a lookup in a function that is not told the mode would
    insert a row for each unseen id, in the session that evaluates or in the program that serves the export.

    Raises:
        ValueError: `is_train` is neither a bool nor a bool scalar tensor.
    """
    if isinstance(is_train, (bool, np.bool_)):
        return train() if is_train and not _tf_private_estimator.builds_without_training() else evaluate()
    if (
        not isinstance(is_train, (tf.Tensor, tf.Variable))
        or is_train.dtype != tf.bool
        or is_train.shape.rank not in (0, None)
    ):
        raise ValueError(
            f"Invalid parameter type of para `is_train`: got {is_train!r}, must be a bool or a bool scalar tensor"
        )
    chosen: Result = tf.cond(is_train, train, evaluate)
    return chosen


def require_table(table: Any, argument: str) -> Table:
    """Return `table`, the lookup's argument of this name, after checking it.

    Raises:
        ValueError: it is not a table, is a shard of one, or belongs to another graph.
    """
    _validation.kind(argument, table, Table, "a table created by create_table")
    assert isinstance(table, Table)
    if table.whole is not table:
        raise ValueError(
            f"the table `{table.table_name}` has the rows of one server: look up `{table.whole.table_name}`, which "
            "asks each server for its own"
        )
    table.require_here()
    return table


def recorded(tables: Iterable[Table], result: tf.Tensor) -> None:
    """Make the updates of these tables in this graph run after the op of `result`.

    Raises:
        RuntimeError: it trains a table whose `looked_up_rows` were taken before.
    """
    for table in tables:
        if table.taken and result.op.type.startswith(_INSERTING):
            raise RuntimeError(
                f"the table `{table.table_name}` is looked up after looked_up_rows, which misses these ids: call "
                "looked_up_rows after the last lookup, or look up with is_train=False"
            )
        if table.graph is not None and result.graph is table.graph:
            control_dependencies.lookup_added(result.op, table.updates, table.reads_each_step)
            table.lookups.append(result.op)
        elif table.graph is not None:
            table.inner_lookups.append(result.op)


@contextlib.contextmanager
def movable(tables: Iterable[Table], modify_graph: bool | None) -> Iterator[None]:
    """Record in the tables of a graph whether datasets may compute the ids of lookups created inside.

    With several ranks or parameter servers they may not, because a lookup sees ids after the exchange; nor those of
    rows on a device, which several ops of the lookup need.

    Raises:
        ValueError: `modify_graph` is neither a bool nor None.
    """
    if modify_graph is not None:
        _validation.boolean("modify_graph", modify_graph)
    before = {
        table: (len(table.lookups), len(table.inner_lookups))
        for table in tables
        if not (table.on_device or table.parts)
    }
    yield
    if modify_graph and ranks.size() == 1:
        for table, (lookups, inner) in before.items():
            table.movable.update(table.lookups[lookups:], table.inner_lookups[inner:])


def refuse_expanding(tables: Iterable[Table], is_train: Any, is_grad: Any) -> None:
    """Refuse a lookup that would train a table with dynamic expansion, but provides no rows and addresses.

    Raises:
        ValueError: there is such a table.
    """
    for table in tables:
        reads = isinstance(is_train, (bool, np.bool_)) and not is_train
        if table.expands and is_grad and not reads:
            raise ValueError(
                f"the table `{table.table_name}` expands (use_dynamic_expansion=True), and only sparse_lookup trains "
                "such a table: look up with it and combine its rows, or give is_train=False or is_grad=False"
            )


def with_gradient(tables: Iterable[Table], is_grad: Any) -> bool:
    """Check `is_grad`; if it is true, record in the tables that a lookup trains them."""
    trains = _validation.boolean("is_grad", is_grad)
    for table in tables:
        for part in {table, *table.parts}:
            part.is_grad = bool(part.is_grad) or (trains and part.trainable)
    return trains
