"""What a layer of Keras is told, apart from its weights, compared with another made from its configuration.

A configuration may lack an argument, which then has its default, and attributes may have been set later.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.keras.own_code import is_operation
from runtime.keras.references import filled

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
#: What every layer has, by its name in `vars` without an underscore: Keras 2 and 3 differ in that.
_BASE = ("name", "trainable", "supports_masking", "autocast", "activity_regularizer")
#: Attributes that Keras sets on layers that it loads or tracks.
_BOOKKEEPING = ("_self_", "_serialized_attributes", "keras_api")
#: Parts that two layers that do the same need not share.
_UNIMPORTANT = {"name", "_name", "seed"}


def configuration(layer: Any) -> dict[str, Any]:
    """Return what makes a layer again; for a layer of Keras with the functions that it holds in place of their names.

    A name need not lead to them: a lambda has none, and Keras 3 takes its own function for a user's `gelu`.
    """
    config: dict[str, Any] = layer.get_config()
    names = config if _of_keras(layer) and not is_operation(layer) else {}
    held = {name: getattr(layer, name, None) for name in names}
    return {**config, **{name: value for name, value in held.items() if isinstance(value, types.FunctionType)}}


def complete(keras: Any, layer: Any, copy: Any) -> list[str]:
    """Give a layer that is not called yet the plain settings that its configuration lacks, and return their names."""
    lacking = []
    for name in [*_base_names(layer), *_own_names(keras, layer, copy, (*_PLAIN, *_rules(keras)))]:
        if not same(keras, vars(layer)[name], vars(copy).get(name)):
            setattr(copy, name, vars(layer)[name])
            lacking.append(name.lstrip("_"))
    return [name for name in lacking if name != "name"]


def different(keras: Any, layer: Any, copy: Any) -> str:
    """Return a setting in which two built layers differ, a part of a sentence; empty if there is none.

    The settings of a layer of Keras are in its configuration; those of other classes are what their attributes hold:
    plain values, arrays, functions, regularizers, and objects with such attributes.
    """
    common = _common(keras)
    for old, new in zip(layer._flatten_layers(), copy._flatten_layers(), strict=False):
        pairs = {name: (getattr(old, name), getattr(new, name)) for name in ("compute_dtype", "variable_dtype")}
        if not _of_keras(old):
            held = [vars(one) for one in (old, new)]
            names = [name for name in held[0].keys() - common if not name.startswith(_BOOKKEEPING)]
            pairs |= {name: (held[0][name], held[1].get(name)) for name in [*names, *_base_names(old)]}
        else:
            if old is not layer:  # made by a class that may forget its arguments
                held = [one.get_config() for one in (old, new)]
                pairs |= {name: (held[0][name], held[1].get(name)) for name in held[0]}
            held = [{} if is_operation(one) else vars(one) for one in (old, new)]
            functions = [name for name, value in held[0].items() if isinstance(value, types.FunctionType)]
            pairs |= {name: (held[0][name], held[1].get(name)) for name in functions if name not in common}
        for name in sorted(pairs.keys() - _UNIMPORTANT):
            before, after = pairs[name]
            if not same(keras, before, after):
                return f"its `{name.lstrip('_')}` would be {after!r}, and is {before!r}"
        if not same(keras, weight_rules(keras, old), weight_rules(keras, new)):
            return (
                "its regularizers or constraints were changed after its weights were created, and a new "
                "layer would use them"
            )
    return ""


def weight_rules(keras: Any, layer: Any) -> list[Any]:
    """Return the regularizers and constraints that act on a layer's own weights, whatever its attributes say."""
    losses = [cell for loss in getattr(layer, "_callable_losses", ()) for cell in _cells(loss)]
    rules = [one for one in losses if isinstance(one, keras.regularizers.Regularizer)]
    for weight in layer.weights:
        rules += [getattr(weight, name, None) for name in ("regularizer", "constraint")]
    return [one for one in rules if one is not None]


def _cells(loss: Any) -> Iterator[Any]:
    """Yield what a loss of Keras 2 closes over."""
    if isinstance(loss, functools.partial):
        for part in (loss.func, *loss.args):
            yield from _cells(part)
    elif isinstance(loss, types.FunctionType):
        yield from _closed_over(loss)


def _base_names(layer: Any) -> list[str]:
    return [name for name in vars(layer) if name.removeprefix("_") in _BASE]


def _own_names(keras: Any, layer: Any, copy: Any, kinds: tuple[Any, ...]) -> list[str]:
    """Return the attributes of a user's class with values of `kinds`, if the layer can still be told them."""
    if copy.built or _of_keras(layer):
        return []
    names = vars(copy).keys() & vars(layer).keys() - _common(keras)
    return sorted(name for name in names if isinstance(vars(layer)[name], kinds) and not name.startswith(_BOOKKEEPING))


@functools.cache
def _common(keras: Any) -> frozenset[str]:
    """Return the attributes that layers have by their base classes; a name lets Keras not count the objects."""
    return frozenset({*vars(keras.layers.Layer(name="common")), *vars(keras.Model(name="common"))})


def _of_keras(layer: Any) -> bool:
    return type(layer).__module__.partition(".")[0] in ("keras", "tf_keras")


def _rules(keras: Any) -> tuple[Any, ...]:
    return (keras.regularizers.Regularizer, keras.constraints.Constraint)


def same(keras: Any, left: Any, other: Any) -> bool:
    """Return whether nothing is found in which two values differ; layers and variables are compared elsewhere."""
    return _same(left, other, _rules(keras), set())


def _same(left: Any, other: Any, rules: tuple[Any, ...], seen: set[tuple[int, int]]) -> bool:
    if left is other or (id(left), id(other)) in seen:
        return True
    if type(left) is not type(other):
        return False
    seen.add((id(left), id(other)))
    if isinstance(left, _PLAIN):
        return bool(left == other or (left != left and other != other))  # not a number is not equal to itself
    if isinstance(left, np.ndarray):
        return bool(left.shape == other.shape and left.dtype == other.dtype and _items(left) == _items(other))
    if isinstance(left, Set):
        return bool(left == other)
    return all(_same(a, b, rules, seen) for a, b in _pairs(left, other, rules))


def _pairs(left: Any, other: Any, rules: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of parts, of which each must be the same, of two values of one type."""
    if isinstance(left, tf.Tensor):
        if hasattr(left, "numpy"):
            yield left.numpy(), other.numpy()
    elif isinstance(left, Mapping):
        yield sorted(map(repr, left)), sorted(map(repr, other))
        yield from ((value, other.get(key)) for key, value in left.items() if key not in _UNIMPORTANT)
    elif isinstance(left, (list, tuple)):
        yield len(left), len(other)
        yield from zip(left, other, strict=False)
    elif isinstance(left, types.FunctionType):
        yield left.__code__ == other.__code__, True
        yield (left.__defaults__, left.__kwdefaults__), (other.__defaults__, other.__kwdefaults__)
        yield _closed_over(left), _closed_over(other)
    elif isinstance(left, types.MethodType):
        yield (left.__func__, left.__self__), (other.__func__, other.__self__)
    elif isinstance(left, functools.partial):
        yield (left.func, left.args, left.keywords), (other.func, other.args, other.keywords)
    elif isinstance(left, rules):
        yield left.get_config(), other.get_config()
    elif not hasattr(left, "_flatten_layers") and not _of_library(type(left)):
        equal = _equal(left, other)
        yield (equal, True) if equal is not None else (getattr(left, "__dict__", {}), getattr(other, "__dict__", {}))


def _equal(left: Any, other: Any) -> bool | None:
    """Return what the operator of their class says, None without one."""
    operator: Any = type(left).__eq__
    if operator is object.__eq__:
        return None
    try:
        return bool(left == other)
    except (TypeError, ValueError):  # an operator that compares item by item
        return None


def _items(array: Any) -> Any:
    return array.tolist() if array.dtype.hasobject else array.tobytes()


def _closed_over(function: types.FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or () if filled(cell)]


def _of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("tensorflow", "keras", "tf_keras", "builtins", "_thread")
