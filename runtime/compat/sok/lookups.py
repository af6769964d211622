"""The lookups of SOK 2.x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, ranks
from runtime.compat.sok import exchange, pooling
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.lookup.grouped_pooled import grouped_embedding_lookup_sparse


@_tf_private.as_written
def lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any = None,
    combiners: Any = None,
    use_low_frequency_filter: bool = False,
    *,
    hotness: Any = None,
) -> Any:
    """Return [samples, dim] for this rank's samples, or a list of these for lists of variables.

    Every rank must call it with the same variables; a rank without samples gives ids with no rows.

    Args:
        params: a variable of SOK or a list of them, static or dynamic, of any widths.
        sp_ids: for each a SparseTensor or RaggedTensor of rank 2.
        sp_weights: for each None, or weights of the same form as its ids; strings are taken for `combiners`, which
            used to be the third argument.
        combiners: "mean" or "sum" for each; default: "mean".
        use_low_frequency_filter: ids that occur in a DynamicVariable for the first time get no row and read zeros.
        hotness: has no effect; very old programs pass it.

    Raises:
        RuntimeError: lists have different lengths.
        TypeError: a variable is not SOK's, or ids are neither sparse nor ragged.
        ValueError: a combiner is unknown.
    """
    if combiners is None and _are_texts(sp_weights):
        sp_weights, combiners = None, sp_weights
    single = not isinstance(params, (list, tuple))
    variables = [exchange.check_variable(one) for one in _listed(params)]
    ids, weights = _matched("sp_ids", sp_ids, variables), _matched("sp_weights", sp_weights, variables)
    names = [pooling.combiner_of(one) for one in _matched("combiners", combiners, variables)]
    with tf.name_scope("sok_lookup_sparse"):
        bags = [pooling.bags_of(one, scale) for one, scale in zip(ids, weights, strict=True)]
        if not use_low_frequency_filter and _pool_in_one_op(variables, ids):
            lookups = zip((one.table for one in variables), ids, weights, strict=True)
            results = grouped_embedding_lookup_sparse(list(lookups), names, negative_keys=True, every_row=True)
            return results[0] if single else results
        keys, sums = [one.keys for one in bags], [one.sums for one in bags]
        rows = exchange.rows_of_all(variables, keys, sums, filtered=use_low_frequency_filter)
        results = [pooling.pooled(*one) for one in zip(rows, bags, names, strict=True)]
    return results[0] if single else results


@_tf_private.as_written
def all2all_dense_embedding(param: Any, indices: Any) -> tf.Tensor:
    """Return the rows [n, dim] of this rank's indices [n]; every rank must call it.

    Raises:
        TypeError: it is not a variable of SOK.
        ValueError: indices are not integers.
    """
    indices = tf.convert_to_tensor(indices)
    if not indices.dtype.is_integer:
        raise ValueError(f"`indices` of all2all_dense_embedding are {indices.dtype.name}: they must be integers")
    variable = exchange.check_variable(param)
    flat = tf.reshape(tf.cast(indices, tf.int64), [-1])
    with tf.name_scope("sok_all2all_dense_embedding"):
        (rows,) = exchange.rows_of_all([variable], [flat])
        shaped = tf.reshape(rows, tf.concat([tf.shape(indices), tf.shape(rows)[1:]], 0))
    shaped.set_shape(indices.shape.concatenate(rows.shape[1:]))
    return shaped


@_tf_private.as_written
def sparse_read_and_evict(var: Any, indices: Any, name: str | None = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the rows of indices that this rank holds, and the rows evicted to make room for new ones.

    Keys without a row get one. No row is ever evicted, because tables grow: so the result is indices.shape + [dim],
    which has gradients, no keys, int64 [0], and no rows, [0, dim].

    Raises:
        TypeError: it is not a DynamicVariable, or it has `var_type="hbm"`, for which SOK does not support this.
    """
    if not isinstance(var, DynamicVariable) or var.backend_type != "hybrid":
        kind = f"one of var_type={var.backend_type!r}" if isinstance(var, DynamicVariable) else type(var).__name__
        raise TypeError(f"sparse_read_and_evict needs a sok.DynamicVariable of var_type='hybrid': got {kind}")
    rows = var.sparse_read(indices, name or "sparse_read_and_evict")
    return rows, tf.zeros([0], tf.int64), tf.zeros([0, var.dimension], rows.dtype)


def _pool_in_one_op(variables: Sequence[Any], ids: Sequence[Any]) -> bool:
    """Whether all are plain tables of this process, whose rows the native lookup can pool as it reads them."""
    plain = [isinstance(one, DynamicVariable) and one.trains and not one.times for one in variables]
    return ranks.size() == 1 and all(plain) and all(one.dtype in (tf.int32, tf.int64) for one in ids)


def _are_texts(values: Any) -> bool:
    texts = _listed(values)
    return bool(texts) and all(isinstance(one, (str, bytes)) for one in texts)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _matched(name: str, value: Any, variables: Sequence[Any]) -> list[Any]:
    """Return one for each variable; None means None for each."""
    listed = [None] * len(variables) if value is None else _listed(value)
    if len(listed) != len(variables):
        raise RuntimeError(f"`{name}` of lookup_sparse has {len(listed)} entries for {len(variables)} variables")
    return listed
