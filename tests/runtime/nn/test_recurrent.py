"""Recurrent layers beside Paddle's: outputs, states, gradients, sequences of uneven length."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn
from tests.support.paddle.layers import compare_each
from tests.support.paddle.twins import weights_of

v1 = tf.compat.v1
pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(3, 4, 2)).astype(np.float32)
TIME_MAJOR = RANDOM.normal(size=(4, 3, 2)).astype(np.float32)
STEP = RANDOM.normal(size=(3, 2)).astype(np.float32)
LENGTHS = np.array([2, 4, 0], np.int64)
NETWORKS = ("SimpleRNN", "LSTM", "GRU")


def layer(kind: str, *arguments: Any, **named: Any) -> Any:
    return lambda of: getattr(of, kind)(*arguments, **named)


class Given:
    """A layer that is called with further arguments: lengths, or states."""

    def __init__(self, make: Any, **arguments: Any) -> None:
        self.make, self.arguments = make, arguments

    def __call__(self, of: Any) -> Any:
        make, named = self.make, self.arguments

        class Model(of.Layer):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.inner = make(of)

            def forward(self, x: Any) -> Any:
                return self.inner(x, **{key: tensors(of, value) for key, value in named.items()})

        return Model()


def tensors(of: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(tensors(of, one) for one in value)
    return paddle.to_tensor(value) if of is paddle.nn else tf.constant(value)


def state(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


def test_cells() -> None:
    cases = [layer(f"{kind}Cell", 2, 3) for kind in NETWORKS]
    cases += [layer("SimpleRNNCell", 2, 3, "relu"), layer("GRUCell", 2, 3, bias_ih_attr=False)]
    cases += [layer("LSTMCell", 2, 3, weight_hh_attr=False, bias_hh_attr=False)]
    cases += [Given(layer("GRUCell", 2, 3), states=state(3, 3))]
    cases += [Given(layer("LSTMCell", 2, 3), states=(state(3, 3), state(3, 3)))]
    compare_each([(case, 0) for case in cases], STEP)


def test_networks() -> None:
    states = state(2, 3, 3), state(2, 3, 3)
    cases: list[tuple[Any, int]] = [
        (layer("SimpleRNN", 2, 3, activation="relu"), 0),
        (Given(layer("GRU", 2, 3, 1, "bidirectional", True), sequence_length=LENGTHS.astype(np.int32)), 1),
        (Given(layer("GRU", 2, 3, 2, "bidirect"), initial_states=state(4, 3, 3)), 0),
        (Given(layer("LSTM", 2, 3, 2), initial_states=states, sequence_length=LENGTHS), 0),
    ]
    compare_each(cases, X, TIME_MAJOR)


def cell_of_a_model(of: Any) -> Any:
    """A cell that keeps the sum of what it saw and returns two outputs."""

    class Sums(of.RNNCellBase):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = of.Linear(2, 3)
            self.input_size = 2

        @property
        def state_shape(self) -> Any:
            return (3,)

        def forward(self, inputs: Any, states: Any, factor: float = 1.0) -> Any:
            new = states + self.linear(inputs) * factor
            return (new * new, inputs), new

    return Sums()


@pytest.mark.soak
def test_cells_over_time() -> None:
    """Behind the end of a sequence the states stay, and the outputs are what the cell makes of them."""
    cases: list[Any] = [lambda of: of.RNN(of.GRUCell(2, 3)), lambda of: of.RNN(of.LSTMCell(2, 3), is_reverse=True)]
    cases += [lambda of: of.BiRNN(of.GRUCell(2, 3), of.GRUCell(2, 3)), lambda of: of.RNN(of.SimpleRNNCell(2, 3))]
    cases += [lambda of: of.BiRNN(of.LSTMCell(2, 3), of.LSTMCell(2, 3)), lambda of: of.RNN(cell_of_a_model(of))]
    uneven = [(Given(case, sequence_length=LENGTHS), 0) for case in cases]
    some = [(Given(cases[0], initial_states=state(3, 3)), 0), (Given(cases[-1], factor=np.float32(2.0)), 0)]
    some += [(lambda of: of.BiRNN(of.GRUCell(2, 3), of.GRUCell(2, 3), time_major=True), 1)]
    compare_each([*uneven, *some], X, TIME_MAJOR)


@pytest.mark.soak
def test_lengths_of_batches_that_the_graph_does_not_know() -> None:
    """Time and batch are known at run time only; the states that a training begins with are placeholders."""
    theirs = paddle.nn.LSTM(2, 3, 2, "bidirect")
    with tf.Graph().as_default(), v1.Session() as session:
        ours = nn.LSTM(2, 3, 2, "bidirect")
        ours.build("m")
        x = v1.placeholder(tf.float32, [None, None, 2])
        lengths = v1.placeholder(tf.int64, [None])
        outputs, states = ours(x, sequence_length=lengths)
        ours.eval()
        evaluated = ours(x, sequence_length=lengths)[0]
        assert outputs.shape.as_list() == [None, None, 6]
        assert states[0].shape.as_list() == [4, None, 3]
        gradient = tf.gradients(outputs, x)[0]
        session.run(v1.global_variables_initializer())
        nn.load_weights(ours, weights_of(theirs), session)
        for batch, time in ((3, 4), (2, 1), (1, 7)):
            values, ends = state(batch, time, 2), RANDOM.integers(0, time + 1, batch)
            found = session.run([outputs, states, gradient, evaluated], {x: values, lengths: ends})
            given = paddle.to_tensor(values, stop_gradient=False)
            expected, last = theirs(given, sequence_length=paddle.to_tensor(ends))
            expected.sum().backward()
            np.testing.assert_allclose(found[0], expected.numpy(), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(found[1], [one.numpy() for one in last], rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(found[3], found[0])
            np.testing.assert_allclose(found[2], given.grad.numpy(), rtol=1e-4, atol=1e-5)
