"""`Embedding`: ids to rows, of a table that grows or of a dense variable."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.layer import Layer
from runtime.nn.weights.creation import initializer_of
from runtime.nn.weights.param_attr import attribute
from runtime.nn.weights.table_rules import PLAIN, TableRules
from runtime.nn.weights.table_weight import Padded, TableWeight
from runtime.nn.weights.weight import Parameter


class Embedding(Layer):
    """Rows of ids: [..., embedding_dim] for ids of any shape [...]."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
        weight_attr: Any = None,
        name: str | None = None,
        table: bool | TableRules = True,
    ) -> None:
        """Describe the rows.

        Args:
            num_embeddings: number of ids; a table takes any other id, too, and keeps what it learns for it.
            embedding_dim: values per row.
            padding_idx: an id that reads zeros and is never trained; a negative one counts from `num_embeddings`. Its
                row is zero. Paddle trains it if `sparse`, though no output shows it.
            sparse: Paddle's choice of the form of gradients; `weight.sparse` tells it to the optimizer.
            weight_attr: how rows begin and train.
            name: kept.
            table: a table of this runtime, in which a row begins when its id is first trained, or as the rules say.
                False: a variable of shape [num_embeddings, embedding_dim], which `weight` then stands for in
                computations.

        Raises:
            ValueError: a size is below 1, `padding_idx` is not an id, or `weight_attr=False`.
        """
        super().__init__()
        _check(num_embeddings, embedding_dim, padding_idx, weight_attr)
        self._num_embeddings, self._embedding_dim = int(num_embeddings), int(embedding_dim)
        self._padding_idx = padding_idx
        self._sparse, self._name = sparse, name
        shape = (self._num_embeddings, self._embedding_dim)
        settings = attribute(weight_attr)
        start, padding = initializer_of(settings), self.padding
        rules = table if isinstance(table, TableRules) else PLAIN
        weight: TableWeight | Parameter = (
            TableWeight(shape, start, settings, padding, rules)
            if table
            else Parameter(shape, start if padding is None else Padded(start, padding), self._dtype, settings)
        )
        weight.sparse = sparse
        self.weight = self._name_weight(weight)

    @property
    def padding(self) -> int | None:
        """The id that reads zeros, not negative; None: there is none."""
        padding_idx = self._padding_idx
        return padding_idx if padding_idx is None or padding_idx >= 0 else padding_idx + self._num_embeddings

    def forward(self, x: Any) -> tf.Tensor:
        """Return the rows of ids, int32 or int64."""
        weight = self.weight
        if isinstance(weight, TableWeight):
            rows = weight.rows(weight.wide(x), self.training)
        else:
            rows = tf.nn.embedding_lookup(weight.variable, x)
        if self.padding is None:
            return rows
        x = tf.convert_to_tensor(x)
        if isinstance(weight, TableWeight) and weight.rules.buckets is not None:
            x = weight.rules.buckets.row_of(x)
        padding = tf.cast(self.padding, x.dtype)
        return tf.where(tf.equal(x, padding)[..., tf.newaxis], tf.zeros([], rows.dtype), rows)


def _check(rows: Any, dim: Any, padding: int | None, attr: Any) -> None:
    for name, size in (("num_embeddings", rows), ("embedding_dim", dim)):
        if size < 1:
            raise ValueError(f"an Embedding got {name}={size}: give at least 1")
    if padding is not None and not -rows <= padding < rows:
        raise ValueError(f"an Embedding of {rows} rows got padding_idx={padding}: give one of -{rows} to {rows - 1}")
    if attr is False:
        raise ValueError("an Embedding got weight_attr=False, but has nothing else than its weight: leave it out")
