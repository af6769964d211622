"""Products of matrices and vectors, sequences and padding: as in Paddle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.paddle.functions import Table, case, floats

pytestmark = pytest.mark.paddle

A, B = floats(3, 4), floats(4, 2, seed=1)
V, W = floats(4, seed=2), floats(3, seed=3)
BATCH, OTHER = floats(5, 3, 4), floats(5, 4, 2, seed=1)
LENGTHS = np.array([3, 1, 0, 2])
IMAGE, LINE = floats(2, 3, 4, 5), floats(2, 3, 4)

TABLE = Table(
    [
        case("matmul", A, B),
        case("matmul", A, B.T.copy(), transpose_y=True),
        case("matmul", A.T.copy(), B, True),
        case("matmul", A.T.copy(), B.T.copy(), True, True),
        case("matmul", V, B),
        case("matmul", A, V),
        case("matmul", V, V),
        case("matmul", V, B, True, gradient=False),
        case("matmul", A, V, False, True, gradient=False),
        case("matmul", BATCH, OTHER),
        case("matmul", BATCH, B),
        case("matmul", A, OTHER),
        case("matmul", V, OTHER),
        case("matmul", BATCH, V),
        case("matmul", BATCH, floats(5, 2, 4), transpose_y=True),
        case("matmul", floats(2, 1, 3, 4), OTHER, gradient=False),
        case("matmul-operator", A, B, call=lambda F, x, y: F.operators.matmul(x, y)),
        case("mm", A, B),
        case("mv", A, V),
        case("bmm", BATCH, OTHER),
        case("dot", V, V + 1),
        case("dot", A, A + 1),
        case("inner", A, floats(2, 4)),
        case("inner", V, V),
        case("outer", V, W),
        case("addmm", floats(3, 2), A, B, beta=0.5, alpha=2.0),
        case("einsum", "bij,bjk->bik", BATCH, OTHER),
        case("einsum", "ij,j->i", A, V),
        case("einsum", "i, j -> ij", V, W),
        case("einsum", "bij->bji", BATCH),
        case("einsum", "...ij,jk->...ik", BATCH, B, gradient=False),
        case("linear", A, B, floats(2)),
        case("linear", BATCH, B),
        case("linear", BATCH, B, floats(2)),
        case("bilinear", A, floats(3, 2), floats(5, 4, 2), floats(1, 5)),
        case("tensordot", BATCH, OTHER, [[0, 2], [0, 1]]),
        case("tensordot", A, B, 1),
        case("trace", A),
        case("trace", BATCH, 1, 1, 2),
        case("sequence_mask", LENGTHS, static=False),
        case("sequence_mask", LENGTHS, 4, "float32"),
        case("sequence_mask", LENGTHS.reshape(4, 1), maxlen=3, dtype="bool"),
        case("sequence_mask", LENGTHS.astype(np.int32), np.array([3], np.int32), open_batch=False, static=False),
        case("pad", A, [1, 0, 0, 2]),
        case("pad", IMAGE, [1, 2, 3, 0], value=1.5),
        case("pad", IMAGE, [1, 1, 1, 1], "constant", 0.0, "NHWC"),
        case("pad", LINE, [1, 2], data_format="NCL"),
        case("pad", LINE, [1, 2], "replicate", data_format="NCL"),
        case("pad", LINE, [1, 2], "reflect", data_format="NLC"),
        case("pad", LINE, [1, 2], "circular", data_format="NCL"),
        case("pad", IMAGE, [1, 0, 2, 1], mode="reflect"),
    ]
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []
