"""`Program`: what is built inside of it holds its weights under Paddle's names, and shares them with its evaluation."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import tensorflow as tf

from runtime.nn.weights import weight as weights
from runtime.nn.weights.numbers import numbered, numbers_of, set_numbers
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class Program:
    """A block in which layers are made and used at once, as functions of Paddle's static graphs do.

    A weight is called as its `ParamAttr` says, else by the number of its layer and its attribute: `linear_0.weight`.
    Two weights of a name are one. Programs of the same name in a graph share what has the same name in both, so that
    one with `training=False` evaluates what another trains.
    """

    def __init__(self, name: str = "model", training: bool = True) -> None:
        """Take the scope of the variables, and whether dropout and lookups work as in training."""
        self.name, self.training = name, training
        self._layers: list[Any] = []
        self._held: dict[str, Weight] = {}
        self._numbers: Any = None
        self.losses: list[Any] = []  #: what optimizers minimize in it

    @property
    def weights(self) -> dict[str, Weight]:
        """All weights by name, in the order in which they were described."""
        return dict(sorted(self._held.items(), key=lambda item: item[1].serial))

    def __enter__(self) -> Program:
        """Begin."""
        graph = v1.get_default_graph()
        self._numbers = numbers_of(graph)
        set_numbers(graph, Counter())
        weights.holders.append(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        """Create the weights that were described, but not used."""
        try:
            if raised[0] is None:
                for layer in self._layers:
                    for weight in (*layer._parameters.values(), *layer._buffers.values()):
                        if isinstance(weight, Weight) and not weight.built:
                            self.hold(weight)
        finally:
            weights.holders.remove(self)
            set_numbers(v1.get_default_graph(), self._numbers)

    def add_layer(self, layer: Any) -> None:
        """Take note of a new layer."""
        layer.training = self.training
        self._layers.append(layer)

    def hold(self, weight: Weight, name: str | None = None) -> None:
        """Create a weight under its name."""
        name = re.sub(r"[^0-9A-Za-z_.-]", "_", name or weight.attr.name or self._place(weight))
        with tf.init_scope(), v1.variable_scope(self.name, reuse=v1.AUTO_REUSE):
            weight.path = name
            weight.build(name)
        self._held.setdefault(name, weight)

    def _place(self, weight: Weight) -> str:
        for layer in self._layers:
            for name, member in (*layer._parameters.items(), *layer._buffers.items()):
                if member is weight:
                    return f"{layer.full_name()}.{name}"
        return weight.generated or f"{self.numbered('create_parameter')}.w_0"

    def numbered(self, kind: str) -> str:
        """Return the next name of a kind, as of layers."""
        return numbered(kind)


def current() -> Program | None:
    """Return the program that is being built, or None."""
    innermost = weights.holders[-1] if weights.holders else None
    return innermost if isinstance(innermost, Program) else None
