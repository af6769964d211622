"""`Layer`: a named tree of layers and parameters, in which a variable's name is its path in the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import tensorflow as tf

from runtime.nn.parameter import ParamAttr, Parameter

v1 = tf.compat.v1
T = TypeVar("T")


@runtime_checkable
class Weight(Protocol):
    """What a layer holds under a name and creates when its path is known: a parameter, or the rows of an embedding."""

    @property
    def built(self) -> bool:
        """Whether it exists in the graph."""

    def build(self, path: str) -> None:
        """Create it at `path` in the current variable scope; once."""


class Layer:
    """Base class of layers: attributes that are layers or weights are registered under their names.

    A model is described first, and created in the graph by `build`: only then is it known what each weight is called.
    """

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        """Start an empty layer; the arguments have no effect."""
        del name_scope, dtype
        self._children: dict[str, Layer] = {}
        self._weights: dict[str, Weight] = {}
        self.training = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a layer or a weight is registered, and one registered before under this name is not."""
        if isinstance(value, Layer):
            self._weights.pop(name, None)
            self._children[name] = value
        elif isinstance(value, Parameter):
            self._children.pop(name, None)
            self._weights[name] = value
        super().__setattr__(name, value)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Return what `forward` returns."""
        return self.forward(*inputs, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Return the layer's output; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def add_sublayer(self, name: str, sublayer: T) -> T:
        """Register a layer under a name, which need not be an identifier; a layer of this name is replaced."""
        assert isinstance(sublayer, Layer)
        self._children[name] = sublayer
        object.__setattr__(self, name, sublayer)
        return sublayer

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Register a parameter under a name; None is kept as an attribute."""
        if parameter is not None:
            self._weights[name] = parameter
        object.__setattr__(self, name, parameter)
        return parameter

    def register_buffer(self, name: str, tensor: Any, persistable: bool = True) -> None:
        """Keep a tensor under a name; one that is a `Parameter` is saved with the model."""
        if persistable and isinstance(tensor, Parameter):
            self._weights[name] = tensor
        object.__setattr__(self, name, tensor)

    def create_parameter(
        self,
        shape: Sequence[int],
        attr: Any = None,
        dtype: Any = "float32",
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Any:
        """Describe a parameter; an attribute that it is assigned to gives it its name. None for `attr=False`."""
        from runtime.nn.creation import parameter

        return parameter(shape, attr, dtype, is_bias, default_initializer)

    def named_sublayers(self, prefix: str = "") -> Iterator[tuple[str, Layer]]:
        """Yield (path, layer) of all layers below, each once, by the first of its names."""
        seen = {id(self)}

        def below(layer: Layer, start: str) -> Iterator[tuple[str, Layer]]:
            for name, child in layer._children.items():
                if id(child) not in seen:
                    seen.add(id(child))
                    path = f"{start}.{name}" if start else name
                    yield path, child
                    yield from below(child, path)

        yield from below(self, prefix)

    def sublayers(self) -> list[Layer]:
        """Return all layers below."""
        return [layer for _, layer in self.named_sublayers()]

    def named_weights(self) -> Iterator[tuple[str, Weight]]:
        """Yield (path, weight) of all weights, each once: parameters, running values and embedding tables."""
        seen: set[int] = set()
        for prefix, layer in [("", self), *self.named_sublayers()]:
            for name, weight in layer._weights.items():
                if id(weight) not in seen:
                    seen.add(id(weight))
                    yield (f"{prefix}.{name}" if prefix else name), weight

    def named_parameters(self) -> list[tuple[str, Any]]:
        """Return (path, weight) of what optimizers train or could train: all weights but running values."""
        return [(path, weight) for path, weight in self.named_weights() if not getattr(weight, "is_running", False)]

    def parameters(self) -> list[Any]:
        """Return the weights that optimizers train or could train."""
        return [weight for _, weight in self.named_parameters()]

    def build(self, scope: str) -> None:
        """Create all variables and tables in the variable scope `scope`; what exists is kept.

        Args:
            scope: name of the model in the graph and in checkpoints, such as `dnn`.
        """
        with v1.variable_scope(scope, reuse=v1.AUTO_REUSE):
            for path, weight in self.named_weights():
                weight.build(path)

    def train(self) -> None:
        """Let dropout and batch normalization work as in training."""
        self._set_training(True)

    def eval(self) -> None:
        """Let dropout and batch normalization work as in evaluation."""
        self._set_training(False)

    def _set_training(self, training: bool) -> None:
        for layer in [self, *self.sublayers()]:
            layer.training = training


__all__ = ["Layer", "ParamAttr", "Weight"]
