"""`embedding_column` and `shared_embedding_columns` over growing tables."""

from __future__ import annotations

import functools
import re
import weakref
import zlib
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private_columns
from runtime.lookup.pooled import embedding_lookup_sparse, safe_embedding_lookup_sparse
from runtime.policy.wide_buckets import buckets_below
from runtime.storage.buckets import Buckets, buckets_of
from runtime.table.create import create_table, tables
from runtime.table.table import Table

v1: Any = tf.compat.v1
_LONGEST = 100  # maximum length of a table's name
#: The tables of Keras layers, by state manager and column.
_layers: weakref.WeakKeyDictionary[Any, dict[Any, Table]] = weakref.WeakKeyDictionary()


def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> Any:
    """Like `tf.feature_column.embedding_column`, with rows in a dynamic table that the input layer creates.

    A category of `runtime.wide_buckets(N)` buckets gives the table `base_buckets=N`, and a vocabulary of V words with
    `num_oov_buckets=runtime.Buckets(N, V).widest` gives it `base_buckets=Buckets(N, V)`.

    Raises:
        ValueError: TensorFlow's own column refuses an argument, `trainable` is False, or rows are to be loaded from a
            checkpoint.
    """
    _refuse("embedding_column", ckpt_to_load_from, tensor_name_in_ckpt, trainable)
    stock = v1.feature_column.embedding_column(
        categorical_column,
        dimension,
        combiner,
        initializer,
        max_norm=max_norm,
        use_safe_embedding_lookup=use_safe_embedding_lookup,
    )
    stock_class: Any = type(stock)
    return _over_table(stock_class)(**stock._asdict())


def shared_embedding_columns(
    categorical_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[Any]:
    """Like `tf.compat.v1.feature_column.shared_embedding_columns`, with rows in one dynamic table per graph.

    Raises:
        ValueError: as `embedding_column`.
        RuntimeError: eager mode is on, as in TensorFlow.
    """
    _refuse("shared_embedding_columns", ckpt_to_load_from, tensor_name_in_ckpt, trainable)
    columns = v1.feature_column.shared_embedding_columns(
        categorical_columns,
        dimension,
        combiner,
        initializer,
        shared_embedding_collection_name,
        max_norm=max_norm,
        use_safe_embedding_lookup=use_safe_embedding_lookup,
    )
    stock_class: Any = type(columns[0])
    return [_sharing_table(stock_class)(**stock._asdict()) for stock in columns]


def _refuse(function: str, checkpoint: Any, tensor: Any, trainable: Any) -> None:
    if checkpoint is not None or tensor is not None:
        raise ValueError(
            f"{function} cannot load rows by `ckpt_to_load_from`: leave it out and fill the table with "
            "runtime.checkpoint.warm_start(table, path, variable_name)"
        )
    if trainable is not True:
        raise ValueError(f"{function} needs trainable=True: use TensorFlow's own column for rows that are not trained")


@functools.cache
def _over_table(stock: Any) -> Any:
    """Return the class of stock `embedding_column`s with its variable replaced by a table."""

    class TableEmbeddingColumn(stock):  # type: ignore[misc]
        """An embedding column over a table."""

        def get_config(self) -> dict[str, Any]:
            """Return the configuration, with the buckets that a number in the category's does not tell."""
            buckets = _buckets(self)
            return {**super().get_config(), **({"base_buckets": buckets.option} if buckets else {})}

        @classmethod
        def from_config(cls, config: Any, *args: Any, **kwargs: Any) -> Any:
            """Return the column of a configuration."""
            stock = {name: value for name, value in config.items() if name != "base_buckets"}
            column = super().from_config(stock, *args, **kwargs)
            column._buckets = buckets_of(config.get("base_buckets"))
            return column

        def create_state(self, state_manager: Any) -> None:
            """Create the table of a Keras layer."""
            layers = _layers.setdefault(state_manager, {})
            name = _name_in_layer(getattr(state_manager, "_layer", None), self.name)
            layers[self] = _create(name, self, _rows(self.categorical_column))
            _follow(state_manager, self.name, layers[self])

        def get_dense_tensor(self, transformation_cache: Any, state_manager: Any, training: Any = None) -> tf.Tensor:
            """Return the pooled rows, [batch, dimension]; only training inserts new keys."""
            self._trains = _is_training(training)
            return super().get_dense_tensor(transformation_cache, state_manager)

        def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any, training: Any = None) -> Any:
            """Return the rows, [batch, time, dimension], with the lengths; only training inserts new keys."""
            self._trains = _is_training(training)
            return super().get_sequence_dense_tensor(transformation_cache, state_manager)

        def _get_dense_tensor_internal(self, sparse_tensors: Any, state_manager: Any) -> tf.Tensor:
            return _lookup(self, _layers[state_manager][self], sparse_tensors, getattr(self, "_trains", False))

        def _old_get_dense_tensor_internal(self, sparse_tensors: Any, weight_collections: Any, trainable: Any) -> Any:
            del weight_collections
            table = _create(_scope_name(""), self, _rows(self.categorical_column))
            return _lookup(self, table, sparse_tensors, True, is_grad=bool(trainable))

    _tf_private_columns.register(TableEmbeddingColumn)
    return TableEmbeddingColumn


@functools.cache
def _sharing_table(stock: Any) -> Any:
    """Return the class of stock `shared_embedding_columns` with its variable replaced by a table."""

    class TableSharedEmbeddingColumn(stock):  # type: ignore[misc]
        """One of several columns that share a table."""

        def _get_dense_tensor_internal(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
            with tf.name_scope(self.name):
                sparse = self.categorical_column._get_sparse_tensors(
                    inputs, weight_collections=weight_collections, trainable=trainable
                )
                name = _clean(f"{self.shared_embedding_collection_name}_embedding_weights")
                known = {table.table_name: table for table in tables()}.get(name)
                table = known or _create(name, self, _rows(self.categorical_column))
                return _lookup(self, table, sparse, True, is_grad=bool(trainable))

    TableSharedEmbeddingColumn.__qualname__ = TableSharedEmbeddingColumn.__name__ = stock.__name__
    return TableSharedEmbeddingColumn


def _rows(categorical_column: Any) -> int:
    buckets = getattr(categorical_column, "num_buckets", None)
    rows: int = buckets if buckets is not None else categorical_column._num_buckets
    return rows


def _scope_name(column: str) -> str:
    """Return the name that a variable would have here, with underscores for slashes."""
    return _clean("_".join(filter(None, [v1.get_variable_scope().name, column, "embedding_weights"])))


def _name_in_layer(layer: Any, column: str) -> str:
    """Return the name of the variable of a column in a layer of Keras, with underscores for slashes."""
    if layer is None:
        return _scope_name(column)
    outer, own = v1.get_variable_scope().name, f"{layer.name}/{column}"
    known = outer if outer == own or outer.endswith(f"/{own}") else f"{outer}/{own}"
    return _clean(f"{known}_embedding_weights")


def _clean(name: str) -> str:
    """Return a valid table name: invalid characters become underscores, and an overlong end becomes a number."""
    clean = re.sub(r"[^0-9A-Za-z_]", "_", name).lstrip("_")
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 9]}_{zlib.crc32(clean.encode()):08x}"


def _create(name: str, column: Any, rows: int) -> Table:
    buckets = _buckets(column)
    size = rows if buckets is None else buckets.rows
    return create_table(tf.int64, column.dimension, name, column.initializer, size, base_buckets=buckets)


def _buckets(column: Any) -> Buckets | None:
    """Return the buckets that ids of a column's category gave up.

    Raises:
        ValueError: the vocabulary of the category has another number of words than was said.
    """
    category = column.categorical_column
    while not hasattr(category, "num_oov_buckets") and hasattr(category, "categorical_column"):
        category = category.categorical_column  # of a weighted or a sequence column
    others = getattr(category, "num_oov_buckets", 0)
    buckets = buckets_below(others or _rows(category)) or vars(column).get("_buckets")
    if buckets is not None and others and _rows(category) - others != buckets.first:
        raise ValueError(
            f"the column `{column.name}` has {_rows(category) - others} words, but its buckets are declared to follow "
            f"{buckets.first} words: give num_oov_buckets=Buckets(N, first={_rows(category) - others}).widest"
        )
    return buckets


def _follow(state_manager: Any, name: str, table: Table) -> None:
    """Let a Keras layer train and save the table."""
    layer = getattr(state_manager, "_layer", None)
    if layer is not None and tf.executing_eagerly():
        from runtime.keras import input_layers

        input_layers.follow(layer, name, table)


def _is_training(flag: Any) -> Any:
    """Return whether a layer of Keras trains; in a v1 graph, where sessions leave the phase of Keras alone, it does."""
    if isinstance(flag, (tf.Tensor, tf.Variable)) or flag is None:
        with tf.init_scope():
            traced = tf.executing_eagerly()
        if not traced:
            return True
        return False if flag is None else tf.cast(flag, tf.bool)
    return bool(flag)


def _lookup(column: Any, table: Table, sparse: Any, is_train: Any, is_grad: bool = True) -> tf.Tensor:
    ids, weights = sparse.id_tensor, sparse.weight_tensor
    rank = ids.dense_shape.shape[0]
    safe = column.use_safe_embedding_lookup or rank is None or rank > 2
    return (safe_embedding_lookup_sparse if safe else embedding_lookup_sparse)(
        table,
        ids,
        weights,
        combiner=column.combiner,
        max_norm=column.max_norm,
        name=f"{column.name}_weights",
        is_train=is_train,
        is_grad=is_grad,
    )


_over_table(_tf_private_columns.EmbeddingColumn)  # a program that only loads a model makes no column
