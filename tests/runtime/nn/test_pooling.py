"""Poolings beside Paddle's: values, shapes, positions, gradients, equal elements among them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn
from tests.support.paddle.layers import compare_each

v1 = tf.compat.v1
pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(6)
SEQUENCES = RANDOM.normal(size=(2, 3, 11)).astype(np.float32)
IMAGES = RANDOM.normal(size=(2, 3, 7, 8)).astype(np.float32)
IMAGES_LAST = RANDOM.normal(size=(2, 7, 8, 3)).astype(np.float32)
#: Many equal elements, of which one gets the gradient.
TIED = RANDOM.integers(0, 3, (2, 3, 11)).astype(np.float32)
TIED_IMAGES = RANDOM.integers(0, 3, (2, 3, 7, 8)).astype(np.float32)


def layer(kind: str, *arguments: Any, **named: Any) -> Any:
    return lambda of: getattr(of, kind)(*arguments, **named)


def test_sequences() -> None:
    windows = [
        (2,),
        (3, 2),
        (3, 2, 1),
        (3, 1, "same"),
        (4, 3, "SAME"),
        (2, 3, [1, 0]),
        ([3], [2], [[0, 0], [0, 0], [0, 2]]),
    ]
    cases = [layer(kind, *window) for kind, window in product(("MaxPool1D", "AvgPool1D"), windows)]
    cases += [layer("MaxPool1D", 2, 3, padding, ceil_mode=True) for padding in (0, 1, [0, 1], "same")]
    for exclusive, ceil_mode, padding in product((True, False), (True, False), (1, [0, 1])):
        cases += [layer("AvgPool1D", 3, 2, padding, exclusive, ceil_mode)]
    cases += [layer(kind, size) for kind, size in product(("AdaptiveMaxPool1D", "AdaptiveAvgPool1D"), (1, 3, 11, [4]))]
    compare_each([(case, number % 2) for number, case in enumerate(cases)], SEQUENCES, TIED)


#: Windows, steps and paddings that are larger than what they move over, by less than a step, and its length.
LARGER = [(1, (2, 2)), (1, (3, 3)), (2, (3, 2)), (2, (5, 3, 1)), (3, (6, 4)), (1, (2, 3)), (3, (8, 7, [1, 0]))]


@pytest.mark.parametrize("unknown", [True, False])
@pytest.mark.one_case
def test_a_window_that_is_larger_than_the_sequence_counts_once(unknown: bool) -> None:
    for length in (1, 2, 3):
        windows = [window for of, window in LARGER if of == length]
        cases = [layer(kind, *window) for kind, window in product(("MaxPool1D", "AvgPool1D"), windows)]
        cases += [layer("AvgPool1D", *window[:2], exclusive=False, ceil_mode=True) for window in windows]
        cases += [layer("MaxPool1D", *window[:2], ceil_mode=True) for window in windows]
        compare_each([(case, 0) for case in cases], SEQUENCES[:, :, :length], unknown=unknown)
    images = [layer("MaxPool2D", 2), layer("AvgPool2D", (2, 3), (2, 1)), layer("MaxPool2D", (3, 2), (3, 1))]
    compare_each([(case, 0) for case in images], IMAGES[:, :, :1], unknown=unknown)


def test_images() -> None:
    windows: list[Any] = [
        (2,),
        ([3, 1], [3, 1]),
        (3, 2, 1),
        ((2, 3), (3, 1), "same"),
        (3, 2, [1, 0, 0, 1]),
        (3, 1, (0, 1)),
    ]
    cases = [layer(kind, *window) for kind, window in product(("MaxPool2D", "AvgPool2D"), windows)]
    cases += [layer("MaxPool2D", 3, 2, padding, ceil_mode=True) for padding in (0, 1, "same")]
    for ceil_mode, exclusive in product((True, False), (True, False)):
        cases += [layer("AvgPool2D", (3, 2), (2, 3), 1, ceil_mode, exclusive)]
    cases += [layer("AvgPool2D", (3, 2), 2, 1, divisor_override=5)]
    kinds, sizes = ("AdaptiveMaxPool2D", "AdaptiveAvgPool2D"), (1, [2, 3], (None, 5), [7, 8])
    cases += [layer(kind, size) for kind, size in product(kinds, sizes)]
    compare_each([(case, number % 2) for number, case in enumerate(cases)], IMAGES, TIED_IMAGES)


def test_channels_last() -> None:
    cases = [layer("MaxPool2D", 3, 2, 1, data_format="NHWC"), layer("AvgPool2D", 3, 2, "same", data_format="NHWC")]
    cases += [layer("AvgPool2D", 2, None, [[0, 0], [1, 0], [0, 1], [0, 0]], data_format="NHWC")]
    cases += [layer("AdaptiveAvgPool2D", [2, 3], data_format="NHWC")]
    compare_each([(case, 0) for case in cases], IMAGES_LAST)


UNKNOWN = [
    ("max_pool2d", (3, 2, "same")),
    ("max_pool2d", (3, 2, 0, False, True)),
    ("avg_pool2d", (3, 2, 1, True)),
    ("avg_pool2d", (3, 2, "same", False, False)),
    ("adaptive_max_pool2d", ([2, 3],)),
    ("adaptive_avg_pool2d", ([2, None],)),
]


def test_sizes_that_the_graph_does_not_know() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3, None, None])
        outs = [getattr(nn.functional, name)(x, *arguments) for name, arguments in UNKNOWN]
        assert all(out.shape[1] == 3 for out in outs)
        found = session.run(outs, {x: IMAGES})
    for (name, arguments), one in zip(UNKNOWN, found, strict=True):
        expected = getattr(paddle.nn.functional, name)(paddle.to_tensor(IMAGES), *arguments).numpy()
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: nn.MaxPool1D(2)(IMAGES), "3 dimensions"),
        (lambda: nn.MaxPool2D(2, padding="valid", ceil_mode=True)(IMAGES), "ceil_mode"),
        (lambda: nn.MaxPool2D(2, return_mask=True)(IMAGES), "return_mask=True"),
        (lambda: nn.AdaptiveAvgPool2D([1, 2, 3])(IMAGES), "3 numbers"),
        (lambda: nn.AvgPool2D(2, data_format="NCL")(IMAGES), "NCHW or NHWC"),
    ],
)
@pytest.mark.each_case
def test_bad_arguments(act: Any, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        act()
