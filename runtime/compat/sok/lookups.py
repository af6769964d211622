"""The lookups of SOK 2.x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, ranks
from runtime.compat.sok import exchange, pooling
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.lookup.grouped_pooled import grouped_embedding_lookup_sparse

__all__ = ["all2all_dense_embedding", "lookup_sparse", "sparse_read_and_evict"]


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
    """Return [samples, dim] of this rank's samples, or for lists of variables a list of these.

    Every rank calls it with the same variables; a rank without samples gives ids of no rows.

    Args:
        params: a variable of SOK or a list of them, static and dynamic ones of any widths.
        sp_ids: for each a SparseTensor or RaggedTensor of rank 2.
        sp_weights: for each None or weights like its ids; texts are taken for `combiners`, which were third once.
        combiners: "mean" or "sum" for each, by default means.
        use_low_frequency_filter: ids that a DynamicVariable sees for the first time get no row and read zeros.
        hotness: accepted; oldest programs gave it.

    Raises:
        RuntimeError: lists of unequal lengths.
        TypeError: no variable of SOK, or ids that are neither sparse nor ragged.
        ValueError: another combiner.
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
            found = grouped_embedding_lookup_sparse(list(lookups), names, negative_keys=True, every_row=True)
            return found[0] if single else found
        keys, sums = [one.keys for one in bags], [one.sums for one in bags]
        rows = exchange.rows_of_all(variables, keys, sums, filtered=use_low_frequency_filter)
        found = [pooling.pooled(*one) for one in zip(rows, bags, names, strict=True)]
    return found[0] if single else found


@_tf_private.as_written
def all2all_dense_embedding(param: Any, indices: Any) -> tf.Tensor:
    """Return the rows [n, dim] of indices [n] of this rank; every rank calls it.

    Raises:
        TypeError: no variable of SOK.
        ValueError: indices that are no integers.
    """
    indices = tf.convert_to_tensor(indices)
    if not indices.dtype.is_integer:
        raise ValueError(f"`indices` of all2all_dense_embedding are {indices.dtype.name}: they must be integers")
    variable = exchange.check_variable(param)
    flat = tf.reshape(tf.cast(indices, tf.int64), [-1])
    with tf.name_scope("sok_all2all_dense_embedding"):
        (rows,) = exchange.rows_of_all([variable], [flat])
        found = tf.reshape(rows, tf.concat([tf.shape(indices), tf.shape(rows)[1:]], 0))
    found.set_shape(indices.shape.concatenate(rows.shape[1:]))
    return found


@_tf_private.as_written
def sparse_read_and_evict(var: Any, indices: Any, name: str | None = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the rows of indices that lie in this rank, and what had to leave the table to make room for new ones.

    Keys that have no row yet get theirs. Nothing ever has to leave: tables grow. So these are indices.shape + [dim],
    which gradients go through, no keys, int64 [0], and no rows, [0, dim].

    Raises:
        TypeError: no DynamicVariable, or one of `var_type="hbm"`, of which SOK's has no room to make.
    """
    if not isinstance(var, DynamicVariable) or var.backend_type != "hybrid":
        kind = f"one of var_type={var.backend_type!r}" if isinstance(var, DynamicVariable) else type(var).__name__
        raise TypeError(f"sparse_read_and_evict takes a sok.DynamicVariable of var_type='hybrid': got {kind}")
    rows = var.sparse_read(indices, name or "sparse_read_and_evict")
    return rows, tf.zeros([0], tf.int64), tf.zeros([0, var.dimension], rows.dtype)


def _pool_in_one_op(variables: Sequence[Any], ids: Sequence[Any]) -> bool:
    """Whether all are plain tables of this process, whose rows the native lookup pools as it reads them."""
    plain = [isinstance(one, DynamicVariable) and one.trains and not one.times for one in variables]
    return ranks.size() == 1 and all(plain) and all(one.dtype in (tf.int32, tf.int64) for one in ids)


def _are_texts(given: Any) -> bool:
    texts = _listed(given)
    return bool(texts) and all(isinstance(one, (str, bytes)) for one in texts)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _matched(name: str, given: Any, variables: Sequence[Any]) -> list[Any]:
    """Return one for each variable; None stands for as many."""
    found = [None] * len(variables) if given is None else _listed(given)
    if len(found) != len(variables):
        raise RuntimeError(f"`{name}` of lookup_sparse has {len(found)} entries for {len(variables)} variables")
    return found
