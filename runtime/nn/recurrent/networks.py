"""Recurrent networks of several layers and directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from runtime.nn.containers import LayerList
from runtime.nn.masks import dropout
from runtime.nn.recurrent.cells import GRUCell, LSTMCell, SimpleRNNCell
from runtime.nn.recurrent.over_time import RNN, BiRNN

_DIRECTIONS = {"forward": 1, "bidirectional": 2, "bidirect": 2}


class _Network(LayerList):
    """Layers of cells, whose weights it holds under names such as `weight_hh_l1_reverse`, too."""

    cell: type
    #: How many tensors the state of a cell is.
    components = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        """Describe the cells.

        Args:
            input_size: size of inputs.
            hidden_size: size of states.
            num_layers: how many layers there are.
            direction: "forward", or "bidirect", also spelled "bidirectional".
            time_major: whether inputs and outputs have time as their first dimension.
            dropout: probability that an element between layers is dropped while training.
            weight_ih_attr: how the weights of inputs begin and train, as of the cell.
            weight_hh_attr: the same of the weights of states.
            bias_ih_attr: the same of a bias.
            bias_hh_attr: the same of the other bias.
            name: has no effect.

        Raises:
            ValueError: an argument is out of its range.
        """
        super().__init__()
        if direction not in _DIRECTIONS:
            raise ValueError(f"{type(self).__name__} got direction={direction!r}: give forward or bidirect")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.time_major, self.dropout, self.num_directions = time_major, dropout, _DIRECTIONS[direction]
        attributes = {
            "weight_ih_attr": weight_ih_attr,
            "weight_hh_attr": weight_hh_attr,
            "bias_ih_attr": bias_ih_attr,
            "bias_hh_attr": bias_hh_attr,
        }
        for layer in range(num_layers):
            size = hidden_size * self.num_directions if layer else input_size
            cells = [self.cell(size, hidden_size, **attributes) for _ in range(self.num_directions)]
            single = len(cells) == 1
            self.append(RNN(cells[0], False, time_major) if single else BiRNN(cells[0], cells[1], time_major))
        kinds = ["weight_ih", "weight_hh"]
        kinds += [kind for kind, attr in (("bias_ih", bias_ih_attr), ("bias_hh", bias_hh_attr)) if attr is not False]
        # As in Paddle, names are given by number: those of biases belong to others where a bias is left out.
        for name, weight in zip(self._names(kinds), self.parameters(), strict=False):
            setattr(self, name, weight)

    def _names(self, kinds: list[str]) -> Iterator[str]:
        for layer in range(self.num_layers):
            for suffix in ("", "_reverse")[: self.num_directions]:
                yield from (f"{kind}_l{layer}{suffix}" for kind in kinds)

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None) -> tuple[Any, Any]:
        """Return the outputs of the last layer, and the states of all layers after the last step.

        Args:
            inputs: [batch, time, input_size], or [time, batch, input_size] with `time_major`.
            initial_states: [layers * directions, batch, hidden_size], the directions of one layer beside each other;
                of an LSTM a pair of such tensors, hidden and cell. None: zeros.
            sequence_length: [batch], how many steps of each sequence count: behind them states stay, and outputs are
                zero. None: all.

        Returns:
            Outputs [batch, time, directions * hidden_size], time first with `time_major`; and states as
            `initial_states`.
        """
        x = tf.convert_to_tensor(inputs)
        per_cell = self._per_cell(initial_states)
        mask = None if sequence_length is None else _counting(x, sequence_length, self.time_major)
        ends: list[Any] = []
        for number, layer in enumerate(self):
            if number:
                x = dropout(x, self.dropout, training=self.training)
            first = number * self.num_directions
            states = per_cell[first : first + self.num_directions] if per_cell else None
            x, end = layer(x, states[0] if states and self.num_directions == 1 else states, sequence_length)
            x = x if mask is None else tf.where(mask, x, tf.zeros([], x.dtype))
            ends += [end] if self.num_directions == 1 else end
        if self.components == 1:
            return x, tf.stack(ends)
        return x, tuple(tf.stack(one) for one in zip(*ends, strict=True))

    def _per_cell(self, states: Any) -> list[Any]:
        """Return the state of each cell; nothing where none is given."""
        if states is None:
            return []
        tensors = list(states) if isinstance(states, list | tuple) else [states]
        if len(tensors) != self.components:
            raise ValueError(
                f"{type(self).__name__} got {len(tensors)} tensors of initial states: give {self.components}"
            )
        parts = [tf.unstack(tf.convert_to_tensor(one), self.num_layers * self.num_directions) for one in tensors]
        return parts[0] if self.components == 1 else list(zip(*parts, strict=True))


def _counting(x: tf.Tensor, lengths: Any, time_major: bool) -> tf.Tensor:
    """Return [batch, time, 1], or time first: whether a step of a sequence counts."""
    lengths = tf.convert_to_tensor(lengths)
    steps = tf.range(tf.cast(tf.shape(x)[0 if time_major else 1], lengths.dtype))
    mask = steps[:, None] < lengths if time_major else steps < lengths[:, None]
    return mask[..., None]


class SimpleRNN(_Network):
    """Layers of `SimpleRNNCell`."""

    cell = SimpleRNNCell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        """Describe the cells, as of the other networks, with an activation: "tanh" or "relu".

        Raises:
            ValueError: an argument is out of its range.
        """
        attributes = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(input_size, hidden_size, num_layers, direction, time_major, dropout, *attributes)
        self.activation = activation
        for layer in self.sublayers():
            if isinstance(layer, SimpleRNNCell):
                layer.choose(activation)


class LSTM(_Network):
    """Layers of `LSTMCell`."""

    cell = LSTMCell
    components = 2


class GRU(_Network):
    """Layers of `GRUCell`."""

    cell = GRUCell
