"""Parameters of layers: described when a layer is made, created as variables once their place in the model is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.weights.param_attr import ParamAttr
from runtime.nn.weights.weight import Weight, build_loose, of_variables

v1 = tf.compat.v1


class Parameter(Weight):
    """A weight that stands for its variable: operators and TensorFlow's functions take it as a tensor."""

    def __init__(
        self,
        shape: Sequence[int],
        initializer: Any,
        dtype: Any = tf.float32,
        attr: ParamAttr | None = None,
        trainable: bool = True,
    ) -> None:
        """Describe a parameter; nothing is created in the graph.

        Args:
            shape: sizes, all known.
            initializer: a TensorFlow initializer.
            dtype: of the variable.
            attr: how it trains.
            trainable: False for what no optimizer changes, as running means.
        """
        super().__init__(shape, initializer, dtype, attr)
        self.trainable = trainable and self.attr.trainable
        self._variable: tf.Variable | None = None

    @property
    def built(self) -> bool:
        """Whether the variable exists."""
        return self._variable is not None

    @property
    def variable(self) -> tf.Variable:
        """The variable. A parameter that no built model holds is created here, under a name of its own."""
        if self._variable is None:
            build_loose(self, "parameter")
        assert self._variable is not None
        return self._variable

    def build(self, name: str) -> None:
        """Create the variable as `name` in the current variable scope, such as `linear_0.weight`; once."""
        if self._variable is not None:
            return
        if tf.executing_eagerly():
            start = self.initializer(self.declared_shape, self.declared_dtype)
            self._variable = tf.Variable(start, name=name.replace(".", "/"))
            of_variables[id(self._variable)] = self
            return
        self._variable = v1.get_variable(
            name.replace(".", "/"),
            self.declared_shape,
            self.declared_dtype,
            initializer=self.initializer,
            trainable=self.trainable,
        )

    def tensor(self) -> tf.Tensor:
        """Return the values."""
        return self.variable.value()

    def _put(self, values: tf.Tensor) -> None:
        self.variable.assign(values)


__all__ = ["ParamAttr", "Parameter"]
