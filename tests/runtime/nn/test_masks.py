"""Dropout, with masks that are drawn and masks that are given."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn import masks

v1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("graph")


def test_a_fraction_is_dropped_anew_in_each_run() -> None:
    layer = nn.Dropout(0.25)
    out = layer(tf.fill([100, 100], 3.0))
    gradient = tf.gradients(out, out.op.inputs)
    assert gradient
    with v1.Session() as session:
        first, second = session.run(out), session.run(out)
    assert set(np.unique(first).tolist()) == {0, 4} and abs((first == 0).mean() - 0.25) < 0.02
    assert (first != second).any()


def test_along_other_dimensions_masks_are_shared() -> None:
    x = v1.placeholder(tf.float32, [None, 3, 20])
    outs = [masks.dropout(x, axis=2), masks.dropout(x, axis=[0, 1]), nn.Dropout2D()(x[:, :, tf.newaxis])]
    with v1.Session() as session:
        found = session.run(outs, {x: np.ones([50, 3, 20])})
    assert [out.shape for out in found] == [(50, 3, 20), (50, 3, 20), (50, 3, 1, 20)]
    assert (found[0] == found[0][:1, :1]).all() and 0 < found[0].mean() < 2
    for out in (found[1], found[2][:, :, 0]):
        assert (out == out[:, :, :1]).all() and 0 < out.mean() < 2


def test_masks_can_be_given() -> None:
    asked: list[float] = []

    def alternating(shape: tf.Tensor, p: float) -> tf.Tensor:
        asked.append(p)
        return tf.reshape(tf.range(tf.reduce_prod(shape)) % 2 > 0, shape)

    x = tf.constant([[1.0, 2, 3, 4]])
    with masks.drawn_by(alternating):
        outs = [nn.Dropout(0.2)(x), nn.Dropout(0.5, mode="downscale_in_infer")(x), nn.Dropout(0.0)(x), nn.Dropout(1)(x)]
    gradient = tf.gradients(outs[0], x)[0]
    with v1.Session() as session:
        found, slope = session.run([outs, gradient])
    np.testing.assert_allclose(np.concatenate(found), [[0, 2.5, 0, 5], [0, 2, 0, 4], [1, 2, 3, 4], [0, 0, 0, 0]])
    np.testing.assert_allclose(slope, [[0, 1.25, 0, 1.25]])
    assert asked == [0.2, 0.5]
