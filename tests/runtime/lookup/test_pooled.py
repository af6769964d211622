"""Pooled lookups beside `tf.nn.embedding_lookup_sparse` and its safe variant: values, gradients, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")
VOCABULARY, DIM = 30, 5
VALUES = np.random.default_rng(3).normal(size=[VOCABULARY, DIM]).astype(np.float32)
STOCK: dict[bool, Callable[..., tf.Tensor]] = {
    False: tf.nn.embedding_lookup_sparse,
    True: tf.nn.safe_embedding_lookup_sparse,
}
OURS: dict[bool, Callable[..., tf.Tensor]] = {
    False: runtime.embedding_lookup_sparse,
    True: runtime.safe_embedding_lookup_sparse,
}
INVALID = tf.errors.InvalidArgumentError


class Pair:
    """The same rows in a table and in a stock variable, with one feedable batch of ids and weights."""

    def __init__(self, dtype: tf.DType = tf.int64, rank: int = 2) -> None:
        self.table = make_table(dim=DIM)
        self.variable = tf.compat.v1.get_variable("stock", initializer=VALUES)
        self.indices = tf.compat.v1.placeholder(tf.int64, [None, rank])
        self.ids = tf.compat.v1.placeholder(dtype, [None])
        self.weights = tf.compat.v1.placeholder(tf.float32, [None])
        self.shape = tf.compat.v1.placeholder(tf.int64, [rank])
        self.seed = tf.compat.v1.placeholder(tf.int64, [])
        imported = self.table.import_rows(np.arange(VOCABULARY), VALUES)
        self.session = session()
        self.session.run(imported)

    def sparse(self, values: tf.Tensor) -> tf.SparseTensor:
        return tf.SparseTensor(self.indices, values, self.shape)

    def ragged(self, values: tf.Tensor) -> tf.RaggedTensor:
        return tf.RaggedTensor.from_value_rowids(values, self.indices[:, 0], self.shape[0])

    def both(self, kind: str, weighted: bool, safe: bool, **arguments: Any) -> list[Any]:
        """Return [pooled, gradient of the rows, gradient of the weights] of stock, then of ours."""
        wrap = getattr(self, kind)
        weights = wrap(self.weights) if weighted else None
        sources = [self.weights] if weighted else []
        stock = STOCK[safe](self.variable, wrap(self.ids), weights, **arguments)
        ours = OURS[safe](self.table, wrap(self.ids), weights, **arguments)
        direction = tf.random.stateless_normal(tf.shape(stock), [self.seed, 1])
        wanted = tf.gradients(tf.reduce_sum(stock * direction), [self.variable, *sources])
        given = tf.gradients(tf.reduce_sum(ours * direction), [self.table.variable, *sources])
        slices = given[0]
        given[0] = tf.scatter_nd(slices.indices[:, None], slices.values, [VOCABULARY, DIM])
        self.keys = slices.indices
        return [stock, *map(tf.convert_to_tensor, wanted), ours, *map(tf.convert_to_tensor, given)]

    def feed(self, indices: Any, ids: Any, weights: Any, shape: Any) -> dict[Any, Any]:
        rank = self.shape.shape[0]
        return {
            self.indices: np.asarray(indices, np.int64).reshape(-1, rank),
            self.ids: np.asarray(ids, np.int64),
            self.weights: np.asarray(weights, np.float32),
            self.shape: shape,
            self.seed: 5,
        }


def batch(rows: list[list[tuple[int, float]]]) -> tuple[Any, Any, Any, Any]:
    """The SparseTensor parts of rows of (id, weight)."""
    indices = [(r, c) for r, row in enumerate(rows) for c in range(len(row))]
    flat = [pair for row in rows for pair in row]
    return indices, [i for i, _ in flat], [w for _, w in flat], [len(rows), max([1, *map(len, rows)])]


def batches(lowest: int, seed: int) -> Iterator[list[list[tuple[int, float]]]]:
    """Rows of 0 to 20 ids from `lowest` on (several of the pieces in which rows are added); some weights are 0."""
    random = np.random.default_rng(seed)
    for _ in range(40):
        sizes = random.choice([0, 1, 2, 5, 8, 9, 10, 15, 16, 17, 20], random.integers(1, 9))
        ids = [random.integers(lowest, random.choice([2, VOCABULARY]), size).tolist() for size in sizes]
        yield [[(one, float(random.choice([0, 0.5, *random.normal(size=4)]))) for one in row] for row in ids]


def compare(results: list[np.ndarray], exact: bool) -> None:
    half = len(results) // 2
    for wanted, got in zip(results[:half], results[half:], strict=True):
        assert got.shape == wanted.shape
        if exact:
            np.testing.assert_array_equal(got, wanted)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(wanted).max(initial=0)))


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("kind", ["sparse", "ragged"])
@pytest.mark.one_case
def test_without_weights_it_is_stock_to_the_bit(combiner: str, kind: str) -> None:
    pair = Pair()
    fetches = pair.both(kind, False, False, combiner=combiner)
    safe = pair.both(kind, False, True, combiner=combiner, default_id=3)
    unique = pair.keys

    for rows in batches(0, 1):
        compare(pair.session.run(fetches, pair.feed(*batch(rows))), exact=True)
        *results, keys = pair.session.run([*safe, unique], pair.feed(*batch(rows)))
        compare(results, exact=True)
        assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("max_norm", [None, 1.5])
@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.one_case
def test_with_weights_values_and_all_gradients_are_stocks(combiner: str, max_norm: float | None, safe: bool) -> None:
    pair = Pair()
    fetches = pair.both("sparse", True, safe, combiner=combiner, max_norm=max_norm)
    ragged = pair.both("ragged", True, safe, combiner=combiner, max_norm=max_norm)

    for rows in batches(-3 if safe else 0, 2):
        total = [sum(weight for _, weight in row) for row in rows]
        if not safe and combiner == "mean" and any(0 < abs(one) < 0.05 for one in total):
            continue  # rounding decides
        for one in (fetches, ragged):
            compare(pair.session.run(one, pair.feed(*batch(rows))), exact=False)


def test_rows_at_the_end_without_ids_are_cut_off_as_in_stock_and_kept_by_the_safe_variant() -> None:
    pair = Pair()
    for safe, kind in ((False, "sparse"), (True, "ragged")):
        both = pair.both(kind, False, safe)
        for rows, lengths in (([[(1, 1.0)], [], [(2, 1.0)], [], []], (3, 5)), ([[], []], (0, 2))):
            results = pair.session.run(both, pair.feed(*batch(rows)))
            assert results[0].shape == (lengths[safe], DIM)
            compare(results, exact=True)


@pytest.mark.parametrize("rank", [1, 3, 4])
def test_the_safe_variant_pools_the_last_dimension_of_any_rank(rank: int) -> None:
    pair = Pair(rank=rank)
    shape = [3, 2, 4, 5][:rank]
    random = np.random.default_rng(rank)
    mask = random.random(shape) < 0.4
    ids = random.integers(-2, VOCABULARY, mask.sum())
    feed = pair.feed(np.argwhere(mask), ids, random.random(mask.sum()), shape)
    results = pair.session.run(pair.both("sparse", True, True, combiner="sqrtn", default_id=7), feed)
    assert results[0].shape == (*shape[:-1], DIM)
    compare(results, exact=False)


@pytest.mark.parametrize(
    ("indices", "ids", "message"),
    [
        ([[0, 0], [1, 0]], [3, -1], "id -1 at 1 is negative: leave negative ids out with safe_embedding_lookup_sparse"),
        ([[2, 0], [1, 0]], [3, 4], "row number 1 of id 1 is less than that of the id before"),
        ([[-1, 0], [1, 0]], [3, 4], r"row number -1 of id 0 is not in \[0, inf\)"),
    ],
)
def test_refuses_what_stock_refuses(indices: Any, ids: Any, message: str) -> None:
    pair = Pair()
    feed = pair.feed(indices, ids, [1.0, 1.0], [3, 1])
    with pytest.raises(INVALID):
        pair.session.run(STOCK[False](pair.variable, pair.sparse(pair.ids), None), feed)
    with pytest.raises(INVALID, match=message):
        pair.session.run(OURS[False](pair.table, pair.sparse(pair.ids), None), feed)


def test_a_row_beyond_the_dense_shape_and_splits_that_do_not_fit_are_refused() -> None:
    pair = Pair()
    safe = OURS[True](pair.table, pair.sparse(pair.ids))
    with pytest.raises(INVALID, match=r"row number 5 of id 0 is not in \[0, 3\)"):
        pair.session.run(safe, pair.feed([[5, 0]], [1], [1.0], [3, 1]))
    splits = tf.compat.v1.placeholder(tf.int64, [None])
    ragged = tf.RaggedTensor.from_row_splits([1, 2, 3], splits, validate=False)
    pooled = OURS[False](pair.table, ragged)
    for wrong in ([0, 2], [1, 3], [0, 2, 1, 3], []):
        with pytest.raises(INVALID, match="row splits must begin with 0, not decrease and end with 3"):
            pair.session.run(pooled, {splits: wrong})
    short = tf.SparseTensor(pair.indices, tf.compat.v1.placeholder_with_default(tf.ones([3]), [None]), pair.shape)
    with pytest.raises(INVALID, match=r"weights has shape \[3\]; it must be \[1\]"):
        pair.session.run(OURS[False](pair.table, pair.sparse(pair.ids), short), pair.feed([[0, 0]], [1], [1], [1, 1]))


def test_negative_keys_are_keys_where_asked_for() -> None:
    pair = Pair()
    keys = [-(2**63), 2**63 - 1, -1]
    pooled = runtime.embedding_lookup_sparse(
        pair.table, tf.ragged.constant([keys], dtype=tf.int64), combiner="sum", negative_keys=True
    )
    wanted = rows_of(pair.session, pair.table, keys)
    np.testing.assert_allclose(pair.session.run(pooled), [wanted.sum(0)], rtol=1e-6)
    assert pair.session.run(pair.table.size()) == VOCABULARY + 3


def test_evaluation_inserts_nothing_and_reads_initial_rows_and_training_inserts_once() -> None:
    table = make_table(dim=DIM)
    training = tf.compat.v1.placeholder(tf.bool, [])
    ids = tf.ragged.constant([[1, 2], [2, 2, 9]], dtype=tf.int32)
    pooled = runtime.embedding_lookup_sparse(table, ids, is_train=training)
    assert pooled.shape.as_list() == [None, DIM]
    with session() as opened:
        read = opened.run(pooled, {training: False})
        assert opened.run(table.size()) == 0
        np.testing.assert_array_equal(opened.run(pooled, {training: True}), read)
        assert opened.run(table.size()) == 3
        rows = rows_of(opened, table, [1, 2, 9])
    np.testing.assert_allclose(read, [rows[:2].mean(0), (2 * rows[1] + rows[2]) / 3], rtol=1e-6)


def test_is_grad_false_cuts_all_gradients() -> None:
    pair = Pair()
    pooled = OURS[False](pair.table, pair.sparse(pair.ids), pair.sparse(pair.weights), is_grad=False)
    assert tf.gradients(pooled, [pair.table.variable, pair.weights]) == [None, None]


def test_weights_behind_stop_gradient_cost_no_gradient() -> None:
    pair = Pair()
    weights = tf.stop_gradient(pair.weights)
    pooled = OURS[False](pair.table, pair.sparse(pair.ids), pair.sparse(weights))
    slices, none = tf.gradients(pooled, [pair.table.variable, weights])
    assert none is None
    free = OURS[False](pair.table, pair.sparse(pair.ids), pair.sparse(pair.weights))
    (wanted,) = tf.gradients(free, [pair.table.variable])
    feed = pair.feed([[0, 0], [1, 0], [1, 1]], [4, 2, 4], [0.5, 1.5, 2.0], [2, 2])
    got = pair.session.run([slices.indices, slices.values, slices.values.op.outputs[2]], feed)
    for ours, other in zip(got, pair.session.run([wanted.indices, wanted.values], feed), strict=False):
        np.testing.assert_array_equal(ours, other)
    assert got[2].shape == (0,)


def test_refuses_arguments() -> None:
    table = make_table(dim=DIM)
    ids = tf.sparse.from_dense(tf.constant([[1, 2]], tf.int64))
    three = tf.SparseTensor([[0, 0], [1, 0], [2, 0]], tf.constant([1, 2, 3], tf.int64), [3, 1])
    ragged = tf.ragged.constant([[1], [2]], dtype=tf.int64)
    for look_up in OURS.values():
        with pytest.raises(ValueError, match="combiner must be one of 'mean', 'sqrtn' or 'sum', got max"):
            look_up(table, ids, combiner="max")
        with pytest.raises(TypeError, match=r"ids of the table `user` are .*use sparse_lookup for dense ids"):
            look_up(table, [1, 2])
        with pytest.raises(TypeError, match="they must be None or a SparseTensor, like the ids"):
            look_up(table, ids, ragged)
        with pytest.raises(TypeError, match="they must be None or a RaggedTensor, like the ids"):
            look_up(table, ragged, ids)
        with pytest.raises(ValueError, match="must be of rank 2"):
            look_up(table, tf.ragged.constant([[[1]], [[2]]], dtype=tf.int64))
        with pytest.raises(ValueError, match="float32: cast them"):
            look_up(table, tf.sparse.from_dense([[1.0]]))
        with pytest.raises(ValueError, match="Shapes"):
            look_up(table, three, tf.SparseTensor(three.indices[:2], tf.ones([2]), three.dense_shape))
        with pytest.raises(ValueError, match="Invalid parameter type of para `table`"):
            look_up(tf.zeros([2, 2]), ids)
    with pytest.raises(ValueError, match="`default_id` is less than 0"):
        runtime.safe_embedding_lookup_sparse(table, ids, default_id=-1)
