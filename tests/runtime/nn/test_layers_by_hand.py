"""Convolutions, poolings, normalizations, recurrent layers and attention without Paddle, on each TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime import nn

v1 = tf.compat.v1
RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(3, 4, 6)).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def by_hand_gru(x: Any, weights: dict[str, Any], lengths: Any) -> Any:
    """[batch, time, hidden], zero behind the ends of sequences."""
    hidden = np.zeros([len(x), 5])
    outs = np.zeros([len(x), x.shape[1], 5])
    for time in range(x.shape[1]):
        of_x = x[:, time] @ weights["weight_ih"].T + weights["bias_ih"]
        of_hidden = hidden @ weights["weight_hh"].T + weights["bias_hh"]
        reset, update = (sigmoid(of_x[:, at : at + 5] + of_hidden[:, at : at + 5]) for at in (0, 5))
        candidate = np.tanh(of_x[:, 10:] + reset * of_hidden[:, 10:])
        counts = (time < lengths)[:, None]
        hidden = np.where(counts, update * hidden + (1 - update) * candidate, hidden)
        outs[:, time] = np.where(counts, hidden, 0)
    return outs


def by_hand_convolution(x: Any, weight: Any, bias: Any) -> Any:
    """Of [batch, in, length] with one zero on each side."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    windows = np.stack([padded[:, :, at : at + 3] for at in range(x.shape[2])], 2)
    return np.einsum("nclk,ock->nol", windows, weight) + bias[:, None]


def test_values_and_that_all_weights_have_gradients() -> None:
    lengths = np.array([4, 2, 0])
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4, 6])
        layers = {
            "gru": nn.GRU(6, 5),
            "lstm": nn.LSTM(6, 5, time_major=True),
            "convolution": nn.Conv1D(4, 2, 3, padding=1),
            "dilated": nn.Conv1D(4, 4, 2, 2, 1, 2, 2),
            "normal": nn.BatchNorm1D(4),
            "layer": nn.LayerNorm([4, 6]),
            "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0), 1),
        }
        for name, layer in layers.items():
            layer.build(name)
        outs: dict[str, Any] = {name: layer(x) for name, layer in layers.items() if name not in ("gru", "lstm")}
        outs["gru"] = layers["gru"](x, sequence_length=lengths)[0]
        outs["lstm"] = layers["lstm"](x)[0]
        outs["largest"] = nn.MaxPool1D(2)(x)
        outs["parts"] = nn.AdaptiveAvgPool1D(4)(x)
        variables = [one.variable for layer in layers.values() for one in layer.parameters() if one.trainable]
        gradients = tf.gradients([tf.square(one) for one in outs.values() if one.dtype.is_floating], [x, *variables])
        assert None not in gradients
        session.run(v1.global_variables_initializer())
        found, gradients, updates = session.run([outs, gradients, v1.get_collection(v1.GraphKeys.UPDATE_OPS)], {x: X})
        assert len(updates) == 2
        gru = {key.removesuffix("_l0"): one for key, one in nn.read_weights(layers["gru"], session).items()}
        of_convolution = nn.read_weights(layers["convolution"], session)
        running = nn.read_weights(layers["normal"], session)
    np.testing.assert_allclose(found["gru"], by_hand_gru(X, gru, lengths), rtol=1e-4, atol=1e-5)
    expected = by_hand_convolution(X, of_convolution["weight"], of_convolution["bias"])
    np.testing.assert_allclose(found["convolution"], expected, rtol=1e-4, atol=1e-5)
    assert found["lstm"].shape == (3, 4, 5)
    assert found["dilated"].shape == (3, 4, 3)
    mean, variance = X.mean((0, 2)), X.var((0, 2))
    expected = (X - mean[:, None]) / np.sqrt(variance + 1e-5)[:, None]
    np.testing.assert_allclose(found["normal"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(running["_mean"], mean / 10, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(running["_variance"], 0.9 + variance / 10, rtol=1e-5)
    np.testing.assert_allclose(found["layer"].mean((1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(found["encoder"].std(-1), 1, rtol=1e-3)
    np.testing.assert_array_equal(found["largest"], X.reshape(3, 4, 3, 2).max(-1))
    parts = np.stack([X[:, :, start:end].mean(-1) for start, end in ((0, 2), (1, 3), (3, 5), (4, 6))], -1)
    np.testing.assert_allclose(found["parts"], parts, rtol=1e-5, atol=1e-6)
    assert all(np.abs(np.asarray(one)).sum() > 0 for one in gradients)


def test_softmax_of_one_element_is_exact_and_trains_nothing() -> None:
    """Adam makes full steps of whatever is not 0: `tf.nn.softmax` gives 1 - 6e-8, and a gradient."""
    masked = np.full((64, 20), -(2.0**32) + 1, np.float32)
    masked[:, 3] = 0.3
    for x, axis in ((masked, -1), (masked.T, 0), (masked[:, 3:4], 1)):
        with tf.Graph().as_default(), v1.Session() as session:
            given = tf.constant(x)
            shares = nn.functional.softmax(given, axis)
            upstream = RANDOM.normal(size=x.shape).astype(np.float32)
            value, gradient = session.run([shares, tf.gradients(shares, given, upstream)[0]])
        assert np.array_equal(value, (x == np.float32(0.3)).astype(np.float32))
        assert not gradient.any()


def test_softmax_has_a_second_gradient() -> None:
    x = tf.constant(X[0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            total = tf.reduce_sum(nn.functional.softmax(x) ** 2)
        first = inner.gradient(total, x)
    with tf.GradientTape() as stock_outer:
        stock_outer.watch(x)
        with tf.GradientTape() as stock_inner:
            stock_inner.watch(x)
            stock_total = tf.reduce_sum(tf.nn.softmax(x) ** 2)
        stock = stock_inner.gradient(stock_total, x)
    assert np.allclose(first, stock, atol=1e-6)
    assert np.allclose(outer.gradient(first, x), stock_outer.gradient(stock, x), atol=1e-6)


def test_the_gradient_of_a_bias_is_summed_as_exactly_as_float32_allows() -> None:
    """The terms cancel: of `+`, TensorFlow sums them one after the other, and is off by 1e-4 and more."""
    terms = RANDOM.normal(size=(2000, 4, 8)).astype(np.float32)
    terms[:, -1] = -terms[:, :-1].sum(1)
    with tf.Graph().as_default(), v1.Session() as session:
        layer = nn.Linear(2, 8)
        layer.build("model")
        out = layer(tf.zeros([2000, 4, 2]))
        gradient = tf.gradients(out, layer.bias.variable, terms)[0]
        found = session.run(gradient)
    assert np.abs(found - terms.astype(np.float64).sum((0, 1))).max() < 3e-5
