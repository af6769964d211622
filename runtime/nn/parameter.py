"""Parameters of layers: described when a layer is made, created as variables once their place in the model is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1


@dataclass(frozen=True)
class ParamAttr:
    """How a parameter starts and trains: the arguments of Paddle's `ParamAttr`.

    Args:
        name: not used, since a parameter is called by its place in the model.
        initializer: an initializer of `runtime.nn.initializer` or of TensorFlow; None: the layer's own.
        learning_rate: factor for the learning rate of the optimizer.
        regularizer: an object of `runtime.nn.regularizer`; it comes before the optimizer's weight decay.
        trainable: False keeps the values.
        do_model_average: has no effect.
        need_clip: False keeps the gradient out of the clipping.
    """

    name: str | None = None
    initializer: Any = None
    learning_rate: float = 1.0
    regularizer: Any = None
    trainable: bool = True
    do_model_average: bool = True
    need_clip: bool = True


class Parameter:
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
        self.attr = attr or ParamAttr()
        self.declared_shape = tuple(int(size) for size in shape)
        self.declared_dtype = tf.as_dtype(dtype)
        self.initializer = initializer
        self.trainable = trainable and self.attr.trainable
        self.path = ""
        self._variable: tf.Variable | None = None

    @property
    def built(self) -> bool:
        """Whether the variable exists."""
        return self._variable is not None

    @property
    def variable(self) -> tf.Variable:
        """The variable. A parameter that no layer of the model holds is created here, under a name of its own."""
        if self._variable is None:
            self.build(v1.get_default_graph().unique_name("parameter", mark_as_used=True))
        assert self._variable is not None
        return self._variable

    def build(self, path: str) -> None:
        """Create the variable at `path` in the current variable scope, such as `linear_0.weight`; once."""
        if self._variable is not None:
            return
        self.path = self.path or path
        self._variable = v1.get_variable(
            path.replace(".", "/"),
            self.declared_shape,
            self.declared_dtype,
            initializer=self.initializer,
            trainable=self.trainable,
        )

    @property
    def shape(self) -> tf.TensorShape:
        """The shape, known before the variable exists."""
        return tf.TensorShape(self.declared_shape)

    @property
    def dtype(self) -> tf.DType:
        """The dtype of the elements."""
        return self.declared_dtype

    def __getitem__(self, index: Any) -> tf.Tensor:
        """Return a part of the values."""
        return self.variable[index]


def _as_tensor(value: Parameter, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    del as_ref
    return tf.convert_to_tensor(value.variable, dtype, name=name)


def _operator(name: str) -> Callable[..., Any]:
    def method(self: Parameter, *others: Any) -> Any:
        return getattr(tf.convert_to_tensor(self), name)(*others)

    method.__name__ = name
    return method


_OPERATORS = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "matmul", "rmatmul")
for _name in (*_OPERATORS, "neg", "abs"):
    setattr(Parameter, f"__{_name}__", _operator(f"__{_name}__"))
tf.register_tensor_conversion_function(Parameter, _as_tensor)
