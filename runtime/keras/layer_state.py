"""What a layer of Keras has learned, given to another that was made from its configuration."""

from __future__ import annotations

import tempfile
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["complete", "different", "give_state"]

_PLAIN = (bool, int, float, str, bytes, type(None), np.generic)


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


def complete(keras: Any, layer: Any, made: Any) -> list[str]:
    """Give a layer that is not built yet the plain settings that its configuration lacks, and return their names."""
    kinds = _kinds(keras)
    if made.built or _of_keras(layer):
        return []
    held = vars(made).keys() & vars(layer).keys() - vars(keras.layers.Layer()).keys()
    lacking = [
        name
        for name in sorted(held)
        if isinstance(vars(layer)[name], (*_PLAIN, *kinds))
        and list(_settings(vars(layer)[name], kinds)) != list(_settings(vars(made)[name], kinds))
    ]
    for name in lacking:
        setattr(made, name, vars(layer)[name])
    return lacking


def _of_keras(layer: Any) -> bool:
    return type(layer).__module__.partition(".")[0] in ("keras", "tf_keras")


def _kinds(keras: Any) -> tuple[Any, ...]:
    return (keras.regularizers.Regularizer, keras.constraints.Constraint)


def different(keras: Any, layer: Any, made: Any) -> str:
    """Return a setting in which two layers differ, a part of a sentence; empty if there is none.

    A configuration may lack an argument, which then has its default. The settings of a layer of Keras are in its
    configuration; those of other classes are what their attributes hold: plain values, functions, regularizers.
    """
    common = vars(keras.layers.Layer())
    kinds = _kinds(keras)
    for old, new in zip(layer._flatten_layers(), made._flatten_layers(), strict=False):
        if not _of_keras(old):
            held = [vars(one) for one in (old, new)]
            names = {name for name in held[0].keys() - common.keys() if not name.startswith("_self_")}
        elif old is not layer:  # made by a class that may forget its arguments
            held = [one.get_config() for one in (old, new)]
            names = held[0].keys() - {"name", "seed"}
        else:
            continue
        for name in sorted(names):
            one, other = (values.get(name) for values in held)
            if list(_settings(one, kinds)) != list(_settings(other, kinds)):
                return f"its `{name}` is {other!r} then, and was {one!r}"
    return ""


def _settings(value: Any, kinds: tuple[Any, ...]) -> Iterator[Any]:
    """Yield what can be compared of a value; of two values that do the same, the same."""
    if isinstance(value, _PLAIN):
        yield value if value == value else "nan"  # not a number is not equal to itself
    elif isinstance(value, np.ndarray):
        yield from (value.shape, value.tobytes())
    elif isinstance(value, Mapping):
        for key in sorted(value.keys() - {"name", "seed"}, key=repr):
            yield key
            yield from _settings(value[key], kinds)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _settings(one, kinds)
    elif isinstance(value, types.FunctionType):
        yield value.__code__
        yield from _settings([cell.cell_contents for cell in value.__closure__ or ()], kinds)
    elif isinstance(value, kinds):
        yield type(value).__name__
        yield from _settings(value.get_config(), kinds)
