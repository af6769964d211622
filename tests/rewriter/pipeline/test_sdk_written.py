"""Models that call the runtime's lookups themselves: ids move where `modify_graph=True` permits it, losses stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from rewriter import GraphModifierHook, modify_graph_and_start_emb_cache, move_ids
from rewriter.pipeline import PipelinePlan
from runtime.optimizers import adagrad

v1 = tf.compat.v1
KEYS, DIM, SIZE, BATCHES = 40, 4, 8, 10


def _data(batches: int = BATCHES) -> Any:
    random = np.random.default_rng(0)
    words = np.array([" ".join(map(str, row)) for row in random.integers(0, KEYS, (SIZE * batches, 3))])
    labels = random.normal(size=(SIZE * batches, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({"words": words}, labels)).batch(SIZE)


def _numbers(features: Any) -> Any:
    return tf.reshape(tf.strings.to_number(tf.strings.split(features["words"]).values, tf.int64), [-1, 3])


def _table(name: str = "user") -> runtime.Table:
    return runtime.create_table(tf.int64, DIM, name, v1.random_normal_initializer(stddev=0.3, seed=5))


def _plain(ids: Any) -> Any:
    return runtime.sparse_lookup(_table(), ids, modify_graph=True)


def _int32(ids: Any) -> Any:
    return runtime.sparse_lookup(_table(), tf.cast(ids, tf.int32), modify_graph=True)


def _named(ids: Any) -> Any:
    return runtime.sparse_lookup(_table(), ids, is_train=True, name="look", modify_graph=True)


def _several(ids: Any) -> Any:
    table = _table()
    rows = [runtime.sparse_lookup(table, ids * k % KEYS, name=f"look_{k}", modify_graph=True) for k in (1, 2, 3)]
    return tf.add_n(rows)


def _grouped(ids: Any) -> Any:
    pairs = [(_table(), ids), (_table("item"), tf.cast(ids + 1, tf.int32)), (_table("shop"), ids)]
    return tf.add_n(runtime.grouped_lookup(pairs, modify_graph=True))


def _sparse(ids: Any) -> Any:
    return tf.sparse.from_dense(ids + 1)


def _ragged(ids: Any) -> Any:
    return tf.RaggedTensor.from_tensor(ids)


def _pooled(ids: Any) -> Any:
    return runtime.embedding_lookup_sparse(_table(), _sparse(ids), modify_graph=True)[:, None]


def _safe(ids: Any) -> Any:
    return runtime.safe_embedding_lookup_sparse(_table(), _ragged(ids), default_id=3, modify_graph=True)[:, None]


def _grouped_pooled(ids: Any) -> Any:
    lookups = [(_table(), _sparse(ids)), (_table("item"), _ragged(ids)), (_table("shop"), _sparse(ids))]
    return tf.add_n(runtime.grouped_embedding_lookup_sparse(lookups, modify_graph=True))[:, None]


def _grouped_safe(ids: Any) -> Any:
    lookups = [(_table(), _sparse(ids)), (_table("item"), _sparse(ids))]
    return tf.add_n(runtime.grouped_safe_embedding_lookup_sparse(lookups, modify_graph=True))[:, None]


def _admitted(ids: Any) -> Any:
    return runtime.sparse_lookup(
        _table(), ids, modify_graph=True, access_and_evict_config={"access_threshold": 3}, serving_default_value=0.5
    )


def _in_cond(ids: Any) -> Any:
    flag = v1.placeholder_with_default(True, [])
    return runtime.sparse_lookup(_table(), ids, is_train=flag, modify_graph=True)


def _admitted_in_cond(ids: Any) -> Any:
    flag, config = v1.placeholder_with_default(True, []), {"access_threshold": 2}
    ids = tf.cast(ids, tf.int32)
    return runtime.sparse_lookup(_table(), ids, is_train=flag, modify_graph=True, access_and_evict_config=config)


def _pooled_in_cond(ids: Any) -> Any:
    flag = v1.placeholder_with_default(True, [])
    lookups = [(_table(), _sparse(ids)), (_table("item"), _ragged(tf.cast(ids, tf.int32)))]
    return tf.add_n(runtime.grouped_embedding_lookup_sparse(lookups, is_train=flag, modify_graph=True))[:, None]


def _in_own_cond(ids: Any) -> Any:
    table = _table()
    return tf.cond(
        v1.placeholder_with_default(True, []),
        lambda: runtime.sparse_lookup(table, ids, modify_graph=True),
        lambda: tf.zeros([SIZE, 3, DIM]),
    )


def _in_function(ids: Any) -> Any:
    table = _table()
    return tf.function(lambda: runtime.sparse_lookup(table, ids, modify_graph=True))()


def _in_cond_of_tensorflow_1(ids: Any) -> Any:
    v1.disable_control_flow_v2()
    try:
        return _in_cond(ids)
    finally:
        v1.enable_control_flow_v2()


#: By name: the lookup, and how many lookups it counts as.
LOOKUPS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "plain": (_plain, 1),
    "int32": (_int32, 1),
    "a name": (_named, 1),
    "several of one table": (_several, 3),
    "grouped": (_grouped, 3),
    "pooled": (_pooled, 1),
    "safe": (_safe, 1),
    "grouped pooled": (_grouped_pooled, 3),
    "grouped safe": (_grouped_safe, 2),
    "admitted": (_admitted, 1),
    "is_train tensor": (_in_cond, 1),
    "admitted, is_train tensor": (_admitted_in_cond, 1),
    "pooled, is_train tensor": (_pooled_in_cond, 2),
    "inside a tf.cond": (_in_own_cond, 1),
    "captured by a tf.function": (_in_function, 1),
    "is_train tensor of TensorFlow 1": (_in_cond_of_tensorflow_1, 2),
}


def _train(loss: Any) -> Any:
    dense, sparse = runtime.get_dense_and_sparse_variable()
    pairs = v1.train.GradientDescentOptimizer(0.1).compute_gradients(loss, dense + sparse)
    step = v1.train.GradientDescentOptimizer(0.1).apply_gradients(
        pairs[: len(dense)], v1.train.get_or_create_global_step()
    )
    return tf.group(step, adagrad.create_hash_optimizer(0.2).apply_gradients(pairs[len(dense) :]))


def _loss(rows: Any, labels: Any) -> Any:
    weights = v1.get_variable("head", [DIM, 1], initializer=v1.random_normal_initializer(stddev=0.3, seed=2))
    return tf.reduce_mean(tf.square(tf.reduce_sum(rows, 1) @ weights - labels))


def _trained(lookup: Callable[[Any], Any], way: str) -> tuple[NDArray[np.float32], PipelinePlan]:
    """Train to the end of the input: "stock" without the hook, "session" or "monitored"."""
    with tf.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(_data())
        features, labels = iterator.get_next()
        loss = _loss(lookup(_numbers(features)), labels)
        step = _train(loss)
        if way == "session":
            modify_graph_and_start_emb_cache()
        hook = GraphModifierHook(modify_graph=way == "monitored")
        v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        losses = list(_steps(loss, step, hook if way == "monitored" else None))
    return np.array(losses), hook.pipeline


def _steps(loss: Any, step: Any, hook: GraphModifierHook | None) -> Iterator[float]:
    if hook is not None:
        with v1.train.MonitoredTrainingSession(hooks=[hook]) as session:
            while not session.should_stop():
                yield session.run([loss, step])[0]
        return
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        while True:
            try:
                yield session.run([loss, step])[0]
            except tf.errors.OutOfRangeError:
                return


@pytest.mark.parametrize("name", LOOKUPS)
@pytest.mark.one_case
def test_ids_of_an_sdk_written_model_move(name: str) -> None:
    lookup, count = LOOKUPS[name]
    stock, _ = _trained(lookup, "stock")
    plain, _ = _trained(lookup, "session")
    moved, plan = _trained(lookup, "monitored")
    assert len(stock) >= BATCHES - 1
    assert len(plan.moved) == count and not plan.staying, plan.summary()
    for other in (plain, moved):
        np.testing.assert_allclose(other, stock, rtol=1e-5)


@pytest.mark.parametrize("lookup", ["sparse", "grouped", "pooled", "grouped pooled", "is_train tensor", "function"])
def test_nothing_moves_unasked(lookup: str, graph: tf.Graph) -> None:
    features, _ = v1.data.make_one_shot_iterator(_data()).get_next()
    ids, table = _numbers(features), _table()
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
    features, _ = v1.data.make_one_shot_iterator(_data()).get_next()
    table = _table()
    flag = v1.placeholder(tf.bool, [])
    tf.cond(
        flag,
        lambda: runtime.sparse_lookup(table, _numbers(features), modify_graph=True),
        lambda: tf.zeros([SIZE, 3, DIM]),
    )
    tf.function(lambda ids: runtime.sparse_lookup(table, ids, modify_graph=True))(_numbers(features))
    plan = move_ids()
    assert not plan.moved and len(plan.staying) == 2
    assert {one.reason for one in plan.staying} == {"they are computed inside of a function"}
