"""Tables saved and restored by name for any number of ranks; roundings and pooling are those of one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.compat.sok import pooling as sok_pooling
from runtime.optimizers import adagrad
from runtime.ranks import checkpoint, pooling
from runtime.ranks.engine import RanksError
from tests.support.ranks import thread_ranks
from tests.support.runtime import rounding
from tests.support.runtime.tables import read, step

_KEYS = np.arange(7)


class _Stock:
    """Adagrad of all rows, in numpy."""

    def __init__(self) -> None:
        self.rows, self.sums = np.full((7, 2), 3.0), np.full((7, 2), 0.1)

    def step(self, gradient: float) -> None:
        self.sums += gradient**2
        self.rows -= gradient / np.sqrt(self.sums)


def _table(name: str = "item", dim: int = 2) -> runtime.Table:
    return runtime.create_table(tf.int64, dim, name, tf.constant_initializer(3.0))


def _step(table: runtime.Table, optimizer: object, gradient: float) -> None:
    """Every rank asks for all keys, with its share of the gradient, which the ranks add up."""
    step(table, optimizer, _KEYS, lambda rows: gradient / runtime.ranks.size() * tf.reduce_sum(rows))


def _rows(table: runtime.Table) -> np.ndarray:
    return read(table, _KEYS)


@pytest.mark.parametrize("readers", [1, 3])
@pytest.mark.parametrize("slots", [True, False])
def test_tables_go_on_by_their_names(tmp_path: Path, readers: int, slots: bool) -> None:
    def write() -> None:
        table, optimizer = _table(), adagrad.create_hash_optimizer(1.0, initial_accumulator_value=0.1)
        _step(table, optimizer, 2.0)
        checkpoint.save_tables(str(tmp_path), [table.variable, _table("other")])

    def read() -> np.ndarray:
        table, optimizer = _table(), adagrad.create_hash_optimizer(1.0, initial_accumulator_value=0.1)
        _step(table, optimizer, 5.0)
        checkpoint.restore_tables(str(tmp_path), table, slots)
        _step(table, optimizer, 1.0)
        return _rows(table)

    thread_ranks.run(2, write)
    saved, own = _Stock(), _Stock()
    saved.step(2.0)
    own.step(5.0)
    if not slots:
        saved.sums = own.sums
    saved.step(1.0)
    for rows in thread_ranks.run(readers, read)[0]:
        np.testing.assert_allclose(rows, saved.rows, rtol=1e-6)


def test_rows_that_were_not_saved_go_with_slots_and_stay_without(tmp_path: Path) -> None:
    table = _table()
    runtime.sparse_lookup(table, [1])
    checkpoint.save_tables(str(tmp_path), table)
    runtime.sparse_lookup(table, [2])
    checkpoint.restore_tables(str(tmp_path), table, slots=False)
    assert int(table.size()) == 2
    checkpoint.restore_tables(str(tmp_path), table)
    assert int(table.size()) == 1


def test_what_cannot_be_restored_is_named_before_a_table_changes(tmp_path: Path) -> None:
    table = _table()
    runtime.sparse_lookup(table, [1])
    checkpoint.save_tables(str(tmp_path), [table])
    with pytest.raises(RanksError, match=r"there is no complete checkpoint .*absent"):
        checkpoint.restore_tables(str(tmp_path), [table, _table("absent")])
    with pytest.raises(ValueError, match=r"the table `item` in .*item have 2 values: create it with `dim` 2, not 3"):
        checkpoint.restore_tables(str(tmp_path), [_table(dim=3)])
    with pytest.raises(TypeError, match="take tables, not ResourceVariable"):
        checkpoint.save_tables(str(tmp_path), [tf.Variable([1.0])])
    with pytest.raises(ValueError, match="two tables are called `item`"):
        checkpoint.save_tables(str(tmp_path), [table, _table()])
    with tf.Graph().as_default(), pytest.raises(RanksError, match="in a v1 graph use the Saver on every rank"):
        checkpoint.save_tables(str(tmp_path), [])


_BATCHES = np.random.default_rng(0).integers(0, 20, [15, 8])


@pytest.mark.parametrize("placement", ["distributed", "replicated"])
@pytest.mark.one_case
def test_two_ranks_round_as_one_does(placement: str) -> None:
    def train() -> np.ndarray:
        start = tf.random_normal_initializer(seed=7)
        table = runtime.create_table(tf.int64, 6, "item", start, value_dtype="bfloat16", placement=placement)
        optimizer = adagrad.create_hash_optimizer(0.1, 0.1)
        for batch in _BATCHES:
            own = np.array_split(batch, runtime.ranks.size())[runtime.ranks.rank()]
            step(table, optimizer, own, lambda rows: tf.reduce_sum(rows) * 0.25)
        return np.asarray(runtime.sparse_lookup(table, np.arange(20), is_train=False))

    (alone,), _ = thread_ranks.run(1, train)
    for rows in thread_ranks.run(2, train)[0]:
        np.testing.assert_array_equal(rows, alone)
    np.testing.assert_array_equal(alone, rounding.nearest(alone, tf.bfloat16))


ROWS = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
#: Of the bags the first sums to 0, the second has weights of 0 alone, the third is empty, the last is plain.
LENGTHS, WEIGHTS = [2, 2, 0, 2], np.array([1, -1, 0, 0, 0.5, 2], np.float32)


@pytest.mark.parametrize("combiner", ["mean", "sqrtn"])
def test_weights_that_sum_to_zero_give_what_stock_tensorflow_gives(combiner: str) -> None:
    bags = tf.constant(np.repeat(np.arange(4), LENGTHS))
    ids = tf.RaggedTensor.from_row_lengths(tf.range(6, dtype=tf.int64), LENGTHS)
    rows, weights = tf.constant(ROWS), tf.constant(WEIGHTS)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([rows, weights])
        scales = tf.RaggedTensor.from_row_lengths(weights, LENGTHS)
        want = tf.nn.embedding_lookup_sparse(rows, ids.to_sparse(), scales.to_sparse(), combiner)
        count = tf.constant(4, tf.int64)
        got = [pooling.pooled(ids.values, bags, weights, count, combiner, None).combine(rows)]
        if combiner == "mean":
            got.append(sok_pooling.pooled(rows, sok_pooling.bags_of(ids, scales), combiner))
    slopes = tf.convert_to_tensor(tape.gradient(want, rows))
    for one in got:
        np.testing.assert_allclose(one, want, rtol=1e-6)
        np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(one, rows)), slopes, rtol=1e-6)
        assert np.isfinite(tape.gradient(one, weights)).all()
