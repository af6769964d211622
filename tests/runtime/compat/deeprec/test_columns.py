"""Columns over EmbeddingVariables and adaptive columns train as stock columns and as rows followed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec

_MATRIX = np.random.default_rng(3).normal(size=(10, 3)).astype(np.float32)


def _option(rec: Any, **options: Any) -> Any:
    init = rec.InitializerOption(initializer=rec.constant_initializer(_MATRIX), default_value_dim=10)
    return rec.EmbeddingVariableOption(init_option=init, **options)


def _embedded(rec: Any, column: Any, **settings: Any) -> Any:
    return rec.feature_column.embedding_column(column, 3, initializer=rec.constant_initializer(_MATRIX), **settings)


def _ids(rec: Any) -> Any:
    return rec.SparseTensor([[0, 0], [0, 1], [2, 0], [2, 3]], rec.constant([3, 1, 9, 9], rec.int64), [4, 4])


def _compare(rec: Any, features: dict[str, Any], ours: Any, theirs: Any, steps: int = 5) -> list[str]:
    """Train the input layers of both for some steps; return the names of the variables."""
    found = [
        rec.feature_column.input_layer(features, made if isinstance(made, list) else [made]) for made in (ours, theirs)
    ]
    loss = rec.add_n([rec.reduce_sum(rec.square(one) + one) for one in found])
    train = rec.train.AdagradOptimizer(0.1).minimize(loss)
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(steps):
            one, other, _ = session.run([*found, train])
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return [one.op.name for one in rec.trainable_variables()]


@pytest.mark.parametrize("parts", [None, 2])
@pytest.mark.parametrize("combiner", ["mean", "sum", "sqrtn"])
@pytest.mark.parametrize("counted", [False, True])
def test_an_embedding_column(rec: Any, parts: int | None, combiner: str, counted: bool) -> None:
    column = rec.feature_column.categorical_column_with_embedding(
        "item",
        dtype=rec.int64,
        partition_num=parts,
        ev_option=_option(rec, evict_option=rec.GlobalStepEvict(9) if counted else None),
    )
    stock = rec.feature_column.categorical_column_with_identity("item", 10)
    made = [_embedded(rec, one, combiner=combiner, do_fusion=True) for one in (column,)]
    theirs = _embedded(rec, stock, combiner=combiner, max_norm=None)
    names = _compare(rec, {"item": _ids(rec)}, made[0], theirs)
    weights = "input_layer/item_embedding/embedding_weights"
    assert names[: parts or 1] == ([weights] if parts is None else [f"{weights}/part_{i}" for i in range(parts)])


def test_columns_of_strings_and_dense_ids(rec: Any) -> None:
    column = rec.feature_column.categorical_column_with_embedding("word", ev_option=_option(rec))
    assert column.parse_example_spec == {"word": tf.io.VarLenFeature(tf.string)}
    layer = rec.feature_column.input_layer(
        {"word": rec.constant([["a"], ["b"], ["a"], [""]])}, [_embedded(rec, column)]
    )
    whole = rec.feature_column.categorical_column_with_embedding("id", rec.int32, ev_option=_option(rec))
    ints = rec.feature_column.input_layer({"id": rec.constant([[2**31 - 1], [-1]], rec.int32)}, [_embedded(rec, whole)])
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        rows, found = session.run([layer, ints])
    assert rows[0].tolist() == rows[2].tolist() != rows[1].tolist()
    assert rows[3].tolist() == [0.0] * 3, "an empty string is no id"
    np.testing.assert_array_equal(found, [_MATRIX[(2**31 - 1) % 10], [0.0] * 3])


def test_arguments_of_the_contrib_column(rec: Any) -> None:
    column = deeprec.sparse_column_with_embedding("item", rec.int64, 2, steps_to_live=7, ht_partition_num=20)
    layer = rec.feature_column.input_layer({"item": _ids(rec)}, [_embedded(rec, column)])
    assert layer.shape.as_list() == [None, 3] or layer.shape.as_list() == [4, 3]
    assert [one.steps_to_live for one in rec.trainable_variables()] == [7, 7]
    with pytest.raises(ValueError, match="`init_data_source`"):
        deeprec.sparse_column_with_embedding("item", init_data_source="x")
    with pytest.raises(ValueError, match="dtype"):
        deeprec.categorical_column_with_embedding("item", rec.float32)
    with pytest.raises(ValueError, match="partition_num 0"):
        deeprec.sequence_categorical_column_with_embedding("item", partition_num=0)


@pytest.mark.parametrize("operation", ["concat", "add", "mul"])
@pytest.mark.parametrize("combiner", ["mean", "sum", "sqrtn"])
def test_a_multihash_column_is_the_composition_of_two_columns(rec: Any, operation: str, combiner: str) -> None:
    matrices = [np.arange(rows * 2, dtype=np.float32).reshape(rows, 2) / 10 + 1 for rows in (5, 3)]
    start = [rec.constant_initializer(one) for one in matrices]
    column = rec.feature_column.categorical_column_with_multihash("item", (5, 3), operation=operation)
    embedded = rec.feature_column.embedding_column(
        column,
        (2, 2),
        combiner=combiner,
        initializer=lambda shape, *_, **__: tf.constant(matrices[0 if shape[0] == 5 else 1]),
    )
    numbers = [[0, 4, 7], [], [6]]
    ids = rec.SparseTensor([[0, 0], [0, 1], [0, 2], [2, 0]], rec.constant([0, 4, 7, 6], rec.int64), [3, 3])
    found = rec.feature_column.input_layer({"item": ids}, [embedded])
    places = [[i // 5 for i in range(8)], [i % 3 for i in range(8)]]
    plain = [
        rec.compat.v1.get_variable(f"plain_{at}", shape=one.shape, initializer=start[at])
        for at, one in enumerate(matrices)
    ]
    first, second = (rec.gather(one, at) for one, at in zip(plain, places, strict=True))
    rows = {"concat": rec.concat([first, second], 1), "add": first + second, "mul": first * second}[operation]
    totals = [
        rec.reduce_sum(rec.gather(rows, one), 0)
        / {"mean": max(1, len(one)), "sum": 1, "sqrtn": max(1, len(one)) ** 0.5}[combiner]
        if one
        else rec.zeros([rows.shape[1]])
        for one in numbers
    ]
    want = rec.stack(totals)
    train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(found**2) + rec.reduce_sum(want**2))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(3):
            np.testing.assert_allclose(*session.run([found, want]), rtol=1e-5)
            session.run(train)


def test_what_a_multihash_column_refuses(rec: Any) -> None:
    make = rec.feature_column.categorical_column_with_multihash
    for arguments, said in (
        ({"dims": (5,)}, r"dims \(5,\) of the multi-hash column 'item' must be the rows of two"),
        ({"dims": (5, 3), "dtype": rec.string}, "must be tf.int64 or tf.int32"),
    ):
        with pytest.raises(ValueError, match=said):
            make("item", **arguments)
    with pytest.raises(ValueError, match="dimension 4 of the multi-hash column 'item' must be the widths of its two"):
        rec.feature_column.embedding_column(make("item", (5, 3)), 4)
    with pytest.raises(ValueError, match="equal ones to add"):
        rec.feature_column.embedding_column(make("item", (5, 3)), (4, 2))


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
