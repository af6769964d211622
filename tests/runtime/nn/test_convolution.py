"""Convolutions and poolings beside Paddle's: values, shapes, positions, gradients of inputs and weights."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.paddle.layers import compare_each

pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(5)
SEQUENCES = RANDOM.normal(size=(2, 4, 9)).astype(np.float32)
IMAGES = RANDOM.normal(size=(2, 4, 8, 4)).astype(np.float32)


def layer(kind: str, *arguments: Any, **named: Any) -> Any:
    return lambda of: getattr(of, kind)(*arguments, **named)


def test_values_and_gradients() -> None:
    paddings = ("same", "VALID", 0, 1, [2], (1, 2), [[0, 0], [0, 0], [2, 0]])
    cases = [layer("Conv1D", 4, 6, 3, 2, padding) for padding in paddings]
    cases += [layer("Conv1D", 4, 2, kernel, stride, "same") for kernel, stride in product((1, 2, 4), (1, 3))]
    cases += [layer("Conv1D", 4, 2, 3, stride, padding, 2) for stride, padding in product((1, 2), (0, "same", [1, 3]))]
    cases += [layer("Conv1D", 4, 6, 2, groups=2), layer("Conv1D", 4, 8, [2], [2], 1, [2], 4, bias_attr=False)]
    cases += [layer("Conv1D", 4, 2, 3, 1, 2, padding_mode=mode) for mode in ("reflect", "replicate", "circular")]
    images = [
        layer("Conv2D", 4, 6, 3, 2, padding, 1, 2, data_format=order)
        for padding, order in ((1, "NCHW"), ("same", "NHWC"))
    ]
    compare_each([*((case, 0) for case in cases), *((case, 1) for case in images)], SEQUENCES, IMAGES)


POOLING_RANDOM = np.random.default_rng(6)
POOLING_SEQUENCES = POOLING_RANDOM.normal(size=(2, 3, 11)).astype(np.float32)
POOLING_IMAGES = POOLING_RANDOM.normal(size=(2, 3, 7, 8)).astype(np.float32)
#: Many equal elements, of which one gets the gradient.
TIED = POOLING_RANDOM.integers(0, 3, (2, 3, 11)).astype(np.float32)
TIED_IMAGES = POOLING_RANDOM.integers(0, 3, (2, 3, 7, 8)).astype(np.float32)


def test_sequences() -> None:
    windows = [(2,), (3, 2), (4, 3, "SAME"), ([3], [2], [[0, 0], [0, 0], [0, 2]])]
    cases = [layer(kind, *window) for kind, window in product(("MaxPool1D", "AvgPool1D"), windows)]
    cases += [layer("MaxPool1D", 2, 3, padding, ceil_mode=True) for padding in (0, 1, [0, 1], "same")]
    for exclusive, ceil_mode, padding in product((True, False), (True, False), (1, [0, 1])):
        cases += [layer("AvgPool1D", 3, 2, padding, exclusive, ceil_mode)]
    cases += [layer(kind, size) for kind, size in product(("AdaptiveMaxPool1D", "AdaptiveAvgPool1D"), (1, 3, 11, [4]))]
    compare_each([(case, number % 2) for number, case in enumerate(cases)], POOLING_SEQUENCES, TIED)


def test_images() -> None:
    windows: list[Any] = [(2,), ([3, 1], [3, 1]), (3, 2, 1), ((2, 3), (3, 1), "same")]
    cases = [layer(kind, *window) for kind, window in product(("MaxPool2D", "AvgPool2D"), windows)]
    cases += [layer("MaxPool2D", 3, 2, padding, ceil_mode=True) for padding in (0, 1, "same")]
    for ceil_mode, exclusive in product((True, False), (True, False)):
        cases += [layer("AvgPool2D", (3, 2), (2, 3), 1, ceil_mode, exclusive)]
    cases += [layer("AvgPool2D", (3, 2), 2, 1, divisor_override=5), layer("MaxPool2D", 2, data_format="NHWC")]
    kinds, sizes = ("AdaptiveMaxPool2D", "AdaptiveAvgPool2D"), (1, [2, 3], (None, 5), [7, 8])
    cases += [layer(kind, size) for kind, size in product(kinds, sizes)]
    compare_each([(case, number % 2) for number, case in enumerate(cases)], POOLING_IMAGES, TIED_IMAGES)
