"""`tf.nn.embedding_lookup`, `_sparse` and `safe_…` for EmbeddingVariables; others go to the stock function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec.composed import Composed
from runtime.compat.deeprec.variable import tables_of
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup import counted, counted_pooled
from runtime.lookup.counted import int_keys


def embedding_lookup(
    params: Any, ids: Any, name: str | None = None, max_norm: Any = None, blocknums: Any = None
) -> tf.Tensor:
    """Return the rows of ids of any shape: float32, ids.shape + [dim]. It creates no keys.

    `blocknums` is the number of blocks of each row of a `DynamicEmbeddingVariable`.
    """
    with tf.name_scope(name or "embedding_lookup"):
        keys = int_keys(ids)
        composed = isinstance(params, Composed)
        rows = params.rows(keys, blocknums) if composed else counted.lookup(_tables(params), keys)
        if max_norm is None:
            return rows
        return tf.clip_by_norm(rows, max_norm, axes=[keys.shape.rank])


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any = None,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return float32 [rows, dim], as the stock function."""
    return counted_pooled.lookup_sparse(_tables(params), sp_ids, sp_weights, combiner, max_norm, name)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    max_norm: Any = None,
    prune: bool = True,
) -> tf.Tensor:
    """Return float32 [*leading dimensions, dim], as the stock function; rows without an id look up no key.

    Raises:
        ValueError: `prune` is False.
    """
    if prune is not True:
        raise ValueError("safe_embedding_lookup_sparse with prune=False is not supported: use embedding_lookup_sparse")
    return counted_pooled.safe_lookup_sparse(
        _tables(embedding_weights), sparse_ids, sparse_weights, combiner, default_id, max_norm, name
    )


def _tables(params: Any) -> list[CountedTable]:
    if isinstance(params, Composed):
        raise ValueError(
            f"the variable `{params.name}` has no sparse lookup: look its ids up with tf.nn.embedding_lookup and "
            "combine the rows with tf.math.segment_sum"
        )
    tables = tables_of(params)
    if tables is None:
        raise ValueError(f"params {params!r} is not an EmbeddingVariable: create one with get_embedding_variable")
    return tables


def lookup_tier(var: Any, ids: Any) -> tf.Tensor:
    """Return the tier of each id's row in an EmbeddingVariable, int32 of their shape: 0 is the first, -1 no row."""
    return var.lookup_tier(ids)


#: Names of DeepRec's fused lookups, and of the lookups with the same results.
FUSED = {
    "fused_embedding_lookup_sparse": "embedding_lookup_sparse",
    "fused_safe_embedding_lookup_sparse": "safe_embedding_lookup_sparse",
}
#: By name in tf.nn. Arguments that only the stock functions have are ignored.
LOOKUPS: dict[str, Callable[..., tf.Tensor]] = {
    "embedding_lookup": embedding_lookup,
    "embedding_lookup_sparse": embedding_lookup_sparse,
    "safe_embedding_lookup_sparse": safe_embedding_lookup_sparse,
}


def extended(stock: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return `stock`, which passes calls whose first argument is an EmbeddingVariable to `ours`."""
    signature = inspect.signature(stock)
    first = next(iter(signature.parameters))
    taken = inspect.signature(ours).parameters

    @functools.wraps(stock)
    def lookup(*args: Any, **kwargs: Any) -> Any:
        params = args[0] if args else kwargs.get(first)
        if not isinstance(params, Composed) and tables_of(params) is None:
            return stock(*args, **kwargs)
        own = {name: value for name, value in kwargs.items() if name not in signature.parameters}
        bound = signature.bind(*args, **{name: value for name, value in kwargs.items() if name not in own})
        return ours(**{name: value for name, value in bound.arguments.items() if name in taken}, **own)

    return lookup
