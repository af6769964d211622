"""Convolutions beside Paddle's: values, shapes, gradients of inputs and weights."""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn
from tests.support.paddle.layers import calling, compare_each
from tests.support.paddle.twins import compare

pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(5)
SEQUENCES = RANDOM.normal(size=(2, 4, 9)).astype(np.float32)
CHANNEL_LAST = RANDOM.normal(size=(2, 9, 4)).astype(np.float32)
IMAGES = RANDOM.normal(size=(2, 4, 8, 7)).astype(np.float32)
IMAGES_LAST = RANDOM.normal(size=(2, 8, 7, 4)).astype(np.float32)


def layer(kind: str, *arguments: Any, **named: Any) -> Any:
    return lambda of: getattr(of, kind)(*arguments, **named)


def test_sequences() -> None:
    paddings = ("same", "VALID", 0, 1, [2], (1, 2), [[0, 0], [0, 0], [2, 0]])
    cases = [layer("Conv1D", 4, 6, 3, 2, padding) for padding in paddings]
    cases += [layer("Conv1D", 4, 2, kernel, stride, "same") for kernel, stride in product((1, 2, 4), (1, 3))]
    cases += [layer("Conv1D", 4, 2, 3, stride, padding, 2) for stride, padding in product((1, 2), (0, "same", [1, 3]))]
    cases += [layer("Conv1D", 4, 6, 2, groups=2), layer("Conv1D", 4, 8, [2], [2], 1, [2], 4, bias_attr=False)]
    cases += [layer("Conv1D", 4, 2, 3, 1, 2, padding_mode=mode) for mode in ("reflect", "replicate", "circular")]
    compare_each([(case, 0) for case in cases], SEQUENCES)


def test_channels_last() -> None:
    cases = [(layer("Conv1D", 4, 6, 3, 2, padding, data_format="NLC"), 0) for padding in ("same", 1, [1, 2])]
    cases += [(layer("Conv1D", 4, 6, 3, padding=1, padding_mode="circular", data_format="NLC"), 0)]
    cases += [(layer("Conv2D", 4, 6, 3, 2, padding, 1, 2, data_format="NHWC"), 1) for padding in ("same", 1)]
    cases += [(layer("Conv2D", 4, 6, 3, 2, [[0, 0], [1, 0], [0, 2], [0, 0]], data_format="NHWC"), 1)]
    compare_each(cases, CHANNEL_LAST, IMAGES_LAST)


def test_sizes_that_the_graph_does_not_know() -> None:
    weight, x = RANDOM.normal(size=(2, 4, 3, 2)).astype(np.float32), tf.compat.v1.placeholder
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        images = x(tf.float32, [None, 4, None, None])
        out = nn.functional.conv2d(images, weight, stride=2, padding="same")
        assert out.shape.as_list() == [None, 2, None, None]
        found = session.run(out, {images: IMAGES})
    expected = paddle.nn.functional.conv2d(paddle.to_tensor(IMAGES), paddle.to_tensor(weight), stride=2, padding="same")
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-5)


def test_functions() -> None:
    def call(of: Any, x: Any, weight: Any, bias: Any) -> Any:
        return of.functional.conv1d(x, weight, bias, 2, "same"), of.functional.conv1d(x, weight)

    weight, bias = RANDOM.normal(size=(3, 4, 2)).astype(np.float32), np.ones(3, np.float32)
    compare(lambda of: calling(of, call), SEQUENCES, weight, bias, unknown=False)
    for name in ("conv1d", "conv2d"):
        theirs, ours = (inspect.signature(getattr(of.functional, name)) for of in (paddle.nn, nn))
        assert [(key, one.default) for key, one in ours.parameters.items()] == [
            (key, one.default) for key, one in theirs.parameters.items()
        ]


def test_weights_begin_as_paddles() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        ours = nn.Conv2D(8, 16, 3, groups=2)
        ours.build("m")
        session.run(tf.compat.v1.global_variables_initializer())
        weight, bias = session.run([ours.weight.variable, ours.bias.variable])
    theirs = paddle.nn.Conv2D(8, 16, 3, groups=2)
    assert not bias.any()
    assert weight.std() == pytest.approx(theirs.weight.numpy().std(), rel=0.15)
    assert weight.std() == pytest.approx((2 / (8 * 9)) ** 0.5, rel=0.1)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: nn.Conv1D(4, 6, 3, padding_mode="mirror"), "padding_mode='mirror'"),
        (lambda: nn.Conv1D(4, 6, 3, groups=3), "divisible"),
        (lambda: nn.Conv1D(4, 6, [3, 3]), "kernel_size has 2 numbers"),
        (lambda: nn.Conv1D(4, 6, 3, weight_attr=False), "needs its weight"),
        (lambda: nn.Conv1D(4, 6, 3, padding="full")(SEQUENCES), "padding='full'"),
        (lambda: nn.Conv1D(4, 6, 3, padding=-1)(SEQUENCES), "negative"),
        (lambda: nn.Conv1D(4, 6, 3, padding=[1, 2, 3])(SEQUENCES), "3 numbers"),
        (lambda: nn.Conv1D(4, 6, 3, padding=[[1, 0], [0, 0], [1, 1]])(SEQUENCES), "batch or the channels"),
        (lambda: nn.Conv1D(5, 6, 3)(SEQUENCES), "4 channels"),
        (lambda: nn.Conv1D(4, 6, 3)(IMAGES), "3 dimensions"),
        (lambda: nn.Conv2D(4, 6, 3, data_format="NCL")(IMAGES), "NCHW or NHWC"),
    ],
)
@pytest.mark.each_case
def test_bad_arguments(act: Any, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        act()
