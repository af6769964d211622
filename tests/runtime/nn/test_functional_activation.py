"""Activations and normalized vectors: as in Paddle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.paddle.functions import Table, case, floats, positive

pytestmark = pytest.mark.paddle

X = floats(3, 4)
CUBE = floats(2, 3, 4)
EDGES = np.array([-50, -7, -4, -3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 6, 7, 20, 21, 50], np.float32)
ZERO_ROW = np.array([[3, 4], [0, 0]], np.float32)
NAMES = [
    *("relu", "relu6", "gelu", "leaky_relu", "elu", "celu", "selu", "softplus", "silu", "swish", "mish", "softsign"),
    *("log_sigmoid", "hardsigmoid", "hardswish", "hardtanh", "softshrink", "hardshrink", "tanhshrink", "sigmoid"),
    *("thresholded_relu", "tanh"),
]

TABLE = Table(
    [
        *[case(name, EDGES) for name in NAMES],
        *[case(name, X.astype(np.float64), open_batch=False) for name in NAMES],
        case("gelu", EDGES, True),
        case("leaky_relu", EDGES, 0.2),
        case("elu", EDGES, 0.5),
        case("celu", EDGES, 2.0),
        case("selu", EDGES, 1.5, 2.0),
        case("softplus", EDGES, 2, 3),
        case("hardsigmoid", EDGES, 0.2, 0.4),
        case("hardtanh", EDGES, -2.0, 3.0),
        case("softshrink", EDGES, 1.5),
        case("hardshrink", EDGES, 1.5),
        case("thresholded_relu", EDGES, 2.0),
        case("prelu", EDGES, np.array([0.2], np.float32)),
        case("prelu", CUBE, positive(3)),
        case("prelu", CUBE, positive(4), data_format="NLC"),
        *[case(name, CUBE, axis) for name in ("softmax", "log_softmax") for axis in (-1, 0, 1)],
        *[case(name, CUBE[0, 0]) for name in ("softmax", "log_softmax")],
        case("softmax", np.array([[1, 2], [3, 5]]), dtype="float32"),
        case("log_softmax", X, dtype="float64"),
        case("softmax", np.array(2.0, np.float32)),
        case("glu", X),
        case("glu", X, 1),
        case("maxout", floats(2, 6, 3, 2), 3),
        case("label_smooth", positive(3, 4)),
        case("label_smooth", positive(3, 4), np.full((1, 4), 0.25, np.float32), 0.2),
        case("logit", positive(3, 4)),
        case("logit", positive(3, 4), 0.3),
        *[case("normalize", X, p, axis) for p in (2, 1, 3) for axis in (1, 0, -1)],
        case("normalize", ZERO_ROW, tolerance=1e-4),
        case("normalize", CUBE),
        case("normalize", X[0], axis=0, epsilon=10),
        case("cosine_similarity", X, floats(3, 4, seed=1)),
        case("cosine_similarity", ZERO_ROW, np.array([[1, 2], [1, 1]], np.float32)),
        case("cosine_similarity", CUBE, CUBE[:, :1] + 1, axis=2),
        case("cosine_similarity", X, floats(3, 4, seed=1), axis=0),
        *[
            case("pairwise_distance", X, floats(3, 4, seed=1), p, keepdim=keep)
            for p in (2.0, 1.0)
            for keep in (True, False)
        ],
    ]
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []
