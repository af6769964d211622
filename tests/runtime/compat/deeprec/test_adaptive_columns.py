"""Adaptive columns: against rows that are followed by hand, one matrix by hash and one row for each id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

_BUCKETS, _RATE = 4, 0.25
_IDS = np.arange(8)
_FIRST = np.random.default_rng(3).normal(size=(_BUCKETS, 2)).astype(np.float32)


class _ByHand:
    """The rows as DeepRec's documentation says: a row of an id begins as the row of its hash is in that step."""

    def __init__(self, texts: list[str], threshold: int) -> None:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            self.hashes = session.run(tf.strings.to_hash_bucket_fast(texts, _BUCKETS))
        self.matrix, self.own, self.threshold = _FIRST.copy(), {}, threshold
        self.seen = dict.fromkeys(range(len(texts)), 0)

    def read(self, mask: Any) -> Any:
        waits = np.zeros(2) if self.threshold else None
        unknown = [self.matrix[self.hashes[i]] if waits is None else waits for i in _IDS]
        return np.stack([self.own.get(i, unknown[i]) if mask[i] else self.matrix[self.hashes[i]] for i in _IDS])

    def train(self, mask: Any, gradients: Any) -> None:
        before = self.matrix.copy()
        for i in _IDS:
            if not mask[i]:
                self.matrix[self.hashes[i]] -= _RATE * gradients[i]
                continue
            self.seen[i] += 1
            if i not in self.own and self.seen[i] >= self.threshold:
                self.own[i] = before[self.hashes[i]].copy()
            if i in self.own:
                self.own[i] -= _RATE * gradients[i]


def _column(rec: Any, dtype: Any, **settings: Any) -> Any:
    column = rec.feature_column.categorical_column_with_adaptive_embedding("item", _BUCKETS, dtype, **settings)
    return rec.feature_column.embedding_column(column, 2, initializer=rec.constant_initializer(_FIRST))


@pytest.mark.parametrize("parts", [None, 2])
@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("threshold", [0, 2])
@pytest.mark.one_case
def test_each_sample_trains_the_row_its_mask_says(rec: Any, parts: int | None, texts: bool, threshold: int) -> None:
    chosen = rec.CounterFilter(threshold) if threshold else None
    option = rec.EmbeddingVariableOption(filter_option=chosen, evict_option=rec.GlobalStepEvict(99))
    names = [f"word{i}" if texts else str(i) for i in _IDS]
    column = _column(rec, rec.string if texts else rec.int64, partition_num=parts, ev_option=option)
    ids = rec.constant(names) if texts else rec.constant(_IDS, rec.int64)
    mask, weights = rec.placeholder(rec.int32, [8]), rec.placeholder(rec.float32, [8, 2])
    layer = rec.feature_column.input_layer(
        {"item": rec.SparseTensor([[i, 0] for i in _IDS], ids, [8, 1])}, [column], adaptive_mask_tensors={"item": mask}
    )
    step = rec.train.get_or_create_global_step()
    train = rec.train.GradientDescentOptimizer(_RATE).minimize(rec.reduce_sum(layer * weights), step)
    members = rec.get_collection(rec.GraphKeys.EMBEDDING_VARIABLES)
    known = [[one.total_count()[0], one.export()[3]] for one in members]
    hand, random = _ByHand(names, threshold), np.random.default_rng(5)
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for number in range(6):
            masks, factors = random.integers(0, 2, 8), random.normal(size=(8, 2)).astype(np.float32)
            np.testing.assert_allclose(session.run(layer, {mask: masks}), hand.read(masks), rtol=1e-5)
            assert number or sum(count for count, _ in session.run(known)) == 0, "reading creates nothing"
            found, _ = session.run([layer, train], {mask: masks, weights: factors})
            np.testing.assert_allclose(found, hand.read(masks), rtol=1e-5)
            hand.train(masks, factors)
        counts = sorted(int(one) for _, some in session.run(known) for one in some)
    assert counts == sorted(hand.seen[i] for i in hand.own)
    path = "input_layer/item_embedding"
    assert {one.op.name.partition("/part_")[0] for one in rec.trainable_variables()} == {
        f"{path}/ev_weights",
        f"{path}/hash_weights",
    }


def test_what_adaptive_columns_refuse(rec: Any) -> None:
    column = rec.feature_column.categorical_column_with_adaptive_embedding("item", 4, rec.int64)
    ids = {"item": rec.SparseTensor([[0, 0]], rec.constant([1], rec.int64), [1, 1])}
    with pytest.raises(ValueError, match=r"'item' has no mask: give input_layer adaptive_mask_tensors={'item': mask}"):
        rec.feature_column.input_layer(ids, [_column(rec, rec.int64)])
    with pytest.raises(ValueError, match="hash_bucket_size 0 of the adaptive column 'item' must be an int of 1 or mor"):
        rec.feature_column.categorical_column_with_adaptive_embedding("item", 0)
    with pytest.raises(ValueError, match="the adaptive column 'item' cannot be weighted: use categorical_column_with"):
        rec.feature_column.embedding_column(rec.feature_column.weighted_categorical_column(column, "weight"), 2)
    with pytest.raises(ValueError, match="the adaptive column 'item' cannot be shared"):
        rec.feature_column.shared_embedding_columns([column], 2)
    with pytest.raises(ValueError, match="the adaptive column 'item' has no Keras layer"):
        _column(rec, rec.int64).create_state(None)
