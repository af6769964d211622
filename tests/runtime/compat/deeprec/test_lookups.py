"""`tf.nn` look-ups of EmbeddingVariables, composed ones, and those that create keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec

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


def _trained(rec: Any, emb: Any, steps: int = 3) -> tuple[Any, Any]:
    """Return the rows before and after some Adagrad steps."""
    train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(rec.square(emb) + emb))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        before = session.run(emb)
        for _ in range(steps):
            session.run(train)
        return before, session.run(emb)


def test_blocks_that_an_id_has_not_are_zeros_and_are_not_trained(rec: Any) -> None:
    blocks = rec.get_dynamic_dimension_embedding_variable("user", 2, 3, initializer=rec.ones_initializer())
    emb = rec.nn.embedding_lookup(blocks, [[4, 5], [6, 7]], blocknums=[[3, 2], [1, 0]])
    assert emb.shape == [2, 2, 6]
    counts = [block.total_count() for block in blocks.blocks]
    train = rec.train.GradientDescentOptimizer(0.5).minimize(rec.reduce_sum(emb))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        assert session.run(emb).sum(-1).tolist() == [[6, 4], [2, 0]]
        session.run(train)
        assert session.run(emb).sum(-1).tolist() == [[3, 2], [1, 0]]
        assert [count[0] for count in session.run(counts)] == [3, 2, 1]
    assert blocks.mainev().table.table_name == "user/block0"


def test_a_lookup_of_blocks_needs_their_number(rec: Any) -> None:
    blocks = rec.get_dynamic_dimension_embedding_variable("user", 2, 3)
    with pytest.raises(ValueError, match="needs `blocknums`"):
        rec.nn.embedding_lookup(blocks, [1])
    with pytest.raises(ValueError, match="no sparse lookup"):
        rec.nn.embedding_lookup_sparse(blocks, rec.SparseTensor([[0, 0]], [1], [1, 1]), None)


@pytest.mark.parametrize(
    ("operation", "split"), [("concat", True), ("concat", False), ("add", False), ("mul", False), ("mult", False)]
)
def test_a_multihash_variable_is_quotient_and_remainder(rec: Any, operation: str, split: bool) -> None:
    # Where a variable is split its parts draw other numbers than the whole.
    make = {"initializer": rec.ones_initializer() if split else rec.glorot_uniform_initializer(seed=4)}

    def composed() -> Any:
        ids = rec.constant([[0, 1, 2], [3, 4, 14]])
        parts = {"partitioner": rec.fixed_size_partitioner(2)} if split else {}
        variable = rec.get_multihash_variable("user", [[5, 6], [3, 6]], operation=operation, **make, **parts)
        return rec.nn.embedding_lookup(variable, ids)

    def by_hand() -> Any:
        ids = rec.constant([[0, 1, 2], [3, 4, 14]])
        quotients = rec.nn.embedding_lookup(rec.get_variable("Q", [5, 6], **make), ids // 5)
        remainders = rec.nn.embedding_lookup(rec.get_variable("R", [3, 6], **make), ids % 3)
        if operation == "concat":
            return rec.concat([quotients, remainders], -1)
        return quotients + remainders if operation == "add" else quotients * remainders

    results = []
    for build in (composed, by_hand):
        with tf.Graph().as_default():
            rec.set_random_seed(1)
            results.append(_trained(rec, build()))
    assert results[0][1].shape == (2, 3, 12 if operation == "concat" else 6)
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dims": [[2, 2], [2, 2]], "complementary_strategy": "other"}, 'only "Q-R" with 2 parts'),
        ({"dims": [[2, 2], [2, 2]], "operation": "max"}, "must be one of"),
        ({"dims": [[2, 2]]}, "two shapes"),
        ({"dims": [[2, 2], [2, 3]]}, "one dim to add"),
    ],
)
def test_arguments_of_a_multihash_variable(rec: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rec.get_multihash_variable("user", **arguments)


@pytest.fixture
def old() -> Iterator[Any]:
    """TensorFlow with the names of DeepRec until 2022, in a fresh v1 graph."""
    deeprec.install(lookups_create=True)
    try:
        with tf.Graph().as_default():
            yield tf
    finally:
        deeprec.uninstall()


def _made(old: Any, initializer: Any = None, **options: Any) -> Any:
    initial = initializer or old.ones_initializer(old.float32)
    return old.get_embedding_variable("user", 3, initializer=initial, ev_option=old.EmbeddingVariableOption(**options))


def _session(old: Any) -> Any:
    session = old.Session()
    session.run(old.global_variables_initializer())
    return session


@pytest.mark.parametrize("bloom", [False, True])
def test_a_key_is_read_after_as_many_look_ups_as_the_filter_says(old: Any, bloom: bool) -> None:
    chosen = old.CBFFilter(3, 10, 0.01) if bloom else old.CounterFilter(3)
    init = old.InitializerOption(default_value_no_permission=0.5)
    variable = _made(old, filter_option=chosen, init_option=init)
    rows = old.nn.embedding_lookup(variable, [7])
    with _session(old) as session:
        assert [session.run(rows)[0, 0] for _ in range(5)] == [0.5, 0.5, 0.5, 1, 1]


def test_five_steps_are_those_of_a_variable(old: Any) -> None:
    variable = _made(old)
    stock = old.get_variable("stock", [10, 3], initializer=old.ones_initializer(old.float32))
    optimizer, ids = old.train.AdagradOptimizer(0.1), [0, 1, 1, 5, 9]
    read = [old.nn.embedding_lookup(one, ids) for one in (variable, stock)]
    train = optimizer.minimize(old.add_n([old.reduce_sum(one * one) for one in read]))
    with _session(old) as session:
        for _ in range(5):
            ours, expected, _ = session.run([*read, train])
            np.testing.assert_allclose(ours, expected, rtol=1e-6)
