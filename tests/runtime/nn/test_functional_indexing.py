"""Picks by index, mask and order, and subscripts: as in Paddle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.paddle.functions import Case, Table, case, floats

pytestmark = pytest.mark.paddle

X = floats(3, 4, 2)
M = floats(3, 4, seed=1)
VECTOR = floats(6)
IDS = np.array([[0, 2, 1], [2, 2, 0]])
TIES = np.array([[1, 3, 3, 1], [2, 2, 2, 2], [4, 0, 4, 0]], np.float32)
S = np.s_


def read(x: np.ndarray, *index: Any, static: bool = True) -> Case:
    """Return the case of a subscript, in which arrays are tensors."""
    return case(
        f"getitem{index}".replace("\n", ""),
        x,
        *index,
        call=lambda F, t, *i: F.operators.getitem(t, i if len(i) > 1 else i[0]),
        static=static,
    )


TABLE = Table(
    [
        case("gather", X, np.array([2, 0, 2])),
        case("gather", X, np.array([[2], [0]])),
        case("gather", X, np.array(1)),
        # Paddle's gradient of other axes than the first repeats the first row of the upstream gradient, or fails.
        case("gather", X, np.array([3, 0], np.int32), axis=1, gradient=False),
        case("gather", X, np.array([1]), 2, gradient=False),
        case("gather_nd", X, np.array([[0, 1], [2, 3]])),
        case("gather_nd", X, np.array([[[0], [1]], [[2], [2]]])),
        case("gather_nd", X, np.array([[0, 1, 1]])),
        case("index_select", X, np.array([2, 0, 2])),
        case("index_select", X, np.array([1, 3]), 1),
        case("masked_select", M, M > 0, static=False),
        case("masked_select", X, X > 1, static=False),
        case("nonzero", M > 0, static=False),
        case("nonzero", np.array([[1, 0], [0, 3]]), as_tuple=True, static=False),
        case("take_along_axis", M, np.array([[0, 1], [2, 0], [3, 3]]), 1),
        case("take_along_axis", M, np.array([[0, 1, 2, 0]]), 0),
        case("take_along_axis", X, np.array([[[0], [2]]]), 1),
        case("put_along_axis", M, np.array([[0, 1], [2, 0], [3, 1]]), floats(3, 2, seed=5), 1),
        case("put_along_axis", M, np.array([[0, 1], [2, 2], [3, 1]]), floats(3, 2, seed=5), 1, "add"),
        case("put_along_axis", M, np.array([[0, 1], [2, 1]]), floats(2, 2, seed=5), 1, broadcast=False),
        case("put_along_axis", M, np.array([[0], [2], [3]]), 2.5, 1, "add", include_self=False, gradient=False),
        case("put_along_axis", M, np.array([[2, 0, 1, 1]]), 1.5, 0),
        case("index_sample", M, np.array([[0, 1], [2, 0], [3, 3]])),
        case("scatter", M, np.array([2, 0]), floats(2, 4, seed=5)),
        case("scatter", M, np.array([2, 2, 0]), floats(3, 4, seed=5), overwrite=False),
        case("scatter_nd_add", M, np.array([[2, 1], [2, 1], [0, 0]]), floats(3, seed=5)),
        case("scatter_nd", np.array([[2], [2], [0]]), floats(3, seed=5), [4]),
        *[case("topk", X, 2, axis) for axis in (None, 1, 0)],
        case("topk", M, 3, largest=False),
        case("topk", VECTOR, np.array([2]), open_batch=False, static=False),
        *[case("argsort", X, axis, descending) for axis in (-1, 1, 0) for descending in (False, True)],
        *[case("sort", X, axis, descending) for axis in (-1, 1, 0) for descending in (False, True)],
        case("sort", np.array([[3, 1, 2]])),
        case("one_hot", IDS, 4),
        case("one_hot", np.array([1, 0]), num_classes=3),
        case("embedding", IDS, M),
        case("embedding", IDS, M, padding_idx=2),
        case("embedding", IDS.astype(np.int32), M, -1),
        case("embedding", IDS[0], M, sparse=False),
        read(X, 0),
        read(X, -1),
        read(X, S[:], 1),
        read(X, S[1:], S[:2]),
        read(X, S[:], S[-2:], 0),
        read(X, Ellipsis, 1),
        read(X, Ellipsis, S[1:]),
        read(X, None),
        read(X, S[:], None, 1),
        read(X, Ellipsis, None),
        read(X, None, Ellipsis, 0),
        read(X, S[::-1]),
        read(X, S[:], S[::-1]),
        read(X, S[:], S[3:0:-2]),
        read(X, S[:], S[::2]),
        read(X, S[:], S[1:100]),
        read(VECTOR, S[-4:-1]),
        read(VECTOR, [0, 2, 2]),
        read(VECTOR, np.array([0, 5, 2])),
        read(X, [2, 0]),
        read(X, (S[:]), [3, 0]),
        read(X, np.array([2, 0])),
        read(X, IDS),
        read(X, np.array(1)),
        read(X, S[:], np.array(1)),
        read(X, S[:], np.array([3, 0])),
        read(X, S[:], S[:], np.array([1])),
        read(X, [0, 2], [1, 3]),
        read(X, [0, 2], S[:], [1, 0]),
        read(floats(2, 3, 2, 4), S[:], [2, 0], S[:], [1, 3]),
        read(floats(2, 3, 2, 4), 0, [2, 0], S[:], [1, 3]),
        read(X, S[:], [0, 2], [1, 0]),
        read(X, np.array([[0], [2]]), np.array([1, 3])),
        read(X, S[1:], [0, 2]),
        read(X, 1, [0, 2]),
        read(X, Ellipsis, [1, 0]),
        read(M, M > 0, static=False),
        read(X, M > 0, static=False),
        read(X, np.array([True, False, True]), static=False),
        read(X, S[:], np.array([True, False, True, True]), static=False),
        read(M, S[:], np.array([True, False, True, True]), static=False),
        read(np.arange(12).reshape(3, 4), S[1:], 0),
        read(X > 0, S[1:], 0),
    ]
)


def test_as_in_paddle() -> None:
    assert TABLE.differences() == []
