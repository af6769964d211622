"""Pipelines whose authors name what moves, with an SDK, a slicer's op, or iterators of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from rewriter import LookupSubgraphSlicerHook, get_initializer, get_target_batch, move_ids
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


KEYS, SDK_DIM, SDK_SIZE, BATCHES = 40, 4, 8, 10


def _sdk_data(batches: int = BATCHES) -> Any:
    random = np.random.default_rng(0)
    words = np.array([" ".join(map(str, row)) for row in random.integers(0, KEYS, (SDK_SIZE * batches, 3))])
    labels = random.normal(size=(SDK_SIZE * batches, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({"words": words}, labels)).batch(SDK_SIZE)


def _numbers(features: Any) -> Any:
    return tf.reshape(tf.strings.to_number(tf.strings.split(features["words"]).values, tf.int64), [-1, 3])


def _sdk_table(name: str = "user") -> runtime.Table:
    return runtime.create_table(tf.int64, SDK_DIM, name, v1.random_normal_initializer(stddev=0.3, seed=5))


def _sparse(ids: Any) -> Any:
    return tf.sparse.from_dense(ids + 1)


def _ragged(ids: Any) -> Any:
    return tf.RaggedTensor.from_tensor(ids)


@pytest.mark.parametrize("lookup", ["sparse", "grouped", "pooled", "grouped pooled", "is_train tensor", "function"])
def test_nothing_moves_unasked(lookup: str, graph: tf.Graph) -> None:
    features, _ = v1.data.make_one_shot_iterator(_sdk_data()).get_next()
    ids, table = _numbers(features), _sdk_table()
    lookups: dict[str, Callable[[], Any]] = {
        "sparse": lambda: runtime.sparse_lookup(table, ids),
        "grouped": lambda: runtime.grouped_lookup([(table, ids)]),
        "pooled": lambda: runtime.safe_embedding_lookup_sparse(table, _sparse(ids)),
        "grouped pooled": lambda: runtime.grouped_embedding_lookup_sparse([(table, _ragged(ids))]),
        "is_train tensor": lambda: runtime.sparse_lookup(table, ids, is_train=v1.placeholder(tf.bool, [])),
        "function": lambda: tf.function(lambda: runtime.sparse_lookup(table, ids))(),
    }
    lookups[lookup]()
    before = graph.as_graph_def()
    plan = move_ids()
    assert graph.as_graph_def() == before
    (left,) = plan.staying
    assert "modify_graph=True" in left.reason
    assert left.ids.table == "user" and left.ids.op in plan.summary()


def test_ids_that_a_function_computes_stay_and_say_so(graph: tf.Graph) -> None:
    features, _ = v1.data.make_one_shot_iterator(_sdk_data()).get_next()
    table = _sdk_table()
    flag = v1.placeholder(tf.bool, [])
    tf.cond(
        flag,
        lambda: runtime.sparse_lookup(table, _numbers(features), modify_graph=True),
        lambda: tf.zeros([SDK_SIZE, 3, SDK_DIM]),
    )
    tf.function(lambda ids: runtime.sparse_lookup(table, ids, modify_graph=True))(_numbers(features))
    plan = move_ids()
    assert not plan.moved and len(plan.staying) == 2
    assert {one.reason for one in plan.staying} == {"they are computed inside of a function"}


SLICER_SIZE, SLICER_DIM, SLICER_BATCHES = 6, 4, 8


def _loss(orphan: bool) -> Any:
    random = np.random.default_rng(0)
    ids = random.integers(0, 30, (SLICER_SIZE * SLICER_BATCHES, 2))
    data = tf.data.Dataset.from_tensor_slices({"ids": ids, "text": ids.astype(str)}).batch(SLICER_SIZE)
    batch = v1.data.make_one_shot_iterator(data).get_next()
    table = runtime.create_table(tf.int64, SLICER_DIM, "user", v1.random_normal_initializer(stddev=0.3, seed=5))
    keys = [batch["ids"] * 7 % 30, tf.strings.to_number(batch["text"], tf.int64)]
    keys += [tf.constant([[1, 2]] * SLICER_SIZE, tf.int64)] if orphan else []
    rows = [runtime.sparse_lookup(table, one, modify_graph=True) for one in keys]
    return tf.reduce_mean(tf.square(tf.add_n(rows) - 1))


def _trained(hooks: Sequence[Any], orphan: bool = False) -> NDArray[np.float32]:
    with tf.Graph().as_default():
        loss = _loss(orphan)
        step = adagrad.create_hash_optimizer(0.1).minimize(loss)
        with v1.train.MonitoredSession(hooks=list(hooks)) as session:
            found = []
            while not session.should_stop():
                found.append(session.run([loss, step])[0])
    return np.array(found)


def _slicer() -> LookupSubgraphSlicerHook:
    return LookupSubgraphSlicerHook(["StringToNumber"])


def test_only_lookups_with_such_an_op_upstream_are_sliced() -> None:
    hook = _slicer()
    _trained([hook], orphan=True)
    assert len(hook.pipeline.moved) == 1
    assert {one.reason for one in hook.pipeline.staying} == {"they depend on no op of the types StringToNumber"}


@pytest.mark.parametrize("wrong", [[], "StringToNumber", ("StringToNumber",), None, [1], [""]])
def test_op_types_are_a_list_of_names(wrong: Any) -> None:
    with pytest.raises(ValueError, match="`op_types` of LookupSubgraphSlicerHook must be a list"):
        LookupSubgraphSlicerHook(wrong)


def test_feeding_what_a_slicer_moved_is_refused(graph: tf.Graph) -> None:
    loss = _loss(orphan=False)
    batch = next(op for op in graph.get_operations() if op.type == "IteratorGetNext").outputs
    with (
        v1.train.MonitoredSession(hooks=[_slicer()]) as session,
        pytest.raises(ValueError, match="is fed, but ids are computed from it"),
    ):
        session.run(loss, {batch[1]: [["1", "2"]] * SLICER_SIZE})
