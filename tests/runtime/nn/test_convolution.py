"""Convolutions beside Paddle's: values, shapes, gradients of inputs and weights."""

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
