"""What a layer of Keras has learned, given to another that was made from its configuration."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf


def freeze_as(keras: Any, layer: Any, made: Any) -> None:
    """Let `made` and the layers inside train what `layer` trains; also decides the order of weights in Keras 2."""
    kind: Any = getattr(keras, "Variable", ())  # Keras 3 freezes variables, too
    for old, new in zip(layer._flatten_layers(), made._flatten_layers(), strict=False):
        new._trainable = old._trainable  # the property would set it for all layers inside
        for one, other in zip(old.weights, new.weights, strict=False):
            if isinstance(other, kind) and one.trainable != other.trainable:
                other.trainable = one.trainable


def give_state(keras: Any, layer: Any, made: Any) -> None:
    """Give `made` the weights of `layer`, and what layers like `Normalization` and `StringLookup` hold beside them.

    Raises:
        ValueError: the layers have other weights.
    """
    base = keras.layers.Layer
    for old, new in zip(layer._flatten_layers(), made._flatten_layers(), strict=True):
        kind = type(old)
        # Keras saves files by these methods; a layer that has its own does more than to assign weights.
        if getattr(kind, "load_own_variables", None) is not getattr(base, "load_own_variables", None):
            store: dict[str, Any] = {}
            old.save_own_variables(store)
            new.load_own_variables(store)
        if getattr(kind, "load_assets", None) is not getattr(base, "load_assets", None):
            with tempfile.TemporaryDirectory() as folder:
                old.save_assets(folder)
                if any(Path(folder).iterdir()):
                    new.load_assets(folder)
    # After them: a layer with LoRA saves the product of its factors, not these.
    made.set_weights(layer.get_weights())
    for old, new in zip(layer._flatten_layers(), made._flatten_layers(), strict=True):
        for one, other in zip(_variables(keras, old), _variables(keras, new), strict=False):
            if one is not other and one.shape == other.shape and one.dtype == other.dtype:
                other.assign(one)


def _variables(keras: Any, layer: Any) -> Iterator[Any]:
    """Yield variables that are no weights: the state of a seed, of an RNN, and variables that no Keras tracks."""
    kinds = (tf.Variable, getattr(keras, "Variable", tf.Variable))
    weights = {id(one) for one in layer.weights}
    held = [getattr(layer, "variables", ()), *(value for _, value in sorted(vars(layer).items()))]
    for value in held:
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, kinds) and id(one) not in weights:
                yield one
