"""`get_initializer` and `get_target_batch`, and the author's own initializers and batches, around a moved pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from rewriter import get_initializer, get_target_batch, move_ids
from runtime.optimizers import adagrad

v1 = tf.compat.v1
SIZE, DIM = 6, 4


def _data(seed: int, batches: int = 5) -> Any:
    random = np.random.default_rng(seed)
    ids, labels = random.integers(0, 30, (SIZE * batches, 2)), random.normal(size=SIZE * batches).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices({"user": {"ids": ids}, "labels": labels}).batch(SIZE)


def _lookup(table: runtime.Table, batch: Any, trains: bool) -> Any:
    ids = batch["user"]["ids"] * 7 % 30
    return runtime.sparse_lookup(table, ids, is_train=trains, modify_graph=True)


def _table() -> runtime.Table:
    return runtime.create_table(tf.int64, DIM, "user", v1.random_normal_initializer(stddev=0.3, seed=5))


class _Model:
    """A table that a train and an eval iterator of one graph each look up, as Rec SDK's session scripts have it."""

    def __init__(self) -> None:
        table = _table()
        self.iterators = {trains: v1.data.make_initializable_iterator(_data(int(trains))) for trains in (True, False)}
        self.batches = {trains: iterator.get_next() for trains, iterator in self.iterators.items()}
        self.losses = {
            trains: tf.reduce_mean(tf.square(tf.reduce_sum(_lookup(table, batch, trains), [1, 2]) - batch["labels"]))
            for trains, batch in self.batches.items()
        }
        self.step = adagrad.create_hash_optimizer(0.1).minimize(self.losses[True])

    def run(self, initializers: dict[bool, Any], batches: dict[bool, Any]) -> list[Any]:
        """Train, evaluate and go on training; return all losses and batches."""
        found: list[Any] = []
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for trains, steps in ((True, 3), (False, 2), (True, 5), (False, 4)):
                session.run(initializers[trains])
                step = self.step if trains else []
                found += [session.run([self.losses[trains], batches[trains], step])[:2] for _ in range(steps)]
        return found


def _both(function: Any) -> dict[bool, Any]:
    return {trains: function(trains) for trains in (True, False)}


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_a_train_and_an_eval_iterator_in_one_session(moved: bool, asked: bool) -> None:
    with tf.Graph().as_default():
        model = _Model()
        stock = model.run(_both(lambda trains: model.iterators[trains].initializer), model.batches)
    with tf.Graph().as_default():
        model = _Model()
        if moved:
            assert len(move_ids().moved) == 2
        initializers = _both(get_initializer if asked else lambda trains: model.iterators[trains].initializer)
        batches = _both(get_target_batch) if asked else model.batches
        found = model.run(initializers, batches)
    assert len(found) == len(stock) == 14
    tf.nest.assert_same_structure(found, stock)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(stock), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_moving_in_two_passes_leaves_the_batch(graph: tf.Graph) -> None:
    model = _Model()
    table = runtime.tables()[0]
    text = tf.strings.as_string(model.batches[True]["user"]["ids"])
    runtime.sparse_lookup(table, tf.strings.to_hash_bucket_fast(text, 30), modify_graph=True)
    assert len(move_ids(op_types=["StringToHashBucketFast"]).moved) == 1
    assert len(move_ids().moved) == 2
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), get_initializer(True)])
        asked, own = session.run([get_target_batch(True), model.batches[True]])
    tf.nest.map_structure(np.testing.assert_array_equal, asked, own)


def test_an_iterator_of_a_meta_graph_gives_a_tuple() -> None:
    with tf.Graph().as_default() as built:
        iterator = v1.data.make_initializable_iterator(_data(0))
        iterator.get_next("element")
        definition = built.as_graph_def()
        name = iterator.initializer.name
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="")
        element = graph.get_operation_by_name("element")
        runtime.sparse_lookup(_table(), element.outputs[1] + 1, modify_graph=True)
        assert len(move_ids().moved) == 1
        batch = get_target_batch(True)
        assert isinstance(batch, tuple) and len(batch) == len(element.outputs)
        with v1.Session() as session:
            session.run([v1.global_variables_initializer(), graph.get_operation_by_name(name)])
            for one, other in zip(*session.run([batch, element.outputs]), strict=True):
                np.testing.assert_array_equal(one, other)
        assert get_initializer(True).name == name


def test_without_a_dataset_there_is_nothing_to_ask_for(graph: tf.Graph) -> None:
    runtime.sparse_lookup(_table(), v1.placeholder(tf.int64, [None]), modify_graph=True)
    for function in (get_initializer, get_target_batch):
        with pytest.raises(ValueError, match="the ids of the graph's lookups for training come from no dataset"):
            function(True)
        with pytest.raises(ValueError, match="the ids of the graph's lookups for evaluation come from no dataset"):
            function(False)
        with pytest.raises(ValueError, match="is_train"):
            function("train")


def test_several_iterators_are_named(graph: tf.Graph) -> None:
    table = _table()
    for seed in range(2):
        _lookup(table, v1.data.make_initializable_iterator(_data(seed)).get_next(), trains=True)
    with pytest.raises(ValueError, match="for training read 2 iterators, `IteratorV2`, `IteratorV2_1`"):
        get_initializer(True)
    with pytest.raises(ValueError, match="for training read 2 batches, `IteratorGetNext`, `IteratorGetNext_1`"):
        get_target_batch(True)


def test_iterators_without_one_initializer(graph: tf.Graph) -> None:
    _lookup(_table(), v1.data.make_one_shot_iterator(_data(0)).get_next(), trains=False)
    with pytest.raises(ValueError, match="`OneShotIterator` is a OneShotIterator, which has no initializer"):
        get_initializer(False)
    assert set(get_target_batch(False)) == {"user", "labels"}


def test_one_of_several_initializers_is_the_author_s_choice(graph: tf.Graph) -> None:
    kinds = (v1.data.get_output_types, v1.data.get_output_shapes)
    iterator = v1.data.Iterator.from_structure(*(kind(_data(0)) for kind in kinds))
    makers = [iterator.make_initializer(_data(seed)) for seed in range(2)]
    _lookup(_table(), iterator.get_next(), trains=True)
    with pytest.raises(ValueError, match=f"read 2 datasets by their initializers, `{makers[0].name}`"):
        get_initializer(True)
