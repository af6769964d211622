"""`Linear` and `Identity`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional.matrix import with_bias
from runtime.nn.layer import Layer
from runtime.nn.one_hot import Input, product


class Linear(Layer):
    """`x @ weight + bias` along the last dimension of x, with `weight` [in_features, out_features].

    Placed side by side with others (`one_hot.side_by_side`), `weight` has only the rows of numbers; its other
    rows are columns of a table.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        """Describe weight and bias.

        Args:
            in_features: size of the last dimension of inputs.
            out_features: that of outputs.
            weight_attr: how the weight begins and trains; by default Glorot's uniform distribution.
            bias_attr: the same of the bias, by default zeros; False: there is none.
            name: kept.
        """
        super().__init__()
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.name = name

    def forward(self, input: Any) -> tf.Tensor:
        """Return outputs [..., out_features] of inputs [..., in_features] of any rank from 1, or of a `one_hot.Input`.

        Raises:
            ValueError: a layer that is placed side by side gets a tensor, or another one a `one_hot.Input`.
        """
        result = product(input, self.weight) if isinstance(input, Input) else self._of_rows(input)
        return result if self.bias is None else with_bias(result, self.bias.tensor())

    def _of_rows(self, input: Any) -> tf.Tensor:
        if getattr(self.weight, "columns", None) is not None:
            raise ValueError(
                f"the weight `{self.weight.path}` has columns of a table, and gets a tensor: give it a one_hot.Input"
            )
        x, weight = tf.convert_to_tensor(input), self.weight.tensor()
        return tf.matmul(x, weight) if x.shape.rank == 2 else tf.tensordot(x, weight, 1)


class Identity(Layer):
    """The input."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take any arguments; they have no effect."""
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input
