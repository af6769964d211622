"""Pooled lookups of many tables in one op: `grouped_lookup` for sparse and ragged ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.lookup import id_checks, pooled
from runtime.lookup.pooled_ops import Pooling, looked_up, plain, rows_of, safe, safe_settings, with_every_row
from runtime.ranks.posted import ExchangedIds
from runtime.table.table import Table


@_tf_private.as_written
def grouped_embedding_lookup_sparse(
    lookups: Sequence[Sequence[Any]],
    combiner: str | Sequence[str | None] | None = None,
    max_norm: Any = None,
    name: str | None = None,
    *,
    is_train: Any = True,
    is_grad: bool = True,
    negative_keys: bool = False,
    every_row: bool = False,
    modify_graph: bool | None = False,
    exchanged: ExchangedIds | None = None,
) -> list[tf.Tensor]:
    """Return what `embedding_lookup_sparse` returns for each (table, ids) or (table, ids, weights), from a single op.

    Counted tables are looked up one by one, because each occurrence of an id counts in the update.

    Args:
        lookups: a table may occur several times; sparse and ragged ids may be mixed.
        combiner: one for all lookups, or a list with one for each.
        max_norm: one for all lookups, or a list with one for each; None means no limit.
        name: scope of the ops.
        is_train: as in `sparse_lookup`, for all lookups.
        is_grad: False stops the gradients.
        negative_keys: True makes negative ids ordinary keys.
        every_row: True returns as many rows as the ids have, including zeros for rows without an id at the end.
        modify_graph: as in `sparse_lookup`, for all lookups.
        exchanged: what `exchange_sparse_ids` returned for the same lookups, if ranks have exchanged the ids already.

    Raises:
        ValueError: as `embedding_lookup_sparse`; also if there is no lookup, or a list has another length.
        TypeError: ids or weights are neither sparse nor ragged.
        tf.errors.InvalidArgumentError: when the op runs, and other ids or tables are given than were exchanged.
    """
    _named(name)
    settings = {"negative_keys": _validation.boolean("negative_keys", negative_keys)}
    check = plain_check(every_row)

    def alone(*args: Any) -> tf.Tensor:
        rows = pooled.embedding_lookup_sparse(*args, is_grad=is_grad)
        return _padded(rows, args[1]) if every_row else rows

    with tf.name_scope(name or "grouped_embedding_lookup_sparse"), tf.device("/device:CPU:0"):
        requests = requests_of(check, alone, lookups, combiner, max_norm)
        return _run(requests, is_train, is_grad, modify_graph, settings, exchanged)


@_tf_private.as_written
def grouped_safe_embedding_lookup_sparse(
    lookups: Sequence[Sequence[Any]],
    combiner: str | Sequence[str | None] | None = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
    name: str | None = None,
    *,
    is_train: Any = True,
    is_grad: bool = True,
    modify_graph: bool | None = False,
    exchanged: ExchangedIds | None = None,
) -> list[tf.Tensor]:
    """Return what `safe_embedding_lookup_sparse` returns for each (table, ids) or (table, ids, weights), from one op.

    `default_id` applies to all; the other arguments are those of `grouped_embedding_lookup_sparse`, and `exchanged` is
    what `exchange_safe_sparse_ids` returned.

    Raises:
        ValueError: as `safe_embedding_lookup_sparse`; also if there is no lookup, or a list has another length.
        TypeError: ids or weights are neither sparse nor ragged.
    """
    _named(name)
    settings = safe_settings(default_id)

    def alone(table: Table, ids: Any, weights: Any, combiner: str | None, max_norm: Any) -> tf.Tensor:
        arguments = (table, ids, weights, combiner, default_id, max_norm)
        return pooled.safe_embedding_lookup_sparse(*arguments, is_grad=is_grad)

    with tf.name_scope(name or "grouped_embedding_lookup"), tf.device("/device:CPU:0"):
        requests = requests_of(safe, alone, lookups, combiner, max_norm)
        return _run(requests, is_train, is_grad, modify_graph, settings, exchanged)


def _named(name: Any) -> None:
    if name is not None:
        _validation.text("name", name)


def plain_check(every_row: Any) -> Callable[..., Pooling]:
    """Return what checks a lookup, whether its result has every row or ends with the last that has an id."""
    if not _validation.boolean("every_row", every_row):
        return plain
    return lambda table, ids, *others: with_every_row(plain(table, ids, *others), ids)


def _padded(rows: tf.Tensor, ids: tf.SparseTensor | tf.RaggedTensor) -> tf.Tensor:
    """Return the rows that were found, followed by zeros for rows after the last one with an id."""
    return tf.pad(rows, [[0, rows_of(ids) - tf.shape(rows, tf.int64)[0]], [0, 0]])


def requests_of(
    check: Callable[..., Pooling],
    alone: Callable[..., tf.Tensor],
    lookups: Sequence[Sequence[Any]],
    combiner: Any,
    max_norm: Any,
) -> list[Pooling | tf.Tensor]:
    """Return each lookup, checked, for the op; for a counted table its result."""
    lookups = _validation.items("lookups", lookups, "(table, ids) or (table, ids, weights)")
    if not lookups:
        raise ValueError("a grouped lookup has nothing to look up: give it at least one (table, ids)")
    requests: list[Any] = []
    settings = zip(_each("combiner", combiner, len(lookups)), _each("max_norm", max_norm, len(lookups)), strict=True)
    for lookup, (own_combiner, own_norm) in zip(lookups, settings, strict=True):
        if not isinstance(lookup, (tuple, list)) or len(lookup) not in (2, 3):
            raise ValueError(f"a grouped lookup takes (table, ids) or (table, ids, weights), got {lookup!r}")
        table, ids, weights = (*lookup, None)[:3]
        how = alone if id_checks.require_table(table, "table").reads_each_step else check
        requests.append(how(table, ids, weights, own_combiner, own_norm))
    return requests


def _each(name: str, value: Any, count: int) -> list[Any]:
    """Return one value per lookup."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"`{name}` has {len(value)} values for {count} lookups: give a value for each, or a single value for all"
        )
    return list(value)


def _run(
    lookups: list[Pooling | tf.Tensor],
    is_train: Any,
    is_grad: Any,
    modify_graph: bool | None,
    settings: dict[str, Any],
    exchanged: ExchangedIds | None,
) -> list[tf.Tensor]:
    requests = [one for one in lookups if isinstance(one, Pooling)]
    results = iter(looked_up(requests, is_train, is_grad, modify_graph, settings, exchanged) if requests else [])
    return [next(results) if isinstance(one, Pooling) else one for one in lookups]
