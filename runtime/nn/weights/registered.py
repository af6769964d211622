"""What a layer holds: attributes that are layers or weights are kept in dictionaries, in Paddle's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.weights.weight import Parameter, Weight

_FIRST = "call super().__init__() before it assigns any"


class Registered:
    """An object whose attributes are registered; the names of its dictionaries are Paddle's, as programs read them."""

    _parameters: dict[str, Any]
    _sub_layers: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistable_buffer_names_set: set[str]

    def __init__(self) -> None:
        """Start with nothing registered."""
        for name in ("_parameters", "_sub_layers", "_buffers"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_non_persistable_buffer_names_set", set())

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a layer or a weight is registered, in the place of what had its name.

        Raises:
            ValueError: `super().__init__()` was not called yet.
            TypeError: the name is that of a layer or weight, and the value is neither such a thing nor None.
        """
        kinds = (self.__dict__.get("_parameters"), self.__dict__.get("_sub_layers"), self.__dict__.get("_buffers"))
        kind = 0 if isinstance(value, Weight) else 1 if isinstance(value, Registered) else None
        own = kinds[kind] if kind is not None else None
        if kind is not None:
            if own is None:
                raise ValueError(
                    f"{type(self).__name__} assigns the layer or weight `{name}` before super().__init__(): {_FIRST}"
                )
            self._forget(name, own)
            own[name] = value
            return
        held = next((one for one in kinds if one is not None and name in one), None)
        if held is None:
            object.__setattr__(self, name, value)
        elif value is None or held is kinds[2]:
            held[name] = value
        else:
            raise TypeError(
                f"{type(self).__name__}.{name} is a {'weight' if held is kinds[0] else 'layer'} and cannot become a "
                f"{type(value).__name__}: use another name, or assign None first and then delete it"
            )

    def _forget(self, name: str, but: Mapping[str, Any]) -> None:
        for held in (self.__dict__, self._parameters, self._sub_layers, self._buffers):
            if held is not but:
                held.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Return what is registered under a name."""
        for kind in ("_parameters", "_sub_layers", "_buffers"):
            held = self.__dict__.get(kind, {})
            if name in held:
                return held[name]
        raise AttributeError(f"{type(self).__name__} has no attribute `{name}`")

    def __delattr__(self, name: str) -> None:
        """Remove an attribute."""
        for held in (self._parameters, self._sub_layers, self._buffers):
            if name in held:
                del held[name]
                self._non_persistable_buffer_names_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        """Return the names of all attributes."""
        return [*object.__dir__(self), *self._parameters, *self._sub_layers, *self._buffers]

    def add_sublayer(self, name: str, sublayer: Any) -> Any:
        """Register a layer under a name, which need not be an identifier, in the place of what had it.

        Raises:
            TypeError: it is neither a layer nor None.
        """
        if not (sublayer is None or isinstance(sublayer, Registered)):
            raise TypeError(f"add_sublayer({name!r}) got a {type(sublayer).__name__}: give a Layer")
        self._sub_layers[name] = sublayer
        return sublayer

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Register a weight, or None, under a name.

        Raises:
            KeyError: the name is empty, has a dot, or belongs to something else.
            TypeError: it is neither a weight nor None.
        """
        self._check_new(name, self._parameters, "add_parameter")
        if not (parameter is None or isinstance(parameter, Weight)):
            raise TypeError(
                f"add_parameter({name!r}) got a {type(parameter).__name__}: give what create_parameter returns"
            )
        self._parameters[name] = parameter
        return parameter

    def register_buffer(self, name: str, tensor: Any, persistable: bool = True) -> None:
        """Keep values that are not trained under a name.

        Args:
            name: of the attribute.
            tensor: a tensor of known shape, an array, a weight that is not trained, or None.
            persistable: whether they are saved with the model; what is saved becomes a variable that begins with them.

        Raises:
            KeyError: the name is empty, has a dot, or belongs to something else.
            ValueError: it is to be saved, and its shape is not known.
        """
        self._check_new(name, self._buffers, "register_buffer")
        if isinstance(tensor, Weight):
            tensor.trainable = False
        elif persistable and tensor is not None:
            tensor = _saved(name, tensor)
        self._buffers[name] = tensor
        unsaved = self._non_persistable_buffer_names_set
        (unsaved.discard if persistable else unsaved.add)(name)

    def _check_new(self, name: str, own: Mapping[str, Any], call: str) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(f"{call} got the name {name!r}: give a str without dots that is not empty")
        if hasattr(self, name) and name not in own:
            raise KeyError(f"{type(self).__name__} has `{name}` already: give {call} another name")


def _saved(name: str, values: Any) -> Parameter:
    tensor = values if isinstance(values, tf.Tensor) else np.asarray(values)
    if not tf.TensorShape(tensor.shape).is_fully_defined():
        raise ValueError(
            f"the buffer `{name}` has the shape {tensor.shape}, and what is saved needs known sizes: "
            "give persistable=False"
        )

    def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        return tf.identity(tf.convert_to_tensor(tensor, dtype))

    return Parameter(tuple(tensor.shape), initial, tensor.dtype, trainable=False)
