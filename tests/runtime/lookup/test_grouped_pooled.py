"""Lookups of many tables in one op are those one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table, rows_of, session

ROWS = 24
COMBINERS = ("sum", "mean", "sqrtn")
GROUPED: dict[bool, Callable[..., list[tf.Tensor]]] = {
    False: runtime.grouped_embedding_lookup_sparse,
    True: runtime.grouped_safe_embedding_lookup_sparse,
}
SINGLE: dict[bool, Callable[..., tf.Tensor]] = {
    False: runtime.embedding_lookup_sparse,
    True: runtime.safe_embedding_lookup_sparse,
}
STOCK: dict[bool, Callable[..., tf.Tensor]] = {
    False: tf.nn.embedding_lookup_sparse,
    True: tf.nn.safe_embedding_lookup_sparse,
}


def values_of(i: int) -> np.ndarray:
    return np.random.default_rng(100 + i).normal(size=[ROWS, 1 + i % 5]).astype(np.float32)


def bags_of(i: int, lowest: int) -> tuple[Any, Any]:
    """Ids and weights (None for every third table): ragged for odd tables, sparse for even ones, some rows empty."""
    random = np.random.default_rng(i)
    sizes = random.integers(0, 12, size=7)
    ids, weights = random.integers(lowest, ROWS, size=sizes.sum()), random.random(sizes.sum(), np.float32) + 0.5
    ragged = [
        tf.RaggedTensor.from_row_lengths(tf.constant(part, kind), sizes)
        for part, kind in ((ids, (tf.int64, tf.int32)[i % 2]), (weights, tf.float32))
    ]
    both = ragged if i % 2 else [part.to_sparse() for part in ragged]
    return both[0], None if i % 3 == 0 else both[1]


def flat(part: Any) -> list[Any]:
    return [] if part is None else [part.values]


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.one_case
def test_values_and_gradients_are_those_of_single_lookups_and_of_stock(safe: bool) -> None:
    tables = [make_table(f"t{i}", dim=values_of(i).shape[1]) for i in range(6)]
    stock = [tf.compat.v1.get_variable(f"stock{i}", initializer=values_of(i)) for i in range(6)]
    bags = [bags_of(i, -3 if safe else 0) for i in range(6)]
    combiners = [COMBINERS[i % len(COMBINERS)] for i in range(6)]
    norms = [None if i % 4 else 1.5 for i in range(6)]
    extra = {"default_id": 5} if safe else {}
    grouped = GROUPED[safe]([(t, *b) for t, b in zip(tables, bags, strict=True)], combiners, max_norm=norms, **extra)
    lookups = [
        [look(p, *b, combiner=c, max_norm=n, **extra) for p, b, c, n in zip(many, bags, combiners, norms, strict=True)]
        for look, many in ((SINGLE[safe], tables), (STOCK[safe], stock))
    ]
    sources = [[t.variable, *flat(b[1])] for t, b in zip(tables, bags, strict=True)]
    gradients = [
        tf.gradients(tf.add_n([tf.reduce_sum(tf.sin(one)) for one in many]), tf.nest.flatten(sources))
        for many in (grouped, lookups[0])
    ]
    types = [op.type for op in tf.compat.v1.get_default_graph().get_operations() if op.type.startswith("RecPooled")]
    assert types.count("RecPooledLookupOrInsertGroup") == types.count("RecPooledGradientGroup") == 1
    assert [one.shape.as_list() for one in grouped] == [one.shape.as_list() for one in lookups[0]]
    with session() as opened:
        opened.run([t.import_rows(np.arange(ROWS), values_of(i)) for i, t in enumerate(tables)])
        ours, single, theirs = opened.run([grouped, *lookups])
        for i, (one, other, wanted) in enumerate(zip(ours, single, theirs, strict=True)):
            np.testing.assert_array_equal(one, other)
            exact = bags[i][1] is None and norms[i] is None
            np.testing.assert_allclose(one, wanted, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)
        for one, other in zip(*opened.run(gradients), strict=True):
            pairs = [(one, other)] if isinstance(one, np.ndarray) else zip(one[:2], other[:2], strict=True)
            for part, wanted in pairs:
                np.testing.assert_array_equal(part, wanted)
                assert np.any(part)


@pytest.mark.usefixtures("graph")
def test_a_table_may_come_twice_and_updates_wait_for_the_lookup() -> None:
    table, other = make_table(), make_table("other", dim=2)
    ids = [tf.sparse.from_dense([[1, 2]]), tf.sparse.from_dense([[2, 3]])]
    ids = [tf.SparseTensor(one.indices, tf.cast(one.values, tf.int64), one.dense_shape) for one in ids]
    rows = runtime.grouped_embedding_lookup_sparse([(table, ids[0]), (other, ids[0]), (table, ids[1])], "sum")
    step = adagrad.create_hash_optimizer(1.0, 1e-9).minimize(tf.add_n([tf.reduce_sum(one) for one in rows]))
    with session() as opened:
        before = rows_of(opened, table, [1, 2, 3])
        got = opened.run([rows, step])[0]
        np.testing.assert_allclose(got[0][0], before[0] + before[1], rtol=1e-6)
        np.testing.assert_allclose(got[2][0], before[1] + before[2], rtol=1e-6)
        # Adagrad moves by g / sqrt(g^2) when the gradients of one key were summed first.
        np.testing.assert_allclose(before - rows_of(opened, table, [1, 2, 3]), np.ones([3, 4]), rtol=1e-5)


@pytest.mark.usefixtures("graph")
def test_refuses() -> None:
    table = make_table()
    ids = tf.ragged.constant([[1]], dtype=tf.int64)
    look = runtime.grouped_embedding_lookup_sparse
    with pytest.raises(ValueError, match="nothing to look up"):
        look([])
    with pytest.raises(ValueError, match="combiner must be one of"):
        look([(table, ids)], combiner="max")
    with pytest.raises(ValueError, match="`combiner` has 1 values for 2 lookups"):
        look([(table, ids), (table, ids)], combiner=["sum"])
    with pytest.raises(ValueError, match="takes \\(table, ids\\) or"):
        look([(table,)])
    with pytest.raises(TypeError, match="use sparse_lookup for dense ids"):
        look([(table, [[1]])])
    failing = look([(table, ids), (table, tf.ragged.constant([[-1]], dtype=tf.int64))])
    with session() as opened:
        with pytest.raises(tf.errors.InvalidArgumentError, match="id -1 at 0 is negative"):
            opened.run(failing)
        assert opened.run(table.size()) == 0, "all are checked before any inserts"


@pytest.mark.usefixtures("graph")
def test_updates_wait_for_grouped_lookups_of_the_same_step() -> None:
    table, other = make_table(), make_table("other")
    ids = tf.compat.v1.placeholder(tf.int64, [None])
    rows = runtime.sparse_lookup(table, ids)
    step = adagrad.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows))
    seen, _ = runtime.grouped_lookup([(table, ids), (other, ids)])
    with session() as opened:
        for _ in range(20):
            before = opened.run(seen, {ids: [1]})
            got, _ = opened.run([seen, step], {ids: [1]})
            np.testing.assert_array_equal(got, before)


@pytest.mark.usefixtures("graph")
def test_switches_and_ragged_ids() -> None:
    table, other = make_table(), make_table("other")
    training = tf.compat.v1.placeholder(tf.bool, [])
    ragged = tf.ragged.constant([[1], [], [2, 3]], dtype=tf.int64)
    first, second = runtime.grouped_lookup([(table, ragged), (other, 7)], is_train=training)
    assert first.shape.as_list() == [3, None, 4]
    assert second.shape.as_list() == [4]
    with session() as opened:
        values = opened.run(first, {training: False})
        assert opened.run([table.size(), other.size()]) == [0, 0]
        np.testing.assert_array_equal(values.flat_values, opened.run(first, {training: True}).flat_values)
        assert opened.run([table.size(), other.size()]) == [3, 1]
    third = make_table("third")
    assert tf.gradients(runtime.grouped_lookup([(third, [1])], is_grad=False)[0], third.variable) == [None]


@pytest.mark.usefixtures("graph")
def test_refuses_in_single_lookups() -> None:
    table = make_table()
    with pytest.raises(ValueError, match="nothing to look up"):
        runtime.grouped_lookup([])
    with pytest.raises(ValueError, match="float32: cast them"):
        runtime.grouped_lookup([(table, [1.0])])
    with pytest.raises(ValueError, match="pool them"):
        runtime.grouped_lookup([(table, tf.sparse.from_dense([[1]]))])
    with pytest.raises(ValueError, match="Invalid parameter type of para `hashtable`"):
        runtime.grouped_lookup([("user", [1])])
    with pytest.raises(ValueError, match="Invalid parameter type of para `is_train`"):
        runtime.grouped_lookup([(table, [1])], is_train="yes")
