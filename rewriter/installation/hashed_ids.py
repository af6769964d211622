"""Ids that layers of Keras divide into buckets: beside the buckets goes what tells ids of one bucket apart.

Layers that divide ids are `Hashing`, `HashedCrossing`, `StringLookup` and `IntegerLookup`. A layer `Embedding` that is
called with what they return looks wide ids up. Whatever else reads the buckets has them as before, and so do masks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter.facts import Bound
from runtime import _tf_private_tapes
from runtime.keras.whole_variable import WholeVariable

_NOTED = "_recmigrate_wide_ids"
_HASHING, _VOCABULARIES = ("Hashing", "HashedCrossing"), ("StringLookup", "IntegerLookup")
_ELSEWHERE = (
    "it was called with ids that do not come from a `Hashing`, `HashedCrossing`, `StringLookup` or `IntegerLookup` "
    "layer; if your code hashes or divides them, use such a layer in the model instead"
)
_SPARSE = "its ids are a SparseTensor, of which it looks up only the distinct values: give it dense or ragged ids"
_IN_A_LOOP = "it is looked up in a loop of a tf.function"
_WIDEST = 2**63 - 1


@dataclass(frozen=True)
class _Wide:
    """Numbers that tell ids of a bucket apart, in the structure of the `buckets`, and the layer that divides them.

    They are 0 for ids that keep their number. There is a `reason` where there are none.
    """

    numbers: Any
    buckets: int
    layer: str
    reason: str = ""


class HashedIds:
    """Which tables have given up their buckets, or keep them; that is decided at the first call of their layers."""

    def __init__(self, decided: Callable[[str, str], None], warn: Callable[[str], None]) -> None:
        """`decided` gets the name of a table and why it keeps its buckets, or ""; `warn` gets a line for users."""
        self._decided, self._warn = decided, warn
        self._now = threading.local()
        self._wide_layers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def returned(self, keras: Any, layer: Any, buckets: Any, words: Any, again: Callable[[Any], Any]) -> None:
        """Note what tells ids apart beside what a layer returned for `words`; `again` calls another layer with them."""
        tensor = isinstance(buckets, (tf.Tensor, tf.SparseTensor, tf.RaggedTensor))
        if not tensor or getattr(layer, "output_mode", "") != "int" or getattr(layer, "invert", False):
            return
        hashes = _is_any(keras, layer, _HASHING)
        if hashes or _is_any(keras, layer, _VOCABULARIES):
            sparse = isinstance(buckets, tf.SparseTensor)
            wide = _Wide(None, 0, layer.name, _SPARSE) if sparse else None
            wide = wide or (self._of_hashes(layer, again) if hashes else _of_words(layer, buckets, words))
            setattr(buckets, _NOTED, wide)

    def _of_hashes(self, layer: Any, again: Callable[[Any], Any]) -> _Wide:
        masked = getattr(layer, "mask_value", None) is not None and layer.num_bins > 1
        count = layer.num_bins - masked  # the first one is that of masked words
        if layer not in self._wide_layers:
            settings = {**layer.get_config(), "num_bins": count * (_WIDEST // layer.num_bins) + masked}
            self._wide_layers[layer] = type(layer).from_config(settings | {"dtype": "int64"})
        numbers = _values(lambda ids: tf.maximum(ids - masked, 0) // count, again(self._wide_layers[layer]))
        return _Wide(numbers, layer.num_bins, layer.name)

    @contextmanager
    def call(self, layer: Any, inputs: Any) -> Iterator[None]:
        """Know what a layer is called with while it runs."""
        before = getattr(self._now, "call", (None, None))
        self._now.call = layer, inputs
        try:
            yield
        finally:
            self._now.call = before

    def ids_of(
        self, name: str, layer: Callable[[], Any], variable: WholeVariable, symbol: type, ids: tf.Tensor
    ) -> tf.Tensor:
        """Return the ids to look up in the rows of a layer, which is called now, in place of these."""
        called, tensor = getattr(self._now, "call", (None, None))
        if called is None or called is not layer() or isinstance(tensor, symbol):
            return ids  # nothing is looked up, or not by the layer
        wide = getattr(tensor, _NOTED, None)
        reason = _reason(wide, variable.shape[0]) or (
            _IN_A_LOOP if _tf_private_tapes.around_loops() is not None else ""
        )
        if variable.gives_up_buckets is None:
            if reason:
                variable.keep_buckets()
            else:
                variable.give_up_buckets()
            self._decided(name, reason)
        if not variable.gives_up_buckets:
            return ids
        if wide is None or reason:
            self._warn(
                f"the ids of `{name}` have rows of their own, and from now on buckets are looked up, too: {reason}"
            )
            return ids
        rows = variable.shape[0]
        numbers = tf.reshape(_flat(wide.numbers), tf.shape(ids))
        return tf.cast(ids, tf.int64) + numbers % (_WIDEST // rows) * rows


def bound_of(keras: Any, ids: Any, rows: int) -> Bound | None:
    """Return what bounds the ids of a functional model, by the layer that returned them; None for other values."""
    history = getattr(ids, "_keras_history", None)
    if history is None:
        return None
    layer: Any = getattr(history, "operation", getattr(history, "layer", None))
    hashes = _is_any(keras, layer, _HASHING)
    if not hashes and not _is_any(keras, layer, _VOCABULARIES):
        return Bound("unknown")
    reason = _reason(_Wide(None, layer.num_bins, layer.name) if hashes else _of_vocabulary(layer, None), rows)
    by = "buckets" if hashes else "vocabulary"
    return Bound(by, layer.name, type(layer).__name__, frees=not reason, reason=reason)


def _is_any(keras: Any, layer: Any, names: tuple[str, ...]) -> bool:
    return type(layer) in [getattr(keras.layers, name, None) for name in names]


def _of_words(layer: Any, buckets: Any, words: Any) -> _Wide:
    """Return what tells words apart that a vocabulary does not have, which are hashed once more."""
    first, count = int(layer.mask_token is not None), layer.num_oov_indices

    def apart(ids: Any) -> Any:
        flat = tf.reshape(_flat(words), tf.shape(ids))
        numbers = tf.cast(flat, tf.int64) if flat.dtype.is_integer else tf.strings.to_hash_bucket_fast(flat, _WIDEST)
        return tf.where((ids >= first) & (ids < first + count), numbers, 0)

    return _of_vocabulary(layer, _values(apart, buckets) if count else None)


def _of_vocabulary(layer: Any, numbers: Any) -> _Wide:
    """Return the numbers beside the buckets of a vocabulary, with the reason where it has no bucket."""
    if layer.num_oov_indices == 0:
        reason = (
            f"the layer `{layer.name}` has no bucket for words outside of its vocabulary: give it num_oov_indices=1"
        )
        return _Wide(None, 0, layer.name, reason)
    return _Wide(numbers, int(layer.mask_token is not None) + layer.num_oov_indices, layer.name)


def _values(change: Callable[[tf.Tensor], tf.Tensor], ids: Any) -> Any:
    """Return ids with other values."""
    return ids.with_flat_values(change(ids.flat_values)) if isinstance(ids, tf.RaggedTensor) else change(ids)


def _flat(ids: Any) -> tf.Tensor:
    """Return the values of ids, as a layer looks them up."""
    return ids.flat_values if isinstance(ids, tf.RaggedTensor) else tf.convert_to_tensor(ids)


def _reason(wide: _Wide | None, rows: int) -> str:
    """Return why ids keep their buckets."""
    if wide is None or wide.reason:
        return _ELSEWHERE if wide is None else wide.reason
    if wide.buckets > rows:
        return (
            f"the layer `{wide.layer}` hashes or divides ids into {wide.buckets} buckets, more than the {rows} rows "
            "of this layer"
        )
    return ""
