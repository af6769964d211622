"""Runs a cell over the steps of sequences, forwards, backwards, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.nn.functional.windows import size
from runtime.nn.layer import Layer
from runtime.nn.recurrent.cells import _Cell

#: From the inputs of a step and states to outputs and new states.
_Step = Callable[[Any, Any], tuple[Any, Any]]


def run_cell(
    cell: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Return the outputs of all steps, and the states after the last.

    Args:
        cell: a layer: (inputs of a step, states) -> (outputs, new states).
        inputs: [batch, time, ...], or several in any structure; there is at least one step.
        initial_states: as the cell takes them; None: those that the cell gives.
        sequence_length: [batch], how many steps of each sequence count: behind them states stay. None: all.
        time_major: whether inputs and outputs are [time, batch, ...].
        is_reverse: whether the last step comes first.
        kwargs: further arguments of the cell.
    """
    inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
    if initial_states is None:
        initial_states = cell.get_initial_states(batch_ref=inputs, batch_dim_idx=1 if time_major else 0)
    if not time_major:
        inputs = tf.nest.map_structure(_exchanged, inputs)
    steps = size(tf.nest.flatten(inputs)[0], 0)
    mask = None if sequence_length is None else _mask(sequence_length, steps)
    if is_reverse:
        inputs = tf.nest.map_structure(_reversed, inputs)
        mask = None if mask is None else _reversed(mask)
    step, inputs = _step(cell, inputs, kwargs)
    outputs, states = _loop(step, inputs, initial_states, steps, mask)
    if is_reverse:
        outputs = tf.nest.map_structure(_reversed, outputs)
    return (outputs if time_major else tf.nest.map_structure(_exchanged, outputs)), states


def _step(cell: Any, inputs: Any, kwargs: Any) -> tuple[_Step, Any]:
    """Return what is called in each step; what a cell of ours computes without its state is computed before."""
    if type(cell).forward is _Cell.forward and not kwargs:
        of_hidden = cell.of_hidden()
        return (lambda projected, states: cell.advanced(projected, states, of_hidden)), cell.projected(inputs)
    return (lambda x, states: cell(x, states, **kwargs)), inputs


def _loop(step: _Step, inputs: Any, states: Any, steps: Any, mask: tf.Tensor | None) -> tuple[Any, Any]:
    """Call the step for each time. The first is outside of the loop: it shows what outputs and states are like."""

    def called(time: Any, states: Any) -> tuple[Any, Any]:
        outputs, new = step(tf.nest.map_structure(lambda tensor: tensor[time], inputs), states)
        if mask is not None:
            new = tf.nest.map_structure(lambda old, tensor: _where(mask[time], tensor, old), states, new)
        return outputs, new

    outputs, states = called(0, tf.nest.map_structure(tf.convert_to_tensor, states))
    flat, flat_states = tf.nest.flatten(outputs), tf.nest.flatten(states)
    arrays = [tf.TensorArray(one.dtype, steps, element_shape=one.shape).write(0, one) for one in flat]

    def body(time: tf.Tensor, arrays: list[Any], before: list[tf.Tensor]) -> Any:
        output, new = called(time, tf.nest.pack_sequence_as(states, before))
        written = [array.write(time, one) for array, one in zip(arrays, tf.nest.flatten(output), strict=True)]
        return time + 1, written, tf.nest.flatten(new)

    shapes = [one.shape for one in flat_states]
    _, arrays, flat_states = tf.while_loop(
        lambda time, *_: time < steps,
        body,
        [tf.constant(1), arrays, flat_states],
        shape_invariants=[tf.TensorShape([]), [tf.TensorShape(None) for _ in arrays], shapes],
    )
    known = steps if isinstance(steps, int) else None
    stacked = [tf.ensure_shape(array.stack(), [known, *one.shape]) for array, one in zip(arrays, flat, strict=True)]
    return tf.nest.pack_sequence_as(outputs, stacked), tf.nest.pack_sequence_as(states, flat_states)


def _mask(lengths: Any, steps: Any) -> tf.Tensor:
    """Return [time, batch]: whether a step of a sequence counts."""
    lengths = tf.convert_to_tensor(lengths)
    return tf.range(tf.cast(steps, lengths.dtype))[:, None] < lengths


def _where(mask: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    while mask.shape.rank < new.shape.rank:
        mask = mask[..., None]
    return tf.where(mask, new, old)


def _exchanged(x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(x, [1, 0, *range(2, x.shape.rank)])


def _reversed(x: tf.Tensor) -> tf.Tensor:
    return tf.reverse(x, [0])


class RNN(Layer):
    """Runs any cell over the steps of sequences."""

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        """Keep the cell.

        Args:
            cell: a layer: (inputs of a step, states) -> (outputs, new states), with `get_initial_states`.
            is_reverse: whether the last step comes first.
            time_major: whether inputs and outputs are [time, batch, ...], instead of [batch, time, ...].
        """
        super().__init__()
        self.cell, self.is_reverse, self.time_major = cell, is_reverse, time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps, and the states after the last.

        Args:
            inputs: [batch, time, ...], or several in any structure.
            initial_states: as the cell takes them; None: those that the cell gives.
            sequence_length: [batch], how many steps of each sequence count: behind them states stay, and outputs are
                what the cell makes of them. None: all.
            kwargs: further arguments of the cell.
        """
        return run_cell(self.cell, inputs, initial_states, sequence_length, self.time_major, self.is_reverse, **kwargs)


class BiRNN(Layer):
    """Runs one cell forwards and one backwards, and puts their outputs beside each other."""

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        """Keep the cells.

        Args:
            cell_fw: the one that runs forwards, as of `RNN`.
            cell_bw: the one that runs backwards.
            time_major: whether inputs and outputs are [time, batch, ...], instead of [batch, time, ...].

        Raises:
            ValueError: the two take inputs of different sizes.
        """
        super().__init__()
        if cell_fw.input_size != cell_bw.input_size:
            raise ValueError(
                f"the cells of a BiRNN take inputs of the sizes {cell_fw.input_size} and {cell_bw.input_size}: "
                "give cells with one size"
            )
        self.cell_fw, self.cell_bw, self.time_major = cell_fw, cell_bw, time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps, and the pair of states; arguments as of `RNN`, with pairs of states.

        Raises:
            ValueError: the states are not a pair.
        """
        if initial_states is not None and len(initial_states) != 2:
            raise ValueError(f"a BiRNN got {len(initial_states)} initial states: give those of its two cells")
        forwards, backwards = (None, None) if initial_states is None else initial_states
        outputs, states = run_cell(self.cell_fw, inputs, forwards, sequence_length, self.time_major, False, **kwargs)
        others, ends = run_cell(self.cell_bw, inputs, backwards, sequence_length, self.time_major, True, **kwargs)
        return tf.nest.map_structure(lambda *pair: tf.concat(pair, -1), outputs, others), (states, ends)
