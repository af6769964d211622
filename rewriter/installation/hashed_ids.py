"""Ids that layers `Hashing` and `HashedCrossing` of Keras divide into buckets: wide ids go along with the buckets.

A layer `Embedding` that is called with such buckets looks the wide ids up. Whatever else reads the buckets has them as
before, and so do masks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime import _tf_private_tapes
from runtime.keras.whole_variable import WholeVariable

__all__ = ["HashedIds"]

_NOTED = "_recmigrate_wide_ids"
_LAYERS = ("Hashing", "HashedCrossing")
_ELSEWHERE = (
    "it was called with ids that no layer `Hashing` or `HashedCrossing` returned; if your code divides them, let such "
    "a layer of the model do it"
)
_IN_A_LOOP = "it is looked up in a loop of a tf.function"


@dataclass(frozen=True)
class _Wide:
    """Ids that tell their buckets by the remainder, and the layer that divides them."""

    ids: tf.Tensor
    buckets: int
    layer: str


class HashedIds:
    """Which tables have given up their buckets, or keep them; that is decided at the first call of their layers."""

    def __init__(self, decided: Callable[[str, str], None], warn: Callable[[str], None]) -> None:
        """`decided` gets the name of a table and why it keeps its buckets, or ""; `warn` gets a line for users."""
        self._decided, self._warn = decided, warn
        self._now = threading.local()
        self._wide_layers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def returned(self, keras: Any, layer: Any, buckets: Any, again: Callable[[Any], Any]) -> None:
        """Note the wide ids beside what a layer returned; `again` calls another layer with the same arguments."""
        kinds = [getattr(keras.layers, name, None) for name in _LAYERS]
        if type(layer) not in kinds or layer.output_mode != "int" or not isinstance(buckets, tf.Tensor):
            return
        masked = getattr(layer, "mask_value", None) is not None and layer.num_bins > 1
        count = layer.num_bins - masked  # the first one is that of masked words
        if layer not in self._wide_layers:
            settings = {**layer.get_config(), "num_bins": count * ((2**63 - 1) // layer.num_bins) + masked}
            self._wide_layers[layer] = type(layer).from_config(settings | {"dtype": "int64"})
        ids = again(self._wide_layers[layer])
        if masked:
            hashed = ids - 1
            ids = tf.where(ids == 0, ids, hashed // count * layer.num_bins + hashed % count + 1)
        setattr(buckets, _NOTED, _Wide(ids, layer.num_bins, layer.name))

    @contextmanager
    def call(self, layer: Any, given: Any) -> Iterator[None]:
        """Know what a layer is called with while it runs."""
        before = getattr(self._now, "call", (None, None))
        self._now.call = layer, given
        try:
            yield
        finally:
            self._now.call = before

    def ids_of(
        self, name: str, layer: Callable[[], Any], variable: WholeVariable, symbol: type, ids: tf.Tensor
    ) -> tf.Tensor:
        """Return the ids to look up in the rows of a layer, which is called now, in place of these."""
        called, given = getattr(self._now, "call", (None, None))
        if called is None or called is not layer() or isinstance(given, symbol):
            return ids  # nothing is looked up, or not by the layer
        wide = getattr(given, _NOTED, None)
        reason = _reason(wide, variable)
        if variable.gives_up_buckets is None:
            if reason:
                variable.gives_up_buckets = False
            else:
                variable.give_up_buckets()
            self._decided(name, reason)
        if not variable.gives_up_buckets:
            return ids
        if wide is None or reason:
            self._warn(f"`{name}` gave up the buckets of its ids, and from now on a bucket is an id, too: {reason}")
            return ids
        return tf.reshape(wide.ids, tf.shape(ids))


def _reason(wide: _Wide | None, variable: WholeVariable) -> str:
    """Return why ids keep their buckets."""
    rows = variable.shape[0]
    if wide is None:
        return _ELSEWHERE
    if wide.buckets != rows:
        return f"the layer `{wide.layer}` divides ids into {wide.buckets} buckets, and the layer has {rows} rows"
    return _IN_A_LOOP if _tf_private_tapes.around_loops() is not None else ""
