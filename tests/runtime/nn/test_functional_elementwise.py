"""Functions element by element, operators with operands of different dtypes: as in Paddle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.paddle.functions import Table, case, floats, positive

pytestmark = pytest.mark.paddle

X, Y = floats(3, 4), floats(3, 4, seed=1)
EDGES = np.array([-7, -3, -2.5, -1, -0.5, 0, 0.5, 1, 1.5, 2.5, 3, 6, 7], np.float32)
TIES = np.array([1, 2, 3], np.float32), np.array([1, 3, 2], np.float32)
NANS = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 2], np.float32)
INTS = np.array([[-7, 7, 5], [2, 0, 9]])
OTHERS = np.array([[2, -2, 3], [-3, 4, 1]])
UNARY = [
    "abs",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "expm1",
    "floor",
    "frac",
    "neg",
    "reciprocal",
    "round",
    "sign",
    "sin",
    "sinh",
    "square",
    "tan",
    "tanh",
    "atan",
    "sigmoid",
]
OF_PARTS = ["acos", "asin", "log", "log10", "log1p", "log2", "sqrt", "rsqrt", "lgamma", "digamma"]
OF_INTS = ["exp", "expm1", "log", "log1p", "log2", "log10"]
DTYPES = ("bool", "int32", "int64", "float32", "float64")
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge")


def operated(symbol: str, x: str, y: object) -> object:
    """Return the case of an operator for dtypes or numbers."""
    values = [1, 2, 3], [1, 3, 2]
    operands = [
        np.array(v).astype(kind) if isinstance(kind, str) else kind for v, kind in zip(values, (x, y), strict=True)
    ]
    return case(f"{symbol}-{x}-{y}", *operands, call=lambda F, a, b: getattr(F.operators, symbol)(a, b))


def computable(symbol: str, x: str, y: object) -> bool:
    """Say whether Paddle computes it: it has no arithmetic of bools."""
    # The gradient of a float tensor that is divided into ints is an int in Paddle: nothing to have.
    if symbol == "truediv" and x in DTYPES[:3] and y in DTYPES[3:]:
        return False
    return not (x == "bool" and symbol in ("add", "sub", "floordiv", "mod", "pow") and y != 0.5)


TABLE = Table(
    [
        *[case(name, EDGES) for name in UNARY if name != "reciprocal"],
        case("reciprocal", X),
        *[case(name, positive(3, 4)) for name in OF_PARTS],
        *[case(name, np.array([1, 2, 5])) for name in OF_INTS],
        *[case(name, INTS) for name in ("abs", "sign", "square", "neg", "trunc", "isnan", "isinf", "isfinite")],
        *[case(name, np.array([1, np.inf, np.nan], np.float32)) for name in ("isnan", "isinf", "isfinite")],
        *[case(name, positive(3) + (name == "acosh")) for name in ("acosh", "asinh", "atanh", "erfinv")],
        case("sqrt", np.array([0, 4], np.float32)),
        case("log", np.array([0, 4], np.float32)),
        *[case(name, X, Y) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2")],
        *[case(name, X, floats(4)) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "mod")],
        *[case(name, X, floats(3, 1)) for name in ("add", "multiply", "divide", "maximum", "fmax", "floor_divide")],
        *[case(name, *TIES) for name in ("maximum", "minimum", "fmax", "fmin")],
        *[case(name, *NANS) for name in ("fmax", "fmin")],
        *[
            case(name, INTS, OTHERS)
            for name in ("add", "divide", "floor_divide", "mod", "remainder", "maximum", "atan2")
        ],
        case("add", X, Y.astype(np.float64)),
        case("pow", positive(3, 4), Y),
        case("pow", X, 2),
        case("pow", positive(3), 0.5),
        case("pow", INTS, 2),
        case("pow", np.abs(INTS), 0.5),
        case("pow", np.abs(INTS), np.abs(OTHERS)),
        case("scale", X, 2.5, 1.5),
        case("scale", X, scale=2.5, bias=1.5, bias_after_scale=False),
        case("scale", X, 2.0, act="tanh"),
        case("scale", X, np.array([2.5], np.float32)),
        case("scale", INTS, 2.5, 1.5),
        case("scale", INTS, 2.5, 1.5, bias_after_scale=False),
        case("clip", EDGES, -1, 1),
        case("clip", EDGES, min=0),
        case("clip", EDGES, max=3.0),
        case("clip", np.array([-np.inf, np.nan, 1, np.inf], np.float32), max=1.0),
        case("clip", INTS, -1.5, 2.5),
        case("clip", X, np.array([0.0], np.float32), np.array([1.0], np.float32)),
        case("add_n", [X, Y, X]),
        case("add_n", X),
        case("lerp", X, Y, 0.3),
        case("lerp", X, Y, positive(3, 4)),
        case("stanh", X),
        case("trunc", EDGES),
        case("cast", EDGES, "int64"),
        case("cast", EDGES, "bool"),
        case("cast", INTS, "float32"),
        *[operated(s, x, y) for s in OPERATORS[:9] for x in DTYPES for y in DTYPES if computable(s, x, y)],
        *[operated(s, x, y) for s in OPERATORS for x in DTYPES for y in (2, 0.5) if computable(s, x, y)],
        *[
            case(
                f"{s}-reversed-{x}-{n}",
                np.array([1, 2, 3]).astype(x),
                call=lambda F, a, s=s, n=n: getattr(F.operators, s)(n, a),
            )
            for s in ("add", "sub", "mul", "truediv", "pow", "lt", "ge")
            for x in DTYPES[1:]
            for n in (2, 0.5)
        ],
    ]
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []
