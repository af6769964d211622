"""Adaptive embedding columns: a mask says which samples read an EmbeddingVariable, and which a row shared by hash."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import tensorflow as tf

from runtime import ranks
from runtime.compat.deeprec.column_kinds.pooling import pooled
from runtime.feature_column.key_columns import KeyColumn, Keys, tables_in_scope
from runtime.lookup import counted

v1: Any = tf.compat.v1
_BUCKETS = 2**63 - 1
_masks: list[Mapping[str, Any]] = []


@dataclass(frozen=True, eq=False)
class _AdaptiveKeys(Keys):
    """The keys of the EmbeddingVariable, and the number of rows that are shared by hash."""

    buckets: int = 1


class AdaptiveColumn(KeyColumn):
    """A column of ids whose embedding has two variables; its field `default_value` is an `_AdaptiveKeys`."""


def adaptive_column(column: KeyColumn, hash_bucket_size: int) -> AdaptiveColumn:
    """Return the column of keys as an adaptive one with this number of shared rows.

    Raises:
        ValueError: the number is below 1.
    """
    if not isinstance(hash_bucket_size, int) or hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size {hash_bucket_size!r} of the adaptive column {column.key!r} must be an int of 1 or more"
        )
    keys = column.keys
    return AdaptiveColumn(column.key, _BUCKETS, _AdaptiveKeys(keys.dtype, keys.make, hash_bucket_size))


@contextlib.contextmanager
def masks_given(masks: Mapping[str, Any] | None) -> Iterator[None]:
    """Give the adaptive columns of an input layer their masks, by feature: integers [batch], 0 or 1."""
    _masks.append(masks or {})
    try:
        yield
    finally:
        _masks.pop()


def refuse_adaptive(column: Any, use: str) -> None:
    """Check that `column` neither is nor wraps an adaptive one.

    Raises:
        ValueError: it does.
    """
    while column is not None and not isinstance(column, AdaptiveColumn):
        column = getattr(column, "categorical_column", None)
    if column is not None:
        raise ValueError(
            f"the adaptive column {column.key!r} cannot be {use}: use categorical_column_with_embedding there"
        )


def over_adaptive(stock: Any, column: AdaptiveColumn, *args: Any, **kwargs: Any) -> Any:
    """Return the embedding column, for `input_layer`: variables `ev_weights` and `hash_weights`."""
    embedding = getattr(stock, "__wrapped__", stock)(column, *args, **kwargs)
    stock_class: Any = type(embedding)
    return _over(stock_class)(**embedding._asdict())


@functools.cache
def _over(stock: Any) -> Any:
    class AdaptiveEmbeddingColumn(stock):  # type: ignore[misc]
        """An embedding column over an EmbeddingVariable and a matrix of rows that ids share by their hash."""

        def create_state(self, state_manager: Any) -> NoReturn:
            """Refuse Keras layers, which take no masks."""
            del state_manager
            raise ValueError(
                f"the adaptive column {self.categorical_column.key!r} has no Keras layer: use "
                "tf.feature_column.input_layer with adaptive_mask_tensors"
            )

        def _get_dense_tensor(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> tf.Tensor:
            column: AdaptiveColumn = self.categorical_column
            keys: Any = column.keys
            hashed = v1.feature_column.categorical_column_with_hash_bucket(column.key, keys.buckets, keys.dtype)
            ids, shared = inputs.get(column), inputs.get(hashed)
            mask = tf.gather(_mask_of(column.key), ids.indices[:, 0])
            trained = self.trainable and bool(trainable)
            matrix = v1.get_variable(
                "hash_weights",
                [keys.buckets, self.dimension],
                initializer=self.initializer,
                trainable=trained,
                collections=[v1.GraphKeys.GLOBAL_VARIABLES, *(weight_collections or ())],
            )
            tables = tables_in_scope(self, column, trained, "ev_weights")

            def rows(kept: tf.Tensor) -> tf.Tensor:
                chosen = [tf.boolean_mask(one, kept) for one in (ids.values, shared.values, mask)]
                return _rows(tables, matrix, *chosen)

            return pooled(rows, ids, None, self)

    AdaptiveEmbeddingColumn.__qualname__ = AdaptiveEmbeddingColumn.__name__ = stock.__name__
    return AdaptiveEmbeddingColumn


def _mask_of(key: str) -> tf.Tensor:
    mask = _masks[-1].get(key) if _masks else None
    if mask is None:
        raise ValueError(
            f"the adaptive column {key!r} has no mask: give input_layer adaptive_mask_tensors={{{key!r}: mask}}, an "
            "integer for each sample, 1 to read the EmbeddingVariable and 0 to read the row of the id's hash"
        )
    if ranks.size() > 1:
        raise ValueError(
            f"the adaptive column {key!r} is for one process: use categorical_column_with_embedding with several ranks"
        )
    return tf.cast(mask, tf.int32)


def _rows(tables: Any, matrix: Any, keys: tf.Tensor, shared: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Return the row of each id; training moves that of the matrix or that of the EmbeddingVariable."""
    places = tf.dynamic_partition(tf.range(tf.size(keys)), mask, 2)

    def of_hash(at: tf.Tensor) -> tf.Tensor:
        return v1.nn.embedding_lookup(matrix, tf.gather(shared, at), partition_strategy="div")

    starts = tf.stop_gradient(of_hash(places[1]))
    own = counted.lookup_begun(tables, tf.gather(keys, places[1]), starts)
    return tf.dynamic_stitch(places, [_trained_after(starts, of_hash(places[0])), own])


def _trained_after(starts: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return rows of the matrix that are trained once the rows with which others begin are read from it."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def same(rows: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            with tf.control_dependencies([starts]):
                return tf.identity(upstream)

        return tf.identity(rows), gradient

    return same(rows)
