"""Shapes, joins, cuts, moves: as in Paddle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.nn import functional
from tests.support.paddle.functions import Table, case, floats

pytestmark = pytest.mark.paddle

X = floats(3, 4, 2)
ROW = floats(3, 1, 4, 1)
M = floats(3, 4, seed=1)
VECTOR = floats(6)
INTS = np.arange(12).reshape(3, 4)
ZERO_D = np.array(2.0, np.float32)

TABLE = Table(
    [
        *[
            case("reshape", X, shape)
            for shape in ([12, 2], [-1], [0, -1], [0, 0, -1], [-1, 2], [3, 8], [0, 2, 4], (6, -1))
        ],
        case("reshape", X, [np.array(3), -1], static=False),
        case("reshape", X, np.array([3, 8]), open_batch=False, static=False),
        case("reshape-size", X, call=lambda F, x: F.reshape(x, [F.shape(x)[0], -1])),
        case("reshape-sizes", X, call=lambda F, x: F.reshape(x, [F.shape(x)[0] * 4, 2])),
        case("reshape", ZERO_D, [1, 1]),
        case("flatten", X),
        *[case("flatten", X, start, stop) for start in (0, 1, 2) for stop in (-1, 2, 1) if start <= stop % 3],
        case("flatten", ZERO_D),
        *[case("squeeze", ROW, axis) for axis in (None, 1, -1, [1, 3], [1], 0, 2, [0, 1], (1, 2))],
        *[case("unsqueeze", X, axis) for axis in (0, 1, -1, 3, [0, 2], [1, -1], (0, 0), [3, 1])],
        *[case("transpose", X, perm) for perm in ([0, 2, 1], [2, 0, 1], (1, 0, 2), [-1, 0, 1])],
        case("t", M),
        case("t", VECTOR),
        case("moveaxis", X, 0, 2),
        case("moveaxis", X, [0, 1], [-1, 0]),
        *[case("tile", X, times) for times in ([1, 2, 1], [2], [2, 1, 1, 1], (1, 3), [2, 2])],
        case("tile", VECTOR, np.array([2, 3]), open_batch=False, static=False),
        case("tile", M, [np.array(2), 1], static=False),
        *[case("expand", ROW, shape) for shape in ([3, 5, 4, 2], [-1, 5, -1, 2], [2, -1, 1, -1, 1])],
        case("expand", VECTOR, [2, -1]),
        case("expand-size", M, ROW, call=lambda F, m, r: F.expand(r, [F.shape(m)[0], 2, 4, 1])),
        case("broadcast_to", M, [2, 3, 4]),
        case("expand_as", ROW, floats(3, 2, 4, 2)),
        case("expand_as", floats(1, 4), M),
        case("shape", X),
        *[case("concat", [X, X * 2], axis) for axis in (0, 1, -1)],
        case("concat", [M, VECTOR.reshape(3, 2)], axis=1),
        case("concat", [INTS, INTS]),
        case("concat", [M]),
        *[case("stack", [M, M * 2], axis) for axis in (0, 1, -1, 2)],
        case("stack", [ZERO_D, ZERO_D]),
        *[
            case("split", X, parts, axis)
            for parts, axis in ((2, 1), (2, -1), ([1, 3], 1), ([1, -1], 1), ([2, 1, 1], -2))
        ],
        case("split", X, [1, -1]),
        case("split", X, [1, 2], 0),
        case("chunk", X, 2, 1),
        case("unbind", X, 1),
        case("unstack", X, -1),
        case("slice", X, [1], [1], [3]),
        case("slice", X, [0, 1], [0, -3], [2, -1]),
        case("slice", X, [2, 1], [0, 2], [100000000000, 2147483647]),
        case("slice", X, axes=[0, 1], starts=[np.array(0), 1], ends=[np.array(2), 9], static=False),
        case("strided_slice", X, [0, 1], [0, 3], [3, 0], [2, -2]),
        case("flip", X, 0),
        case("flip", X, [1, -1]),
        case("roll", X, 1),
        case("roll", X, 1, 1),
        case("roll", X, [1, -1], [0, 1]),
        case("repeat_interleave", M, 2),
        case("repeat_interleave", M, 2, 1),
        case("repeat_interleave", M, np.array([1, 0, 2]), 0, static=False),
        case("meshgrid", VECTOR, floats(3)),
        case("broadcast_tensors", [ROW, floats(1, 2, 1, 3)]),
        case("diff", M),
        case("diff", M, axis=0, n=2),
    ]
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda F, x: F.reshape(x, [0, -1]), [None, 8]),
        (lambda F, x: F.reshape(x, [F.shape(x)[0], -1]), [None, 8]),
        (lambda F, x: F.reshape(x, [F.shape(x)[0], 2, -1]), [None, 2, 4]),
        (lambda F, x: F.reshape(x, [-1, 2]), [None, 2]),
        (lambda F, x: F.flatten(x, 1), [None, 8]),
        (lambda F, x: F.squeeze(F.unsqueeze(x, 1)), [None, 4, 2]),
        (lambda F, x: F.tile(x, [1, 2, 1]), [None, 8, 2]),
        (lambda F, x: F.expand(F.unsqueeze(x, 1), [-1, 3, -1, -1]), [None, 3, 4, 2]),
        (lambda F, x: F.split(x, [1, -1], 1)[1], [None, 3, 2]),
        (lambda F, x: F.operators.getitem(x, (slice(None), [0, 2])), [None, 2, 2]),
        (lambda F, x: F.max(x, 1), [None, 2]),
        (lambda F, x: F.topk(x, 3, 1)[0], [None, 3, 2]),
        (lambda F, x: F.matmul(x, x, transpose_y=True), [None, 4, 4]),
    ],
)
def test_sizes_that_can_be_known_are_known(call: Any, shape: list[int | None]) -> None:
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 4, 2])
        assert call(functional, x).shape.as_list() == shape
