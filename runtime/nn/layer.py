"""`Layer`: a named tree of layers and weights, in which a variable's name is its path in the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import tensorflow as tf

from runtime.nn.weights.creation import parameter as described
from runtime.nn.weights.numbers import numbered
from runtime.nn.weights.registered import Registered
from runtime.nn.weights.weight import Weight, holders, variable_names

v1 = tf.compat.v1
Self = TypeVar("Self", bound="Layer")


class Layer(Registered):
    """Base class of layers: attributes that are layers or weights are registered under their names.

    A model is described first, and created in the graph by `build`: only then is it known what each weight is called.
    """

    #: Whether dropout and batch normalization work as in training; `train` and `eval` set it for all layers below.
    training: bool

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        """Start an empty layer.

        Args:
            name_scope: begin of `full_name`; None: the name of the class.
            dtype: of parameters whose dtype is not given.
        """
        super().__init__()
        self._full_name = numbered(name_scope or _snake(type(self).__name__))
        self._dtype = dtype
        self.training = True
        if holders:
            holders[-1].add_layer(self)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Return what `forward` returns."""
        return callers[-1](self, inputs, named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Return the layer's output; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def full_name(self) -> str:
        """Return the kind of the layer and its number in the graph."""
        return self._full_name

    def create_parameter(
        self,
        shape: Sequence[int],
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Any:
        """Describe a parameter; an attribute that it is assigned to gives it its name. None for `attr=False`.

        Args:
            shape: sizes.
            attr: a `ParamAttr`, an initializer, a regularizer, a name, None; False: there is no such parameter.
            dtype: of its elements; None: float32, or what the layer was made with.
            is_bias: the default is zeros, instead of Glorot's uniform distribution.
            default_initializer: used where `attr` has none.
        """
        return self._name_weight(described(shape, attr, dtype or self._dtype, is_bias, default_initializer), is_bias)

    def _name_weight(self, weight: Any, is_bias: bool = False) -> Any:
        """Give a weight the name that Paddle does, if it has none."""
        if weight is not None and not weight.attr.name:
            weight.generated = numbered(f"{self._full_name}.{'b' if is_bias else 'w'}")
        return weight

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """Yield (name, layer) of the layers that this one holds itself, each once."""
        seen: set[int] = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def children(self) -> Iterator[Layer]:
        """Yield the layers that this one holds itself, each once."""
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(
        self, prefix: str = "", include_self: bool = False, layers_set: set[Any] | None = None
    ) -> Iterator[tuple[str, Layer]]:
        """Yield (path, layer) of all layers below, each once, by the first of its paths.

        Args:
            prefix: path of this layer.
            include_self: whether it comes first.
            layers_set: layers that are left out; those found are added.
        """
        seen = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            seen.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from layer.named_sublayers(path, True, seen)

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """Return all layers below."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True) -> list[tuple[str, Any]]:
        """Return (path, weight) of all weights but buffers, each once; optimizers skip those not `trainable`."""
        layers = self.named_sublayers(prefix, True) if include_sublayers else iter([(prefix, self)])
        return _named(layers, lambda layer: layer._parameters)

    def parameters(self, include_sublayers: bool = True) -> list[Any]:
        """Return all weights but buffers, each once."""
        return [weight for _, weight in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix: str = "", include_sublayers: bool = True) -> list[tuple[str, Any]]:
        """Return (path, tensor) of what `register_buffer` registered, each once."""
        layers = self.named_sublayers(prefix, True) if include_sublayers else iter([(prefix, self)])
        return _named(layers, lambda layer: layer._buffers)

    def buffers(self, include_sublayers: bool = True) -> list[Any]:
        """Return what `register_buffer` registered, each once."""
        return [tensor for _, tensor in self.named_buffers(include_sublayers=include_sublayers)]

    def state_dict(self, include_sublayers: bool = True, structured_name_prefix: str = "") -> dict[str, Weight]:
        """Return path -> weight of all that is saved; what has several paths is there under each of them."""
        state: dict[str, Weight] = {}
        for name, weight in (*self._parameters.items(), *self._buffers.items()):
            if isinstance(weight, Weight) and name not in self._non_persistable_buffer_names_set:
                state[structured_name_prefix + name] = weight
        for name, layer in self._sub_layers.items() if include_sublayers else ():
            if layer is not None:
                state |= layer.state_dict(True, f"{structured_name_prefix}{name}.")
        return state

    def named_weights(self) -> Iterator[tuple[str, Weight]]:
        """Yield (path, weight) of all that is saved, each once, by the first of its paths."""
        seen: set[int] = set()
        for path, weight in self.state_dict().items():
            if id(weight) not in seen:
                seen.add(id(weight))
                yield path, weight

    def build(self, scope: str) -> None:
        """Create all variables and tables in the variable scope `scope`; what exists is kept.

        Args:
            scope: name of the model in the graph and in checkpoints, such as `dnn`. Two models that are built in the
                same scope share what has the same path in both.

        Raises:
            ValueError: the name is empty, there is no v1 graph, or the scope has a weight of another shape at a path.
        """
        if not scope:
            raise ValueError(f"{type(self).__name__}.build got an empty name: give the model a name, such as `dnn`")
        weights = dict(self.named_weights())
        with v1.variable_scope(scope, reuse=v1.AUTO_REUSE):
            for (path, weight), name in zip(weights.items(), variable_names(weights), strict=True):
                weight.path = path
                weight.build(name)

    def apply(self: Self, fn: Callable[[Layer], Any]) -> Self:
        """Call a function with each layer, those below before those that hold them, and return this one."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def train(self) -> None:
        """Let dropout and batch normalization in what is built from now on work as in training."""
        self._set_training(True)

    def eval(self) -> None:
        """Let dropout and batch normalization in what is built from now on work as in evaluation."""
        self._set_training(False)

    def _set_training(self, training: bool) -> None:
        for layer in self.sublayers(include_self=True):
            layer.training = training


def _called(layer: Layer, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return layer.forward(*inputs, **named)


#: What calls the forward of a layer; the façade of Paddle (`runtime.compat.paddle`) puts its own behind it.
callers: list[Callable[[Layer, tuple[Any, ...], dict[str, Any]], Any]] = [_called]


def _named(layers: Iterator[tuple[str, Layer]], held: Callable[[Layer], dict[str, Any]]) -> list[tuple[str, Any]]:
    named: dict[int, tuple[str, Any]] = {}
    for prefix, layer in layers:
        for name, member in held(layer).items():
            if member is not None:
                named.setdefault(id(member), (f"{prefix}.{name}" if prefix else name, member))
    return list(named.values())


def _snake(name: str) -> str:
    """Return the name of a class in Paddle's spelling: `BatchNorm1D` is `batch_norm1d`."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


__all__ = ["Layer", "Weight"]
