"""Rec SDK's hooks in monitored sessions: graph modification, ids without a dataset, eviction, thresholds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.compat import mx_rec

v1 = tf.compat.v1
CONFIG = {"access_threshold": 1, "eviction_threshold": 100}


@pytest.fixture
def sdk() -> Iterator[Any]:
    """Rec SDK, installed and begun, in a fresh graph."""
    mx_rec.install()
    try:
        from mx_rec import graph  # type: ignore[import-not-found]
        from mx_rec.core import embedding, feature_process  # type: ignore[import-not-found]
        from mx_rec.optimizers import gradient_descent  # type: ignore[import-not-found]
        from mx_rec.util import initialize, ops  # type: ignore[import-not-found]

        names = {}
        for module in (graph, embedding, feature_process, gradient_descent, initialize, ops):
            names |= {key: value for key, value in vars(module).items() if not key.startswith("__")}
        names["init"](use_dynamic=True)
        with tf.Graph().as_default():
            yield SimpleNamespace(**names)
    finally:
        mx_rec.uninstall()


@contextlib.contextmanager
def monitored(**settings: Any) -> Iterator[Any]:
    """Open a session with hooks, which would end without a word where the data does."""
    with v1.train.MonitoredTrainingSession(**settings) as session:
        try:
            yield session
        except tf.errors.OutOfRangeError as error:
            raise AssertionError("the data ended") from error


def network(sdk: Any, ids: Any, config: Any = None, **settings: Any) -> tuple[Any, Any, Any]:
    """Return a table, the rows that it has for ids, and the op that trains it by gradient descent with rate 1."""
    table = sdk.create_table(tf.int64, 1, "user", v1.constant_initializer(4.0), 3, **settings)
    rows = sdk.sparse_lookup(table, ids, modify_graph=True, access_and_evict_config=config)
    train = sdk.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows), v1.train.get_or_create_global_step())
    return table, rows, train


def batches(values: list[dict[str, Any]]) -> Any:
    """Return the next element of a dataset whose iterator nobody initializes."""
    shapes = {key: np.shape(value) for key, value in values[0].items()}
    dataset = tf.data.Dataset.from_generator(lambda: iter(values), dict.fromkeys(shapes, tf.int64), shapes)
    return v1.data.make_initializable_iterator(dataset.prefetch(10)).get_next()


def test_a_session_with_hooks_needs_the_modifier(sdk: Any) -> None:
    network(sdk, batches([{"ids": [1, 2]}])["ids"] + 1)
    with pytest.raises(RuntimeError, match="GraphModifierHook"):
        v1.train.MonitoredTrainingSession()
    for wrong in ({"dump_graph": 1}, {"modify_graph": None}):
        with pytest.raises(ValueError):
            sdk.GraphModifierHook(**wrong)
    for wrong in ({"evict_enable": 1}, {"evict_time_interval": 0}, {"evict_step_interval": 0.5}):
        with pytest.raises(ValueError):
            sdk.EvictHook(**wrong)
    with pytest.raises(ValueError):
        sdk.LookupSubgraphSlicerHook([])


def test_gradients_come_before_the_modification(sdk: Any) -> None:
    with pytest.raises(RuntimeError, match="no lookups"):
        sdk.ConfigInitializer.get_instance().modify_graph = True
        sdk.do_merge_lookup()
    table = sdk.create_table(tf.int64, 1, "user", v1.zeros_initializer())
    sdk.sparse_lookup(table, batches([{"ids": [1, 2]}])["ids"], modify_graph=True, is_grad=False)
    with pytest.raises(RuntimeError, match="compute gradients"):
        sdk.modify_graph_and_start_emb_cache()
    with pytest.raises(RuntimeError, match="is_train=False"):
        sdk.do_merge_lookup(False)
    with pytest.raises(RuntimeError, match="is_grad=True"):
        v1.train.GradientDescentOptimizer(0.1).compute_gradients(tf.Variable(1.0))
    with pytest.raises(ValueError):
        sdk.do_merge_lookup("train")


def test_ids_without_a_dataset(sdk: Any) -> None:
    ids = tf.constant([7, 8], tf.int64)
    _, rows, train = network(sdk, ids)
    with pytest.raises(ValueError, match="come from no dataset"):
        sdk.modify_graph_and_start_emb_cache()
    hooks = [sdk.OrphanLookupKeySlicerHook(), sdk.GraphModifierHook()]
    with monitored(hooks=hooks) as session:
        session.run(train)
        assert session.run(rows).tolist() == [[3.0], [3.0]]


@pytest.mark.parametrize("dtype", [tf.int64, tf.float32])
def test_the_modifier_initializes_the_iterator_and_moves_the_ids(sdk: Any, dtype: Any) -> None:
    batch = batches(
        [{"ids": [1, 2], "label": [0, 1]}, {"ids": [2, 2], "label": [1, 1]}, {"ids": [5, 2], "label": [0, 0]}]
    )
    as_text = tf.strings.as_string(batch["ids"])
    ids = tf.strings.to_number(as_text, dtype, name="back")
    table, rows, train = network(sdk, ids)
    missing = sdk.sparse_lookup(table, tf.constant([1, 99], tf.int64), is_train=False, modify_graph=True)
    default = tf.constant([[-2.0]])
    other = sdk.sparse_lookup(
        table, batch["label"] + 98, is_train=False, modify_graph=True, serving_default_value=default
    )
    hooks = [sdk.LookupSubgraphSlicerHook(["StringToNumber"]), sdk.OrphanLookupKeySlicerHook(), sdk.GraphModifierHook()]
    found = []
    with monitored(hooks=hooks) as session:
        found.append(session.run([rows, other, train])[:2])
        found.append(session.run([rows, train])[0])
        assert session.run(missing).tolist() == [[3.0], [0.0]]
        found.append(session.run(rows))
    assert [part.tolist() for part in found[0]] == [[[4.0], [4.0]], [[-2.0], [-2.0]]]
    assert [one.tolist() for one in found[1:]] == [[[3.0], [3.0]], [[4.0], [1.0]]]
    assert not any(op.type == "StringToNumber" for op in ids.consumers())
    mode = sdk.ConfigInitializer.get_instance().train_params_config
    assert mode.get_initializer(True).type == "MakeIterator"
    assert set(mode.get_target_batch(True)) == {"ids", "label"}
    assert mode.iterator_type == "MakeIterator"


def test_old_ids_are_evicted_and_thresholds_change(sdk: Any) -> None:
    times = [{"ids": [1, 2], "time": 10}, {"ids": [1, 3], "time": 60}, {"ids": [1, 3], "time": 120}] + [
        {"ids": [1, 3], "time": 121}
    ] * 3
    batch = batches(times)
    v1.add_to_collection("ASCEND_TIMESTAMP", batch["time"])
    table, rows, train = network(sdk, batch["ids"], CONFIG)
    known = sdk.sparse_lookup(
        table, tf.constant([1, 2, 3], tf.int64), is_train=False, modify_graph=True, access_and_evict_config=CONFIG
    )
    ops = sdk.import_host_pipeline_ops()
    raised = ops.set_threshold(tf.constant(50), emb_name="user", ids_name="lookup")
    unknown = ops.set_threshold(tf.constant(1), emb_name="item")
    now = ops.return_timestamp(batch["ids"])
    hooks = [
        sdk.OrphanLookupKeySlicerHook(),
        sdk.GraphModifierHook(),
        sdk.EvictHook(evict_enable=True, evict_step_interval=3),
    ]
    with monitored(hooks=hooks) as session:
        session.run(train)
        session.run(train)
        assert (table.size(), session.run(known).tolist()) == (3, [[2.0], [3.0], [3.0]])
        session.run(train)
        assert (table.size(), session.run(known).tolist()) == (2, [[1.0], [0.0], [2.0]])
        assert session.run([raised, unknown]) == [50, 1]
        assert session.run(rows).tolist() == [[0.0], [0.0]]
        assert session.run(now) > 1_600_000_000


def test_rows_of_padding_keys_stay(sdk: Any) -> None:
    settings = {"padding_keys": [0], "padding_keys_mask": True, "padding_keys_len": 5}
    _, rows, train = network(sdk, batches([{"ids": [0, 1]}] * 3)["ids"], **settings)
    with pytest.raises(RuntimeError, match="use_dynamic=False"):
        sdk.modify_graph_and_start_emb_cache()
    sdk.ConfigInitializer.get_instance().use_static = True
    sdk.modify_graph_and_start_emb_cache()
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), sdk.get_initializer(True)])
        session.run(train)
        assert session.run(rows).tolist() == [[4.0], [3.0]]


def test_all_lookups_of_a_batch_count_before_one_is_admitted(sdk: Any) -> None:
    batch = batches([{"ids": [1, 2], "more": [1, 3]}] * 2)
    config = {"access_threshold": 2}
    table = sdk.create_table(tf.int64, 1, "user", v1.constant_initializer(4.0), 3)
    settings = {"modify_graph": True, "access_and_evict_config": config}
    first = sdk.sparse_lookup(table, batch["ids"], **settings)
    second = sdk.sparse_lookup(table, batch["more"], serving_default_value=tf.constant([9.0]), **settings)
    train = sdk.create_hash_optimizer(1.0).minimize(tf.reduce_sum(first) + tf.reduce_sum(second))
    sdk.modify_graph_and_start_emb_cache()
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), sdk.get_initializer(True)])
        found = [[rows.tolist() for rows in session.run([first, second, train])[:2]] for _ in range(2)]
    assert found == [[[[4.0], [0.0]], [[4.0], [9.0]]], [[[2.0], [4.0]], [[2.0], [4.0]]]]


def test_several_steps_in_one_run(sdk: Any) -> None:
    from npu_bridge.npu_init import npu_config_proto, util  # type: ignore[import-not-found]

    _, rows, train = network(sdk, batches([{"ids": [1, 2]}] * 7)["ids"])
    three = util.set_iteration_per_loop(None, train, 3)
    older = util.IterationPerLoop()
    two = older.create_iteration_per_loop_var([train])
    older.load_iteration_per_loop_var(None, 2)
    config = npu_config_proto(config_proto=v1.ConfigProto())
    with monitored(hooks=[sdk.GraphModifierHook()], config=config) as session:
        found = [session.run([rows, three])[0], session.run({"rows": rows, "op": (two,)})["rows"], session.run(rows)]
        assert [one[0, 0] for one in found] == [2.0, 0.0, -1.0]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(three)
    for wrong in (0, 1.5):
        with pytest.raises(ValueError):
            util.set_iteration_per_loop(None, train, wrong)


@pytest.mark.parametrize("order", ["train, eval", "eval, train"])
@pytest.mark.parametrize("expands", [False, True])
def test_a_lookup_has_the_time_of_its_own_iterator(sdk: Any, order: str, expands: bool) -> None:
    sdk.ConfigInitializer.get_instance().use_dynamic_expansion = expands
    read = {"train": batches([{"ids": [1, 2], "time": 10}] * 3), "eval": batches([{"ids": [1, 2], "time": 500}] * 3)}
    for name in order.split(", "):
        v1.add_to_collection("ASCEND_TIMESTAMP", read[name]["time"])
    table = sdk.create_table(tf.int64, 1, "user", v1.constant_initializer(4.0), 3)
    rows, known = (
        sdk.sparse_lookup(table, read[name]["ids"], is_train=mode, modify_graph=True, access_and_evict_config=CONFIG)
        for name, mode in (("train", True), ("eval", False))
    )
    sdk.do_merge_lookup(True)
    sdk.modify_graph_and_start_emb_cache()
    evicted = runtime.evict_by_age(table, 100, 111)
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), sdk.get_initializer(True)])
        session.run(rows)  # needs nothing of the other iterator, which nobody has begun
        session.run(sdk.get_initializer(False))
        assert session.run(known).tolist() == [[4.0], [4.0]]
        assert session.run(evicted) == 2  # last seen at 10


def test_times_that_are_of_no_batch_or_of_two_are_refused(sdk: Any) -> None:
    batch, other = (batches([{"ids": [1], "time": 10, "again": 11}]) for _ in range(2))
    table = sdk.create_table(tf.int64, 1, "user", v1.zeros_initializer(), 3)

    def merged() -> None:
        sdk.sparse_lookup(table, batch["ids"], modify_graph=True, access_and_evict_config=CONFIG)
        sdk.do_merge_lookup(True)

    v1.add_to_collection("ASCEND_TIMESTAMP", other["time"])
    with pytest.raises(ValueError, match=r"0 of the 1 times .* from the batch"):
        merged()
    for name in ("time", "again"):
        v1.add_to_collection("ASCEND_TIMESTAMP", batch[name])
    with pytest.raises(ValueError, match=r"2 of the 3 times .* from the batch"):
        merged()


@pytest.mark.parametrize("has_other", [False, True])
def test_gradients_of_lookups_that_wait_for_others_say_so(sdk: Any, has_other: bool) -> None:
    batch = batches([{"ids": [1, 2]}] * 3)
    table, other = (sdk.create_table(tf.int64, 1, name, v1.ones_initializer(), 9) for name in ("user", "item"))
    loss = tf.reduce_sum(
        sdk.sparse_lookup(table, batch["ids"], modify_graph=True, access_and_evict_config={"access_threshold": 1})
    )
    if has_other:  # has a gradient, so that not all are missing
        loss += tf.reduce_sum(sdk.sparse_lookup(other, batch["ids"], modify_graph=True))
    variables = [table.variable, other.variable][: 1 + has_other]
    optimizer = sdk.create_hash_optimizer(1.0)
    with pytest.raises(RuntimeError, match=r"not merged, so the table `user` has no gradient: .* do_merge_lookup"):
        optimizer.apply_gradients(zip(tf.gradients(loss, variables), variables, strict=True))
    sdk.do_merge_lookup()
    train = optimizer.apply_gradients(zip(tf.gradients(loss, variables), variables, strict=True))
    sdk.modify_graph_and_start_emb_cache()
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), sdk.get_initializer(True)])
        losses = [session.run([loss, train])[0] for _ in range(2)]
    assert losses == [2.0 * (1 + has_other), 0.0]


def test_what_the_examples_ask_for(sdk: Any) -> None:
    from mx_rec.constants import constants  # type: ignore[import-not-found]

    for library in (constants.LIBREC_TF_REC_V1_CPU_SO, constants.LIBREC_CPU_SO, constants.LIBASC_OPS_SO):
        ops = sdk.import_host_pipeline_ops(library)
        with v1.Session() as session:
            session.run(ops.clear_channel(1))
    with pytest.raises(ValueError):
        ops.clear_channel(channel_id=2)
    assert sdk.ConfigInitializer.get_instance().use_dynamic is True
