"""Cells: one step of a recurrent network, with weights in Paddle's layout and order of gates."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from runtime.nn.functional.windows import size
from runtime.nn.initializer import Constant, Uniform
from runtime.nn.layer import Layer


class RNNCellBase(Layer):
    """Base class of cells: `forward(inputs, states)` returns outputs and new states; `state_shape` says their sizes."""

    def get_initial_states(
        self,
        batch_ref: Any,
        shape: Any = None,
        dtype: Any = None,
        init_value: float = 0.0,
        batch_dim_idx: int = 0,
    ) -> Any:
        """Return states in which all elements are equal.

        Args:
            batch_ref: a tensor, or several in any structure, whose first has the size of the batch.
            shape: sizes of a state without the batch, or several in any structure; None: `state_shape`.
            dtype: of the states; None: that of the batch where it is a float, else float32.
            init_value: the elements.
            batch_dim_idx: which dimension of `batch_ref` is the batch.
        """
        first = tf.convert_to_tensor(tf.nest.flatten(batch_ref)[0])
        own = first.dtype if first.dtype.is_floating else tf.float32
        return _filled(
            self.state_shape if shape is None else shape,
            size(first, batch_dim_idx),
            tf.constant(init_value, tf.as_dtype(dtype or own)),
        )

    @property
    def state_shape(self) -> Any:
        """Sizes of the states without the batch: a tuple of sizes, or several in any structure."""
        raise NotImplementedError(f"{type(self).__name__} defines no state_shape: say how large its states are")


def _filled(shape: Any, batch: Any, value: tf.Tensor) -> Any:
    if all(isinstance(one, int) for one in shape):
        sizes = shape[1:] if len(shape) and shape[0] == -1 else shape
        return tf.fill([batch, *sizes], value)
    return type(shape)(_filled(one, batch, value) for one in shape)


class _Cell(RNNCellBase):
    """Weights of `gates` linear functions of the input and of the hidden state, each of `hidden_size` outputs."""

    gates: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        """Describe the weights.

        Args:
            input_size: size of inputs.
            hidden_size: size of outputs and states.
            weight_ih_attr: how the weight of inputs begins and trains, by default uniform in ±1 / sqrt(hidden_size).
            weight_hh_attr: the same of the weight of states.
            bias_ih_attr: the same of a bias.
            bias_hh_attr: the same of the other bias.
            name: has no effect.

        Raises:
            ValueError: the size of the states is not positive.
        """
        super().__init__()
        if hidden_size <= 0:
            raise ValueError(f"{type(self).__name__} got hidden_size={hidden_size}: give a number from 1")
        self.input_size, self.hidden_size = input_size, hidden_size
        rows = self.gates * hidden_size
        self.weight_ih = self._weight([rows, input_size], weight_ih_attr, 1.0)
        self.weight_hh = self._weight([rows, hidden_size], weight_hh_attr, 1.0)
        self.bias_ih = self._weight([rows], bias_ih_attr, 0.0, True)
        self.bias_hh = self._weight([rows], bias_hh_attr, 0.0, True)

    def _weight(self, shape: list[int], attr: Any, without: float, is_bias: bool = False) -> Any:
        """Describe a weight; one that is left out is there, as in Paddle, with a value that nothing changes."""
        std = 1.0 / math.sqrt(self.hidden_size)
        if attr is not False:
            return self.create_parameter(shape, attr, None, is_bias, Uniform(-std, std))
        weight = self.create_parameter(shape, None, None, is_bias, Constant(without))
        weight.stop_gradient = True
        return weight

    @property
    def state_shape(self) -> Any:
        """The size of the hidden state."""
        return (self.hidden_size,)

    def forward(self, inputs: Any, states: Any = None) -> tuple[tf.Tensor, Any]:
        """Return the outputs and the new states of one step.

        Args:
            inputs: [batch, input_size].
            states: as the cell returns them, [batch, hidden_size]; None: zeros.
        """
        states = self.get_initial_states(inputs, self.state_shape) if states is None else states
        return self.advanced(self.projected(tf.convert_to_tensor(inputs)), states, self.of_hidden())

    def projected(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the part of the gates that depends on inputs [..., input_size]: it needs no state."""
        weight = tf.convert_to_tensor(self.weight_ih)
        product = tf.matmul(inputs, weight, transpose_b=True) if inputs.shape.rank == 2 else _last(inputs, weight)
        return product + tf.convert_to_tensor(self.bias_ih)

    def of_hidden(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return weight and bias of the hidden state as tensors, which a loop over time reads once."""
        return tf.convert_to_tensor(self.weight_hh), tf.convert_to_tensor(self.bias_hh)

    def advanced(self, projected: tf.Tensor, states: Any, of_hidden: Any) -> tuple[tf.Tensor, Any]:
        """Return outputs and new states from what `projected` and `of_hidden` returned."""
        raise NotImplementedError


def _last(inputs: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    return tf.tensordot(inputs, weight, [[inputs.shape.rank - 1], [1]])


class SimpleRNNCell(_Cell):
    """The step h = activation(weight_ih x + bias_ih + weight_hh h + bias_hh)."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        """Describe the weights, as the other cells, and choose an activation: "tanh" or "relu".

        Raises:
            ValueError: the size of the states is not positive, or the activation is another one.
        """
        super().__init__(input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self.choose(activation)

    def choose(self, activation: str) -> None:
        """Take an activation, or raise `ValueError`."""
        if activation not in ("tanh", "relu"):
            raise ValueError(f"SimpleRNNCell got activation={activation!r}: give tanh or relu")
        self.activation = activation

    def advanced(self, projected: tf.Tensor, states: Any, of_hidden: Any) -> tuple[tf.Tensor, Any]:
        """Return outputs and new states."""
        weight, bias = of_hidden
        total = projected + tf.matmul(states, weight, transpose_b=True) + bias
        hidden = tf.tanh(total) if self.activation == "tanh" else tf.nn.relu(total)
        return hidden, hidden


class LSTMCell(_Cell):
    """A step with input, forget, cell and output gates, in this order; states are (hidden, cell)."""

    gates = 4

    @property
    def state_shape(self) -> Any:
        """The sizes of the hidden state and of the cell."""
        return ((self.hidden_size,), (self.hidden_size,))

    def advanced(self, projected: tf.Tensor, states: Any, of_hidden: Any) -> tuple[tf.Tensor, Any]:
        """Return outputs and new states."""
        weight, bias = of_hidden
        hidden, cell = states
        gates = projected + tf.matmul(hidden, weight, transpose_b=True) + bias
        enters, stays, new, leaves = tf.split(gates, 4, -1)
        cell = tf.sigmoid(stays) * cell + tf.sigmoid(enters) * tf.tanh(new)
        hidden = tf.sigmoid(leaves) * tf.tanh(cell)
        return hidden, (hidden, cell)


class GRUCell(_Cell):
    """A step with reset, update and candidate gates, in this order; the reset is applied after the product."""

    gates = 3

    def advanced(self, projected: tf.Tensor, states: Any, of_hidden: Any) -> tuple[tf.Tensor, Any]:
        """Return outputs and new states."""
        weight, bias = of_hidden
        x_reset, x_update, x_new = tf.split(projected, 3, -1)
        h_reset, h_update, h_new = tf.split(tf.matmul(states, weight, transpose_b=True) + bias, 3, -1)
        update = tf.sigmoid(x_update + h_update)
        new = tf.tanh(x_new + tf.sigmoid(x_reset + h_reset) * h_new)
        hidden = (states - new) * update + new
        return hidden, hidden
