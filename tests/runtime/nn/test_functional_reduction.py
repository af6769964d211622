"""Reductions, sums up to each element, norms: as in Paddle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.paddle.functions import Case, Table, case, floats, positive

pytestmark = pytest.mark.paddle

X = floats(3, 4, 2)
TIES = np.array([[1, 3, 3, 1], [2, 2, 2, 2], [4, 0, 4, 0]], np.float32)
INTS = np.array([[3, -7, 2], [5, 2, 9]])
ALONG = (None, 1, [0, 2], 0, (1, -1), [])
INF = float("inf")


def over_axes(name: str, x: np.ndarray, axes: tuple[object, ...] = ALONG) -> list[Case]:
    """Return cases of all axes, with and without them in the result."""
    return [case(name, x, axis=axis, keepdim=keepdim) for axis in axes for keepdim in (False, True)]


TABLE = Table(
    [
        *[one for name in ("mean", "max", "min", "amax", "amin", "logsumexp") for one in over_axes(name, X, ALONG[:3])],
        *[one for name in ("std", "var") for one in over_axes(name, X, ALONG[:3])],
        *over_axes("sum", X),
        *over_axes("prod", X, ALONG[:3]),
        *[one for name in ("all", "any") for one in over_axes(name, TIES > 1, (None, 0))],
        *[one for name in ("argmax", "argmin") for one in over_axes(name, X, (None, 0, -1))],
        *[case(name, TIES, axis=axis) for name in ("max", "min", "amax", "argmax", "argmin") for axis in (None, 1, 0)],
        *[case(name, INTS.astype(kind)) for name in ("sum", "max", "min", "prod") for kind in ("int32", "int64")],
        case("mean", INTS),
        case("mean", INTS, axis=1),
        case("sum", INTS > 2),
        case("sum", INTS, dtype="float32"),
        case("sum", X, 1, "float64", True),
        case("prod", INTS, dtype="float64"),
        *[case(name, np.array(2.0, np.float32)) for name in ("sum", "mean", "max", "min", "logsumexp")],
        *[case(name, INTS) for name in ("any", "all")],
        case("argmax", X, axis=1, dtype="int32"),
        *[case("cumsum", X, axis=axis) for axis in (None, 0, 1, -1)],
        *[case("cumsum", INTS, axis=1, dtype=dtype) for dtype in (None, "float32")],
        *[case("cumprod", X, dim=dim) for dim in (0, 1, -1)],
        case("std", X, axis=1, unbiased=False),
        case("var", X, unbiased=False),
        case("var", X[:, :1], axis=1),
        case("logsumexp", np.array([1000, 1000], np.float32), tolerance=1e-3),
        case("norm", np.array([[3, 4], [0, 0]], np.float32), 2, 1),
        case("norm", np.zeros(2, np.float32)),
        case("norm", TIES - 2, INF, 1),
        case("norm", TIES - 2, 1),
        *[case("norm", X, p, axis, axis == 1) for p in (1, 2, 3, 0.5, 0, INF, -INF) for axis in (None, 1, 2)],
        *[case("norm", X, p, [0, 1]) for p in ("fro", 1, 2)],
        case("norm", X, axis=1),
        case("norm", X),
        case("count_nonzero", INTS),
        case("count_nonzero", TIES, axis=1, keepdim=True),
        case("nansum", np.array([[1, np.nan], [2, 3]], np.float32), 1),
        case("numel", X),
        *[case("median", X, axis=axis, keepdim=axis != 1) for axis in (None, 0, 1)],
        case("median", np.array([[1, 2, 3]]), axis=1),
        case("mean", positive(3), axis=-1),
    ]
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []
