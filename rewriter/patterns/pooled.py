"""Pooled lookups that are a single op: `embedding_lookup_sparse` on a variable's value creates SparseSegmentSum.

On a variable itself it creates a gather of distinct ids and segments of the rows; that gather is an ordinary lookup.
`tf.sparse.sparse_dense_matmul(features, w)` pools, too: the columns of its entries are ids, and their values weights.
"""

from __future__ import annotations

from rewriter.graph.view import GraphView

#: Op types; input 0 is the table, input 1 the ids. The ops stay, and pool the rows that the new lookup returns.
SEGMENTS = tuple(
    f"SparseSegment{combiner}{form}" for combiner in ("Sum", "Mean", "SqrtN") for form in ("", "WithNumSegments")
)

#: Its inputs are indices [n, 2], values [n] and shape [2] of a sparse matrix, and a dense matrix, here the table.
PRODUCT = "SparseTensorDenseMatMul"


def is_product(view: GraphView, op: str, number: int) -> bool:
    """Whether an op multiplies a sparse matrix by a variable at its input `number`, neither of them transposed."""
    return view.type(op) == PRODUCT and number == 3 and _transposed(view, op) == (False, False)


def is_gradient_of_product(view: GraphView, op: str) -> bool:
    """Whether an op multiplies a transposed sparse matrix by a matrix: what `is_product` gives the variable."""
    return view.type(op) == PRODUCT and _transposed(view, op) == (True, False)


def _transposed(view: GraphView, op: str) -> tuple[bool, bool]:
    first, second = (bool(view.attribute(op, name).b) for name in ("adjoint_a", "adjoint_b"))
    return first, second
