"""Ids that give up their buckets: of variables over tables, and of layers that look words up in a vocabulary."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.native.base_keys import FIRST_BASE_KEY, MOST_BUCKETS, are_base_keys
from runtime.storage.buckets import Buckets
from runtime.table.anchor import without_base
from runtime.table.table import Table

#: What a file of Keras calls the ids that are not in the matrix, and their rows.
OTHERS = ("other_keys", "other_values")
#: Arguments by which a layer gives something else than the ids of words, with what they must be.
_PLAIN = {"output_mode": "int", "invert": False, "sparse": False, "salt": None, "oov_method": "floormod"}


class FreeIds:
    """Ids that are no buckets any more, and begin as the rows of these."""

    table: Table
    name: Any
    _rows: Any

    #: Gives the ids to look up in place of these.
    ids_of: Callable[[tf.Tensor], tf.Tensor] = staticmethod(lambda ids: ids)
    #: Whether ids have the rows of their buckets as a base; None as long as that is not decided.
    gives_up_buckets: bool | None = None
    _stored_base = False  #: whether rows of such ids were restored

    @property
    def first_key(self) -> int:
        """The key of the first row."""
        return FIRST_BASE_KEY if self.gives_up_buckets else 0

    def places(self, keys: Any) -> Any:
        """Return which rows keys are of; those of other ids are negative, or beyond the rows."""
        return keys - FIRST_BASE_KEY if self.gives_up_buckets else keys

    def take_stored(self, keys: Any) -> Any:
        """Return which stored rows to take, a mask: those of a base are the rows that a file has as the matrix.

        Raises:
            ValueError: they are of ids that gave up their buckets, and those of this table keep them.
        """
        base = np.asarray(are_base_keys(keys))
        self._stored_base = self._stored_base or bool(base.any())
        if self.table.arguments.base_buckets is None or self.gives_up_buckets is False:
            self.keep_buckets()
        return ~base

    def keep_buckets(self) -> None:
        """Let ids be rows from now on.

        Raises:
            ValueError: rows were restored that are of ids which gave up their buckets.
        """
        if self._stored_base:
            raise ValueError(without_base(self.table.table_name, tf.constant([FIRST_BASE_KEY]))[1])
        self.gives_up_buckets = False

    def give_up_buckets(self) -> None:
        """Let the rows, with their slots, be what ids begin as from now on."""
        with tf.init_scope(), self.table.written():
            keys, *rest = self.table.snapshot()
            is_row = (keys >= 0) & (keys < self._rows)
            if bool(tf.reduce_any(is_row)):  # else they were restored as the base
                keys = tf.where(is_row, keys + FIRST_BASE_KEY, keys)
                native.ops().rec_table_import(self.table.handle, keys, *rest)
        self.gives_up_buckets = True

    @property
    def all_in_matrix(self) -> bool:
        """Whether no other ids than those of the matrix have rows."""
        own = 0 if self.gives_up_buckets else self._rows  # those have rows from the beginning
        return int(self.table.size()) == own

    def save_others(self, store: Any, prefix: str = "") -> None:
        """Put the rows of ids that are not in the matrix into a file of Keras, if there are any."""
        if not self.all_in_matrix:
            keys, values = (part.numpy() for part in self.table.snapshot()[:2])
            places = self.places(keys)
            others = (places < 0) | (places >= self._rows)
            others |= keys == FIRST_BASE_KEY  # which says that ids gave up their buckets
            store[f"{prefix}{OTHERS[0]}"], store[f"{prefix}{OTHERS[1]}"] = keys[others], values[others]

    def load_others(self, store: Any, prefix: str = "") -> None:
        """Take the rows of ids that are not in the matrix from a file of Keras, if it has any."""
        keys, values = (f"{prefix}{name}" for name in OTHERS)
        if keys in store.keys():  # noqa: SIM118 - an h5 group
            stored = np.asarray(store[keys])
            taken = self.take_stored(stored)
            self.table.import_rows(stored[taken], np.asarray(store[values])[taken])

    def require_matrix(self) -> None:
        """Check that the rows are all in the matrix, of which an optimizer knows.

        Raises:
            ValueError: ids gave up their buckets, and have rows of their own.
        """
        if self.gives_up_buckets:
            raise ValueError(
                f"`{self.name.removesuffix(':0')}` has rows of single ids in place of buckets, and the code of "
                "this optimizer would not train them: train with SGD, Adagrad, Adam or AdamW of Keras, or "
                "leave the setting `unbucket` out for this layer"
            )


class FreeWords:
    """What the lookups have besides their stock classes."""

    beyond: int | None
    num_oov_indices: int
    mask_token: Any
    name: str

    def __init__(self, *args: Any, beyond: int | None = None, **kwargs: Any) -> None:
        """Take the arguments of the stock layer; ids of other words start at `beyond`, by default behind all words.

        Raises:
            ValueError: an argument lets it give something else than ids, or words have no buckets to begin as.
        """
        for argument, plain in _PLAIN.items():
            if kwargs.get(argument, plain) != plain:
                raise ValueError(
                    f"{type(self).__name__} gives each word outside of the vocabulary an id of its own, which "
                    f"{argument}={kwargs[argument]!r} does not allow: leave the argument out, or use Keras' own layer"
                )
        super().__init__(*args, **kwargs)
        self.beyond = None if beyond is None else _validation.integer("beyond", beyond, 1, MOST_BUCKETS)
        _validation.integer("num_oov_indices", self.num_oov_indices, 1, MOST_BUCKETS)

    @property
    def buckets(self) -> Buckets:
        """The `base_buckets` of the table that has rows for its ids.

        Raises:
            ValueError: the vocabulary has more words than there are ids below `beyond`.
        """
        with tf.init_scope():
            size = self.vocabulary_size()  # type: ignore[attr-defined]
        if isinstance(size, tf.Tensor) and not hasattr(size, "numpy"):
            if self.beyond is None:
                raise ValueError(
                    f"{self.name}: a graph of TensorFlow 1 does not show how many words there are: give beyond=ROWS"
                )
            size = 0
        rows = int(size)
        if self.beyond is not None and rows > self.beyond:
            raise ValueError(
                f"{self.name}: the vocabulary takes {rows} ids, and those of other words begin at {self.beyond}: give "
                f"beyond={rows} or more, the input_dim of the `Embedding` layer"
            )
        return Buckets(self.num_oov_indices, 0 if self.mask_token is None else 1, self.beyond or rows)

    def call(self, inputs: Any) -> Any:
        """Return the ids of words, int64; that of another word is its hash, or remainder, behind `beyond`."""
        return self._of(inputs, super().call(inputs))  # type: ignore[misc]

    @_tf_private.as_written  # not on `call`, whose signature Keras inspects
    def _of(self, inputs: Any, ids: Any) -> Any:
        if isinstance(ids, tf.SparseTensor):
            return tf.SparseTensor(ids.indices, self._apart(inputs.values, ids.values), ids.dense_shape)
        if isinstance(ids, tf.RaggedTensor):
            return ids.with_flat_values(self._apart(inputs.flat_values, ids.flat_values))
        return self._apart(inputs, ids)

    def _apart(self, words: Any, ids: Any) -> Any:
        buckets = self.buckets
        words = tf.reshape(words, tf.shape(ids))
        if words.dtype == tf.string:
            wide = tf.strings.to_hash_bucket_fast(words, buckets.widest)
        else:
            wide = tf.math.floormod(tf.cast(words, tf.int64), buckets.widest)
        is_other = (ids >= buckets.first) & (ids < buckets.first + buckets.count)
        return tf.where(is_other, wide + buckets.start, tf.cast(ids, tf.int64))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "beyond": self.beyond}  # type: ignore[misc]


@functools.cache
def lookup_class(keras: Any, name: str) -> Any:
    """Return the layer for one of the two names, and a Keras module: `tf.keras`, or `tf_keras` beside Keras 3."""
    kind = type(name, (FreeWords, getattr(keras.layers, name)), {"__doc__": FreeWords.__doc__, "__module__": __name__})
    return keras.utils.register_keras_serializable(package="recmigrate")(kind)


StringLookup: Any = lookup_class(tf.keras, "StringLookup")
"""The layer of `tf.keras`, whose other words have ids of their own: behind `beyond`, by default behind all words.

The layer that looks the ids up is `runtime.keras.Embedding(rows, dim, base_buckets=lookup.buckets)`, `rows` being
`beyond`. Words of the vocabulary have the ids that they have in Keras.
"""

IntegerLookup: Any = lookup_class(tf.keras, "IntegerLookup")
"""The same of numbers, which are divided in place of hashed."""
