"""Functions where examples of ops do not reach: edges of domains, ties, promotion of dtypes, spellings of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.nn import functional
from tests.support.paddle.functions import Case, Table, case, floats, positive

pytestmark = pytest.mark.paddle

S = np.s_
X, M, V, ROW = floats(3, 4, 2), floats(3, 4, seed=1), floats(6), floats(3, 1, 4, 1)
EDGES = np.array([-50, -7, -3, -2.5, -1, -0.5, 0, 0.5, 1, 1.5, 2.5, 3, 6, 7, 20, 21, 50], np.float32)
SMALL = EDGES[np.abs(EDGES) < 8]
INTS, OTHERS = np.array([[-7, 7, 5], [2, 0, 9]]), np.array([[2, -2, 3], [-3, 4, 1]])
TIES = np.array([[1, 3, 3, 1], [2, 2, 2, 2], [4, 0, 4, 0]], np.float32)
MASK = INTS > 2
ZERO_D, ZERO_ROW = np.array(2.0, np.float32), np.array([[3, 4], [0, 0]], np.float32)
IDS = np.array([[0, 2, 1], [2, 2, 0]])
INF = float("inf")
REDUCTIONS = ("none", "mean", "sum")

ACTIVATIONS = (
    *("relu", "relu6", "gelu", "leaky_relu", "elu", "selu", "softplus", "silu", "swish", "softsign"),
    *("log_sigmoid", "sigmoid", "tanh", "celu", "mish", "hardsigmoid", "hardswish", "hardtanh", "softshrink"),
    *("hardshrink", "tanhshrink", "thresholded_relu"),
)
ELEMENTS = [
    *[case(name, EDGES) for name in ACTIVATIONS],
    case("gelu", EDGES, True),
    case("prelu", X, positive(4)),
    case("prelu", X, positive(2), data_format="NLC"),
    case("softmax", np.array([[1, 2], [3, 5]]), dtype="float32"),
    *[case(name, ZERO_D) for name in ("softmax", "log_softmax")],
    *[case("normalize", M, p, axis) for p in (1, 3) for axis in (0, -1)],
    case("normalize", ZERO_ROW, tolerance=1e-4),
    case("cosine_similarity", ZERO_ROW, np.array([[1, 2], [1, 1]], np.float32)),
    *[case(name, SMALL) for name in ("abs", "ceil", "erf", "exp", "expm1", "floor", "round", "sign", "cos")],
    *[case(name, np.array([1, 2, 5])) for name in ("exp", "expm1", "log", "log1p", "log2", "log10")],
    *[case(name, np.array([1, INF, np.nan], np.float32)) for name in ("isnan", "isinf", "isfinite")],
    *[case(name, INTS) for name in ("isnan", "isinf", "isfinite")],
    *[case(name, TIES[0], TIES[2]) for name in ("maximum", "minimum")],
    *[case(name, INTS, OTHERS) for name in ("divide", "floor_divide", "mod", "remainder", "maximum")],
    *[case("pow", x, y) for x, y in ((positive(3, 4), M), (np.abs(INTS), 0.5), (np.abs(INTS), np.abs(OTHERS)))],
    case("scale", M, 2.0, act="tanh"),
    case("scale", M, np.array([2.5], np.float32)),
    *[case("scale", INTS, 2.5, 1.5, bias_after_scale=after) for after in (True, False)],
    *[case("clip", EDGES, *limits) for limits in ((-1, 1), (0,), (None, 3.0))],
    case("clip", np.array([-INF, np.nan, 1, INF], np.float32), max=1.0),
    case("clip", INTS, -1.5, 2.5),
    case("clip", M, np.array([0.0], np.float32), np.array([1.0], np.float32)),
    *[case("cast", EDGES, kind) for kind in ("int64", "bool")],
    *[case(f"bitwise_{name}", INTS, OTHERS) for name in ("and", "or", "xor")],
    *[case(f"logical_{name}", INTS, OTHERS) for name in ("and", "or", "xor")],
    *[case("logical_not", x) for x in (MASK, INTS, M)],
    *[case("where", MASK, x, y) for x, y in ((1.5, 0.0), (1, INTS), (INTS, OTHERS[0]), (floats(2, 3), ZERO_D))],
    case("where", MASK, static=False),
    *[case("full", [2], value) for value in (1, 1.5, True)],
    case("full", shape=[2, 2], fill_value=np.array([3.0], np.float32)),
    case("full-size", X, call=lambda F, x: F.full([F.shape(x)[0], 2], 1.5)),
    *[case("full_like", INTS, 2.5, *dtype) for dtype in ((), ("float32",))],
    *[case("arange", *ends) for ends in ((5,), (1, 7, 2), (0.5, 3))],
    case("arange", np.array(4), static=False),
    *[case("to_tensor", value) for value in (1, 1.5, True, [[1.5], [2]], [True, False], (3, 4))],
    case("to_tensor-arrays", call=lambda F: F.to_tensor([np.array([1.5, 2.5]), np.array([1.0, 2.0])])),
    *[case(name, M, diagonal) for name in ("tril", "triu") for diagonal in (1, -1, 5)],
]


def read(x: np.ndarray, *index: Any, static: bool = True) -> Case:
    """Return the case of a subscript, in which arrays are tensors."""
    return case(
        f"getitem{index}".replace("\n", ""),
        x,
        *index,
        call=lambda F, t, *i: F.operators.getitem(t, i if len(i) > 1 else i[0]),
        static=static,
    )


PLACES = [
    *[read(X, *index) for index in ((-1,), (S[1:], S[:2]), (S[:], S[-2:], 0), (Ellipsis, S[1:]), (None, Ellipsis, 0))],
    *[read(X, *index) for index in ((S[:], S[3:0:-2]), (S[:], S[1:100]), ([2, 0],), (S[:], [3, 0]), (np.array(1),))],
    *[read(X, *index) for index in ((S[:], S[:], np.array([1])), ([0, 2], [1, 3]), ([0, 2], S[:], [1, 0]))],
    *[read(X, *index) for index in ((IDS,), (np.array([[0], [2]]), np.array([1, 3])), (S[1:], [0, 2]), (1, [0, 2]))],
    *[read(floats(2, 3, 2, 4), first, [2, 0], S[:], [1, 3]) for first in (S[:], 0)],
    *[read(x, M > 0, static=False) for x in (M, X)],
    read(X, S[:], np.array([True, False, True, True]), static=False),
    read(X > 0, S[1:], 0),
    case("gather", X, np.array([[2], [0]])),
    # Paddle's gradient of other axes than the first repeats the first row of the upstream gradient, or fails.
    case("gather", X, np.array([3, 0], np.int32), axis=1, gradient=False),
    case("gather_nd", X, np.array([[[0], [1]], [[2], [2]]])),
    case("masked_select", X, X > 1, static=False),
    case("nonzero", np.array([[1, 0], [0, 3]]), as_tuple=True, static=False),
    case("topk", M, 3, largest=False),
    case("topk", V, np.array([2]), open_batch=False, static=False),
    *[case(name, TIES, 0, descending) for name in ("argsort", "sort") for descending in (False, True)],
    *[case("embedding", IDS.astype(np.int32), M, padding) for padding in (None, 2, -1)],
]

_ENDS = [[12, 2], [-1], [0, -1], [0, 0, -1], [-1, 2], [0, 2, 4], (6, -1)]
SHAPES = [
    *[case("reshape", X, shape) for shape in _ENDS],
    case("reshape", X, np.array([3, 8]), open_batch=False, static=False),
    case("reshape-size", X, call=lambda F, x: F.reshape(x, [F.shape(x)[0], -1])),
    case("reshape-sizes", X, call=lambda F, x: F.reshape(x, [F.shape(x)[0] * 4, 2])),
    *[case("flatten", X, start, stop) for start, stop in ((0, 1), (1, 2), (1, 1))],
    case("flatten", ZERO_D),
    *[case("squeeze", ROW, axis) for axis in (None, 1, [1, 3], 0, (1, 2))],
    *[case("unsqueeze", X, axis) for axis in (3, [1, -1], (0, 0), [3, 1])],
    case("tile", M, [np.array(2), 1], static=False),
    *[case("expand", ROW, shape) for shape in ([3, 5, 4, 2], [-1, 5, -1, 2], [2, -1, 1, -1, 1])],
    case("expand-size", M, ROW, call=lambda F, m, r: F.expand(r, [F.shape(m)[0], 2, 4, 1])),
    case("stack", [ZERO_D, ZERO_D]),
    *[case("split", X, parts, -2) for parts in (2, [1, -1], [2, 1, 1])],
    case("slice", X, [2, 1], [0, 2], [100000000000, 2147483647]),
    case("slice", X, axes=[0, 1], starts=[np.array(0), 1], ends=[np.array(2), 9], static=False),
    case("repeat_interleave", M, np.array([1, 0, 2]), 0, static=False),
    *[
        case(name, X, axis=axis, keepdim=keepdim)
        for name in ("mean", "sum", "max", "prod", "var", "logsumexp", "argmax")
        for axis, keepdim in ((None, True), (1, False))
    ],
    *[case("sum", X, axis=axis) for axis in ([0, 2], (1, -1), [])],
    *[case(name, TIES, axis=axis) for name in ("max", "min", "argmax", "argmin") for axis in (None, 1)],
    *[case(name, INTS.astype(kind)) for name in ("sum", "mean", "max", "prod") for kind in ("int32", "int64")],
    *[case(name, INTS) for name in ("any", "all", "count_nonzero")],
    case("sum", MASK),
    *[case("cumsum", x, axis=axis) for x in (X, INTS) for axis in (None, 1)],
    case("var", X[:, :1], axis=1),
    case("logsumexp", np.array([1000, 1000], np.float32), tolerance=1e-3),
    case("norm", ZERO_ROW, 2, 1),
    case("norm", np.zeros(2, np.float32)),
    *[case("norm", TIES - 2, p, axis) for p in (1, 3, 0.5, 0, INF, -INF, "fro") for axis in (None, 1)],
]

A, B, BATCH, OTHER = floats(3, 4), floats(4, 2, seed=1), floats(5, 3, 4), floats(5, 4, 2, seed=1)
VECTOR, LENGTHS, IMAGE = floats(4, seed=2), np.array([3, 1, 0, 2]), floats(2, 3, 4, 5)
P, Q = positive(5, 4), positive(5, 4, seed=1)
ONES = (Q > 0.5).astype(np.float32)
SHARES, WEIGHT = Q / Q.sum(1, keepdims=True), positive(4, seed=2)
LABEL, IGNORED = np.array([0, 3, 2, 2, 1]), np.array([0, -100, 2, 2, 1])
L, PIXELS = floats(5, 4), np.array([[[0, 2], [1, 1]], [[2, 0], [0, 1]]])
SURE, SURE_LABEL = np.array([[0, 1, 0.5, 1e-30]], np.float32), np.array([[1, 0, 1, 1]], np.float32)
PRODUCTS = [
    *[case("matmul", x, y) for x, y in ((VECTOR, B), (A, VECTOR), (VECTOR, VECTOR), (BATCH, B), (VECTOR, OTHER))],
    case("matmul", A.T.copy(), B.T.copy(), True, True),
    case("matmul", VECTOR, B, True, gradient=False),
    case("matmul", floats(2, 1, 3, 4), OTHER, gradient=False),
    case("einsum", "...ij,jk->...ik", BATCH, B, gradient=False),
    case("linear", BATCH, B, floats(2)),
    case("sequence_mask", LENGTHS, static=False),
    case("sequence_mask", LENGTHS.astype(np.int32), np.array([3], np.int32), open_batch=False, static=False),
    case("pad", IMAGE, [1, 2, 3, 0], value=1.5),
    *[case("pad", M[None], [1, 2], mode, data_format="NLC") for mode in ("replicate", "reflect", "circular")],
    case("log_loss", SURE.T.copy(), SURE_LABEL.T.copy(), 1e-7),
    case("smooth_l1_loss", L, L),
    case("binary_cross_entropy", P, ONES, WEIGHT, "none"),
    case("binary_cross_entropy", SURE, SURE_LABEL, None, "none"),
    case("binary_cross_entropy_with_logits", L, ONES, None, "none", WEIGHT),
    *[case("kl_div", -P, ONES, reduction) for reduction in (*REDUCTIONS, "batchmean")],
    case("margin_ranking_loss", L, L, ONES * 2 - 1),
    *[
        case("cross_entropy", L, label, *weight, reduction=reduction)
        for label, *weight in ((LABEL,), (IGNORED,), (IGNORED[:, None], WEIGHT))
        for reduction in REDUCTIONS
    ],
    case("cross_entropy", L, np.full(5, -100)),
    *[case("cross_entropy", L, SHARES, soft_label=True, reduction=reduction) for reduction in REDUCTIONS],
    case("cross_entropy", L, SHARES, WEIGHT, soft_label=True, gradient=False),
    case("cross_entropy", SHARES, LABEL, use_softmax=False),
    *[case("cross_entropy", IMAGE[:, :, :2, :2], PIXELS, axis=1, reduction=reduction) for reduction in REDUCTIONS[:2]],
    case("cross_entropy", IMAGE[:, :, :2, :2], PIXELS[:, None], positive(3), axis=1),
    case("cross_entropy", L, LABEL, label_smoothing=0.1),
    case("cross_entropy", L, SHARES, soft_label=True, label_smoothing=0.1, reduction="sum"),
    case("softmax_with_cross_entropy", L, SHARES, soft_label=True, return_softmax=True),
    *[case("nll_loss", -P, IGNORED, WEIGHT, reduction=reduction) for reduction in REDUCTIONS],
    case("nll_loss", IMAGE[:, :, :2, :2], PIXELS),
]

NAN = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 2], np.float32)
SIGNS, PICKED = ONES * 2 - 1, np.array([[0, 1], [2, 0], [3, 1]])
SELDOM = [
    *[case(name, EDGES, 1.5) for name in ("celu", "softshrink", "hardshrink", "thresholded_relu")],
    *[case(name, *arguments) for name in ("fmax", "fmin") for arguments in (NAN, (TIES[0], TIES[2]), (INTS, OTHERS))],
    *[case("atan2", x, y) for x, y in ((M, floats(3, 4)), (INTS, OTHERS))],
    *[case("equal_all", M, other) for other in (M, M * 2, M[:1])],
    *[case(name, M, M + np.float32(1e-7)) for name in ("isclose", "allclose")],
    case("isclose", NAN[0], np.array([np.nan, INF, 2], np.float32), equal_nan=True),
    *[case("diag", x, offset) for x in (M, V) for offset in (0, 1, -1)],
    *[case(name, X, 1, 1, 2) for name in ("diagonal", "trace")],
    *[case("put_along_axis", M, PICKED, value, 1) for value in (floats(3, 2), 2.5)],
    case("put_along_axis", M, np.array([[0], [2], [3]]), 2.5, 1, "add", include_self=False, gradient=False),
    *[case(name, TIES, axis=axis) for name in ("amax", "amin") for axis in (None, 0, 1)],
    *[case("median", x, axis=axis) for x, axis in ((X, None), (X, 0), (X, 1), (INTS, 1))],
    case("nansum", np.array([[1, np.nan], [2, 3]], np.float32), 1),
    *[case("tensordot", *given) for given in ((BATCH, OTHER, [[0, 2], [0, 1]]), (A, B, 1))],
    *[case("logit", Q, *eps) for eps in ((), (0.3,))],
    *[case("sigmoid_focal_loss", L, ONES, *given) for given in ((), (np.array([3.0], np.float32), 0.3, 1.0))],
    *[case(name, L, SIGNS, reduction=r) for name in ("hinge_embedding_loss", "soft_margin_loss") for r in REDUCTIONS],
]

DTYPES = ("bool", "int32", "int64", "float32", "float64")
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt")


def operated(symbol: str, x: Any, y: Any) -> Case:
    """Return the case of an operator for dtypes or numbers."""
    values = zip(([1, 2, 3], [1, 3, 2]), (x, y), strict=True)
    operands = [np.array(value).astype(kind) if isinstance(kind, str) else kind for value, kind in values]
    return case(f"{symbol}-{x}-{y}", *operands, call=lambda F, a, b: getattr(F.operators, symbol)(a, b))


def computable(symbol: str, x: str, y: object) -> bool:
    """Say whether Paddle computes it: it has no arithmetic of bools."""
    # The gradient of a float tensor that is divided into ints is an int in Paddle: nothing to have.
    if symbol == "truediv" and x in DTYPES[:3] and y in DTYPES[3:]:
        return False
    return not (x == "bool" and symbol in ("add", "sub", "floordiv", "mod", "pow") and y != 0.5)


PROMOTED = [
    *[operated(s, x, y) for s in OPERATORS for x in DTYPES for y in (*DTYPES, 2, 0.5) if computable(s, x, y)],
    *[operated(s, n, x) for s in ("sub", "truediv", "pow", "lt") for x in DTYPES[1:] for n in (2, 0.5)],
]
# The optimizer of graphs moves constants between sums: where digits matter, the functions have to prevent it.
OPTIMIZED = [
    case("log_loss", SURE.T.copy(), SURE_LABEL.T.copy(), 1e-7),
    case("binary_cross_entropy", SURE, SURE_LABEL, None, "none"),
    case("cross_entropy", L, LABEL),
]


@pytest.mark.each_case
@pytest.mark.parametrize("cases", [ELEMENTS, PLACES, SHAPES, PRODUCTS, SELDOM, PROMOTED])
def test_as_in_paddle(cases: list[Case]) -> None:
    assert Table(cases).differences() == []


def test_as_in_paddle_where_the_graph_is_optimized() -> None:
    assert Table(OPTIMIZED, optimized=True).differences() == []


def drawn(call: Any, runs: int = 1) -> list[Any]:
    """Return what the function draws in a session with a seed."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.set_random_seed(3)
        result = call(functional)
        values = [session.run(result) for _ in range(runs)]
        assert result.shape.is_compatible_with(values[0].shape)
    return values


def test_distributions_of_random_functions() -> None:
    (uniform,) = drawn(lambda F: F.uniform([20000], min=-1.0, max=3.0))
    assert -1 <= uniform.min() < -0.99 and 2.99 < uniform.max() < 3 and abs(uniform.mean() - 1) < 0.05
    (normal,) = drawn(lambda F: F.normal(2.0, 0.5, [20000]))
    assert abs(normal.mean() - 2) < 0.02 and abs(normal.std() - 0.5) < 0.02
    (ints,) = drawn(lambda F: F.randint(2, 5, [3000]))
    assert set(ints.tolist()) == {2, 3, 4}
    first, second = drawn(lambda F: F.randperm(50), runs=2)
    assert sorted(first.tolist()) == list(range(50)) and first.tolist() != second.tolist()
    (chosen,) = drawn(lambda F: F.multinomial(F.to_tensor([[1.0, 3.0]]), 4000, True))
    assert abs(chosen.mean() - 0.75) < 0.03
    (apart,) = drawn(lambda F: F.multinomial(F.to_tensor([[1.0, 3.0, 0.0, 2.0]] * 500), 3))
    assert all(sorted(row) == [0, 1, 3] for row in apart.tolist())
    assert abs((apart[:, 0] == 1).mean() - 0.5) < 0.08
