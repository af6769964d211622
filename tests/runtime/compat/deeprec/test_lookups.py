"""`tf.nn` look-ups of EmbeddingVariables give what they give of a variable with the same rows, gradients included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

_KINDS = ("plain", "counted", "parts")


def _pair(rec: Any, kind: str, rows: int = 10, dim: int = 3) -> tuple[Any, Any]:
    """Return EmbeddingVariable and variable with the same rows."""
    matrix = np.random.default_rng(3).normal(size=(rows, dim)).astype(np.float32)
    init = rec.InitializerOption(initializer=rec.constant_initializer(matrix), default_value_dim=rows)
    ours = rec.get_embedding_variable(
        "ours",
        dim,
        ev_option=rec.EmbeddingVariableOption(
            init_option=init, evict_option=rec.GlobalStepEvict(5) if kind == "counted" else None
        ),
        partitioner=rec.fixed_size_partitioner(3) if kind == "parts" else None,
    )
    return ours, rec.get_variable("theirs", initializer=matrix, use_resource=True)


def _compare(rec: Any, ours: Any, theirs: Any, look_up: Any) -> None:
    """Train both for three steps by what `look_up` gives of them, and compare what they read."""
    found = [look_up(ours), look_up(theirs)]
    assert found[0].shape.as_list() == found[1].shape.as_list() or found[0].shape.rank == 2
    optimizer = rec.train.AdagradOptimizer(0.1)
    parts = [ours] if not isinstance(ours, (list, tuple)) and hasattr(ours, "table") else list(ours)
    loss = rec.add_n([rec.reduce_sum(rec.square(one) + one) for one in found])
    train = optimizer.minimize(loss, var_list=[*parts, theirs])
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for step in range(3):
            one, other, _ = session.run([*found, train])
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=f"step {step}")


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_embedding_lookup_sparse(rec: Any, kind: str, combiner: str, weighted: bool, max_norm: float | None) -> None:
    ours, theirs = _pair(rec, kind)
    indices = [[0, 0], [0, 4], [1, 0], [3, 1], [3, 2], [3, 7]]
    ids = rec.SparseTensor(indices, rec.constant([1, 2, 1, 9, 9, 0], rec.int64), [5, 4])
    weights = rec.SparseTensor(indices, [0.5, 1.0, 2.0, 1.5, 0.25, 1.0], [5, 4]) if weighted else None
    _compare(
        rec,
        ours,
        theirs,
        lambda one: rec.nn.embedding_lookup_sparse(one, ids, weights, combiner=combiner, max_norm=max_norm),
    )


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("default_id", [None, 4])
def test_safe_embedding_lookup_sparse(
    rec: Any, kind: str, combiner: str, weighted: bool, default_id: int | None
) -> None:
    ours, theirs = _pair(rec, kind)
    indices = [[0, 0], [0, 1], [1, 0], [3, 1], [3, 2], [3, 3]]
    ids = rec.SparseTensor(indices, rec.constant([1, -2, -1, 9, 9, 0], rec.int64), [5, 4])
    weights = rec.SparseTensor(indices, [0.5, 1.0, 2.0, 1.5, 0.0, 1.0], [5, 4]) if weighted else None

    def look_up(one: Any) -> tf.Tensor:
        return rec.nn.safe_embedding_lookup_sparse(one, ids, weights, combiner=combiner, default_id=default_id)

    _compare(rec, ours, theirs, look_up)


def test_lookups_that_are_refused(rec: Any) -> None:
    ours, theirs = _pair(rec, "plain")
    with pytest.raises(ValueError, match="must all be EmbeddingVariables with equal dims"):
        rec.nn.embedding_lookup([ours, theirs], [1])
    with pytest.raises(ValueError, match="prune=False"):
        rec.nn.safe_embedding_lookup_sparse(ours, rec.sparse.from_dense([[1]]), prune=False)
    from runtime.compat import deeprec

    for function in (deeprec.embedding_lookup, deeprec.embedding_lookup_sparse, deeprec.safe_embedding_lookup_sparse):
        with pytest.raises(ValueError, match="is not an EmbeddingVariable"):
            function(theirs, rec.sparse.from_dense([[1]]) if "sparse" in function.__name__ else [1])
