"""DeepRec's group embedding: many lookups in one call, each with its own combiner, and one exchange between ranks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.compat.deeprec.composed import Composed
from runtime.compat.deeprec.variable import tables_of
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup.counted import int_keys, lookup_all
from runtime.lookup.counted_pooled import lookup_sparse_all

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
    """Return for each variable and its ids float32 [rows of the ids, dim]; a row without ids is zero.

    Weights and strategy changed places between DeepRec's releases; both orders are accepted.

    Raises:
        ValueError: lists have different lengths, a combiner is unknown, or `is_sequence` is set.
        TypeError: ids are neither sparse nor ragged.
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
            else f"combiners {unknown} are unknown: use some of {_COMBINERS}"
        )
    for ids_of_lookup in ids:
        if not isinstance(ids_of_lookup, (tf.SparseTensor, tf.RaggedTensor)):
            raise TypeError(
                f"sp_ids of a group are {type(ids_of_lookup).__name__}: give SparseTensors or RaggedTensors"
            )
    with tf.name_scope(name or "group_embedding_lookup"):
        return _each(list(zip(variables, map(_sparse, ids), map(_sparse, weights), ways, strict=True)))


def _each(lookups: list[tuple[Any, Any, Any, str]]) -> list[tf.Tensor]:
    """Look up the EmbeddingVariables together, and other variables one by one."""
    tables = [_tables(variable) for variable, *_ in lookups]
    grouped = [(own, *rest) for own, (_, *rest) in zip(tables, lookups, strict=True) if own is not None]
    together = iter(lookup_sparse_all(grouped) if grouped else [])
    return [_combined(*one) if own is None else next(together) for own, one in zip(tables, lookups, strict=True)]


def _tables(variable: Any) -> list[CountedTable] | None:
    """Return the tables of an EmbeddingVariable; None for another kind of variable."""
    return None if isinstance(variable, Composed) else tables_of(variable)


def _sparse(ids: Any) -> Any:
    return ids.to_sparse() if isinstance(ids, tf.RaggedTensor) else ids


def _combined(variable: Any, ids: Any, weights: Any, combiner: str) -> tf.Tensor:
    rows = v1.nn.embedding_lookup_sparse(variable, ids, weights, combiner=combiner)
    # The result ends with the last row that has an id.
    missing = tf.cast(ids.dense_shape[0], tf.int32) - tf.shape(rows)[0]
    return tf.pad(rows, [[0, missing], [0, 0]])


def group_embedding_lookup(
    params: Any, ids: Sequence[Any], partition_strategy: str = "mod", name: str | None = None
) -> list[tf.Tensor]:
    """Return for each variable the rows of its ids, of any shape: float32, ids.shape + [dim].

    Raises:
        ValueError: lists have different lengths.
    """
    del partition_strategy
    variables = _listed(params)
    if len(variables) != len(ids):
        raise ValueError(f"group_embedding_lookup got {len(variables)} params and {len(ids)} ids: give as many of each")
    with tf.name_scope(name or "group_embedding_lookup"):
        tables = [_tables(variable) for variable in variables]
        grouped = [(own, int_keys(one)) for own, one in zip(tables, ids, strict=True) if own is not None]
        together = iter(lookup_all(grouped) if grouped else [])
        return [
            v1.nn.embedding_lookup(variable, one) if own is None else next(together)
            for own, variable, one in zip(tables, variables, ids, strict=True)
        ]


def enable_distributed_strategy(strategy: str = "collective") -> None:
    """Let the ranks share EmbeddingVariables that are created later ("collective"), or have one each ("localized").

    Call it before TensorFlow runs any op. The program must be started by `python -m runtime.launch` or Horovod's
    launcher.

    Raises:
        ValueError: the strategy is unknown.
        RanksError: the ranks cannot be connected.
    """
    if strategy not in ("collective", "localized"):
        raise ValueError(
            f"the strategy {strategy!r} is not supported: choose 'collective', where ranks share the variables, or "
            "'localized', where each process has its own"
        )
    if strategy == "collective":
        ranks.start()
    else:
        ranks.stop()


def enable_group_embedding(fusion_type: str = "localized") -> None:
    """Same as `enable_distributed_strategy`, under the name of older releases."""
    enable_distributed_strategy(fusion_type)


@contextlib.contextmanager
def group_embedding_column_scope(name: str | None = None) -> Iterator[None]:
    """Group the columns created inside; their lookups are the same as those of other columns."""
    del name
    yield


def _listed(params: Any) -> list[Any]:
    if params is None:
        raise ValueError("params of a group are None: give a list of variables")
    return list(params) if isinstance(params, (list, tuple)) else [params]
