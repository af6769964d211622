"""DeepRec's group embedding: many look-ups in one call. Each combines as its own combiner says."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

__all__ = ["group_embedding_column_scope", "group_embedding_lookup", "group_embedding_lookup_sparse"]

v1: Any = tf.compat.v1
_COMBINERS = ("mean", "sum", "sqrtn")


def group_embedding_lookup_sparse(
    params: Any,
    sp_ids: Sequence[Any],
    combiners: Sequence[str] | None = None,
    sp_weights: Any = None,
    partition_strategy: Any = "mod",
    is_sequence: bool = False,
    params_num_per_group: int = sys.maxsize,
    name: str | None = None,
) -> list[tf.Tensor]:
    """Return for each variable and its ids float32 [rows of the ids, dim]; a row without ids is zeros.

    Weights and strategy changed places between DeepRec's releases: both orders are taken.

    Raises:
        ValueError: lists of several lengths, another combiner, or `is_sequence`.
        TypeError: ids that are neither sparse nor ragged.
    """
    del params_num_per_group
    if isinstance(sp_weights, str):
        sp_weights, partition_strategy = (None if isinstance(partition_strategy, str) else partition_strategy), "mod"
    variables, ids = _listed(params), list(sp_ids)
    ways = ["mean"] * len(ids) if combiners is None else list(combiners)
    weights = [None] * len(ids) if sp_weights is None else list(sp_weights)
    if len({len(variables), len(ids), len(ways), len(weights)}) > 1:
        raise ValueError(
            f"group_embedding_lookup_sparse got {len(variables)} params, {len(ids)} sp_ids, {len(ways)} combiners and "
            f"{len(weights)} sp_weights: give as many of each"
        )
    unknown = [way for way in ways if way not in _COMBINERS]
    if unknown or is_sequence:
        raise ValueError(
            "is_sequence is not supported: look each sequence up with tf.nn.embedding_lookup"
            if is_sequence
            else f"combiners {unknown} are none of {_COMBINERS}"
        )
    with tf.name_scope(name or "group_embedding_lookup"):
        return [_combined(*one) for one in zip(variables, ids, weights, ways, strict=True)]


def _combined(variable: Any, ids: Any, weights: Any, combiner: str) -> tf.Tensor:
    if isinstance(ids, tf.RaggedTensor):
        ids = ids.to_sparse()
    if not isinstance(ids, tf.SparseTensor):
        raise TypeError(f"sp_ids of a group are {type(ids).__name__}: give SparseTensors or RaggedTensors")
    if isinstance(weights, tf.RaggedTensor):
        weights = weights.to_sparse()
    found = v1.nn.embedding_lookup_sparse(variable, ids, weights, combiner=combiner)
    # There are rows up to the last one with an id.
    missing = tf.cast(ids.dense_shape[0], tf.int32) - tf.shape(found)[0]
    return tf.pad(found, [[0, missing], [0, 0]])


def group_embedding_lookup(
    params: Any, ids: Sequence[Any], partition_strategy: str = "mod", name: str | None = None
) -> list[tf.Tensor]:
    """Return for each variable the rows of its ids, of any shape: float32, ids.shape + [dim].

    Raises:
        ValueError: lists of several lengths.
    """
    del partition_strategy
    variables = _listed(params)
    if len(variables) != len(ids):
        raise ValueError(f"group_embedding_lookup got {len(variables)} params and {len(ids)} ids: give as many of each")
    with tf.name_scope(name or "group_embedding_lookup"):
        return [v1.nn.embedding_lookup(variable, one) for variable, one in zip(variables, ids, strict=True)]


@contextlib.contextmanager
def group_embedding_column_scope(name: str | None = None) -> Iterator[None]:
    """Take the columns that are made inside for a group; their look-ups are as those of other columns."""
    del name
    yield


def _listed(params: Any) -> list[Any]:
    if params is None:
        raise ValueError("params of a group are None: give a list of variables")
    return list(params) if isinstance(params, (list, tuple)) else [params]
