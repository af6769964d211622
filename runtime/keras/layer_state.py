"""What a layer of Keras has learned, given to another of the same configuration."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

__all__ = ["give_state"]


def give_state(keras: Any, layer: Any, made: Any) -> None:
    """Give `made` the weights of `layer`, and what layers like `Normalization` and `StringLookup` hold beside them.

    Raises:
        ValueError: the layers have other weights.
    """
    made.set_weights(layer.get_weights())
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
