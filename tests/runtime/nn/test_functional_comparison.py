"""Comparisons, logic, bits, choices, constants: as in Paddle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.paddle.functions import Table, case, floats

pytestmark = pytest.mark.paddle

X, Y = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([[1, 3, 2], [4, 6, 5]], np.float32)
INTS, OTHERS = np.array([[1, 2, 3], [0, 5, 6]]), np.array([[1, 3, 0], [0, 6, 5]])
MASK = X > Y
M = floats(3, 4)

COMPARISONS = ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")

TABLE = Table(
    [
        *[case(name, X, Y) for name in COMPARISONS],
        *[case(name, INTS, OTHERS[0]) for name in COMPARISONS],
        *[case(name, MASK, ~MASK) for name in COMPARISONS],
        case("equal", INTS, 2),
        case("equal_all", X, Y),
        case("equal_all", X, X),
        case("equal_all", X, X[:1]),
        *[
            case(f"logical_{name}", x, y)
            for name in ("and", "or", "xor")
            for x, y in ((MASK, ~MASK[0]), (INTS, OTHERS))
        ],
        *[case("logical_not", x) for x in (MASK, INTS, X)],
        *[case(f"bitwise_{name}", x, y) for name in ("and", "or", "xor") for x, y in ((MASK, ~MASK), (INTS, OTHERS))],
        *[case("bitwise_not", x) for x in (MASK, INTS)],
        case("isclose", X, X + np.float32(1e-7)),
        case("isclose", X, Y),
        case("isclose", np.array([np.nan, 1], np.float32), np.array([np.nan, np.inf], np.float32), equal_nan=True),
        case("allclose", X, X + np.float32(1e-7)),
        case("where", MASK, X, Y),
        case("where", MASK[0], X, Y),
        case("where", MASK, X, Y[:, :1]),
        case("where", MASK[:, :1], INTS, OTHERS[0]),
        case("where", MASK, X, 0.0),
        case("where", MASK, 1, INTS),
        case("where", MASK, 1.0, 0.0),
        case("where", MASK, X, np.array(2.0, np.float32)),
        case("where", MASK, static=False),
        case("where", MASK[0], static=False),
        *[case(name, [2, 3]) for name in ("zeros", "ones")],
        *[case(name, [2, 3], dtype) for name in ("zeros", "ones") for dtype in ("int64", "bool", "float64")],
        case("zeros", [2, np.array(3)], static=False),
        case("full-size", X, call=lambda F, x: F.full([F.shape(x)[0], 2], 1.5)),
        *[case("full", [2], value) for value in (1, 1.5, True)],
        case("full", [2], 1.5, "int64"),
        case("full", shape=[2, 2], fill_value=np.array([3.0], np.float32)),
        *[case(name, x) for name in ("zeros_like", "ones_like") for x in (X, INTS, MASK)],
        case("ones_like", X, dtype="int32"),
        case("full_like", X, 2.5),
        case("full_like", INTS, 2.5),
        case("full_like", INTS, 2, "float32"),
        case("arange", 5),
        case("arange", 1, 7, 2),
        case("arange", 0.5, 3),
        case("arange", 3, dtype="float32"),
        case("arange", end=3, start=0, dtype="int32"),
        case("arange", np.array(4), static=False),
        case("arange-size", X, call=lambda F, x: F.arange(F.shape(x)[0])),
        case("linspace", 0, 1, 5),
        case("linspace", 1.0, 9.0, 3, "int64"),
        *[case("to_tensor", value) for value in (1, 1.5, True, [1, 2], [[1.5], [2]], [True, False], (3, 4))],
        case("to_tensor", 3, "float32"),
        case("to_tensor", [[1, 2], [3, 4]], dtype="float64"),
        case("to_tensor-array", call=lambda F: F.to_tensor(np.array([1.5, 2.5]))),
        case("to_tensor-arrays", call=lambda F: F.to_tensor([np.array([1.5, 2.5]), np.array([1.0, 2.0])])),
        case("to_tensor-int32", call=lambda F: F.to_tensor(np.array([1, 2], np.int32))),
        case("assign", X),
        case("clone", X),
        *[case("eye", *size) for size in ((2,), (2, 3), (3, 2, "int64"))],
        *[case(name, M, diagonal) for name in ("tril", "triu") for diagonal in (0, 1, -1, 5, -4)],
        case("tril", np.stack([M, M]), diagonal=1),
        case("triu", INTS > 0),
        *[case("diag", x, offset) for x in (M, M[0]) for offset in (0, 1, -1)],
        case("diag", M[0], padding_value=2.0),
        case("diagonal", floats(2, 3, 4), 1, 1, 2),
    ]
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []
