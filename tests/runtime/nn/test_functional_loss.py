"""Losses: as in Paddle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.paddle.functions import Table, case, floats, positive

pytestmark = pytest.mark.paddle

X, Y = floats(5, 4), floats(5, 4, seed=1)
P, Q = positive(5, 4), positive(5, 4, seed=1)
ONES = (Q > 0.5).astype(np.float32)
SIGNS = ONES * 2 - 1
SHARES = Q / Q.sum(1, keepdims=True)
LABEL = np.array([0, 3, 2, 2, 1])
IGNORED = np.array([0, -100, 2, 2, 1])
WEIGHT = positive(4, seed=2)
IMAGE = floats(2, 3, 2, 2)
PIXELS = np.array([[[0, 2], [1, 1]], [[2, 0], [0, 1]]])
SURE = np.array([[0, 1, 0.5, 1e-30]], np.float32)
REDUCTIONS = ("none", "mean", "sum")

TABLE = Table(
    [
        case("log_loss", P[:, :1], ONES[:, :1]),
        case("log_loss", SURE.T.copy(), np.array([[1], [0], [1], [1]], np.float32), 1e-7),
        case("square_error_cost", X, Y),
        *[
            case(name, X, Y, reduction)
            for name in ("mse_loss", "l1_loss", "smooth_l1_loss")
            for reduction in REDUCTIONS
        ],
        case("smooth_l1_loss", X, Y, delta=0.5),
        case("smooth_l1_loss", X, X),
        *[case("binary_cross_entropy", P, ONES, reduction=reduction) for reduction in REDUCTIONS],
        case("binary_cross_entropy", P, Q),
        case("binary_cross_entropy", P, ONES, WEIGHT, "none"),
        case("binary_cross_entropy", SURE, np.array([[1, 0, 1, 1]], np.float32), None, "none"),
        *[case("binary_cross_entropy_with_logits", X, ONES, reduction=reduction) for reduction in REDUCTIONS],
        case("binary_cross_entropy_with_logits", X, Q, WEIGHT),
        case("binary_cross_entropy_with_logits", X, ONES, None, "none", WEIGHT),
        *[case("sigmoid_focal_loss", X, ONES, reduction=reduction) for reduction in REDUCTIONS],
        case("sigmoid_focal_loss", X, ONES, np.array([3.0], np.float32), 0.3, 1.0),
        *[case("kl_div", -P, Q, reduction) for reduction in (*REDUCTIONS, "batchmean")],
        case("kl_div", -P, ONES),
        *[case("margin_ranking_loss", X, Y, SIGNS, 0.1, reduction) for reduction in REDUCTIONS],
        case("margin_ranking_loss", X, X, SIGNS),
        *[case("hinge_embedding_loss", X, SIGNS, reduction=reduction) for reduction in REDUCTIONS],
        *[case("cosine_embedding_loss", X, Y, SIGNS[:, 0].copy(), 0.1, reduction) for reduction in REDUCTIONS],
        *[case("triplet_margin_loss", X, Y, P, reduction=reduction) for reduction in REDUCTIONS],
        case("triplet_margin_loss", X, Y, P, swap=True),
        *[case("soft_margin_loss", X, SIGNS, reduction) for reduction in REDUCTIONS],
        *[
            case("cross_entropy", X, label, reduction=reduction)
            for label in (LABEL, LABEL[:, None], IGNORED)
            for reduction in REDUCTIONS
        ],
        *[
            case("cross_entropy", X, label, WEIGHT, reduction=reduction)
            for label in (LABEL, IGNORED[:, None])
            for reduction in REDUCTIONS
        ],
        case("cross_entropy", X, LABEL.astype(np.int32)),
        case("cross_entropy", X, LABEL, ignore_index=2),
        case("cross_entropy", X, np.full(5, -100)),
        *[case("cross_entropy", X, SHARES, soft_label=True, reduction=reduction) for reduction in REDUCTIONS],
        *[
            case("cross_entropy", X, SHARES, WEIGHT, soft_label=True, reduction=reduction, gradient=False)
            for reduction in REDUCTIONS
        ],
        case("cross_entropy", X, ONES, soft_label=True),
        case("cross_entropy", SHARES, LABEL, use_softmax=False),
        case("cross_entropy", SHARES, SHARES, use_softmax=False, soft_label=True),
        case("cross_entropy", IMAGE, PIXELS, axis=1),
        case("cross_entropy", IMAGE, PIXELS, axis=1, reduction="none"),
        case("cross_entropy", IMAGE, PIXELS[:, None], positive(3), axis=1),
        case("cross_entropy", IMAGE.reshape(2, 2, 2, 3), PIXELS, reduction="none"),
        case("cross_entropy", X, LABEL, label_smoothing=0.1),
        case("cross_entropy", X, SHARES, soft_label=True, label_smoothing=0.1, reduction="sum"),
        case("softmax_with_cross_entropy", X, LABEL[:, None]),
        case("softmax_with_cross_entropy", X, SHARES, soft_label=True, return_softmax=True),
        case("softmax_with_cross_entropy", X, LABEL[:, None], ignore_index=2),
        *[case("nll_loss", -P, label, reduction=reduction) for label in (LABEL, IGNORED) for reduction in REDUCTIONS],
        *[case("nll_loss", -P, IGNORED, WEIGHT, reduction=reduction) for reduction in REDUCTIONS],
        case("nll_loss", IMAGE, PIXELS),
    ]
)

# The optimizer of graphs moves constants between sums: where digits matter, the functions have to prevent it.
OPTIMIZED = Table(
    [
        case("log_loss", SURE.T.copy(), np.array([[1], [0], [1], [1]], np.float32), 1e-7),
        case("binary_cross_entropy", SURE, np.array([[1, 0, 1, 1]], np.float32), None, "none"),
        case("cross_entropy", X, LABEL),
    ],
    optimized=True,
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []


def test_as_in_paddle_where_the_graph_is_optimized() -> None:
    assert OPTIMIZED.differences() == []
