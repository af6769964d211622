"""The cases of Rec SDK's own graph tests, with what happens here; see test_vendor_mishandled for what it refuses.

Names of tests and their docstrings tell the vendor's test and expectation; the same input is given here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from rewriter import (
    GraphModifierHook,
    LookupSubgraphSlicerHook,
    OrphanLookupKeySlicerHook,
    get_initializer,
    get_target_batch,
    modify_graph_and_start_emb_cache,
    move_ids,
)
from runtime.optimizers import adagrad
from tests.support.rewriter.pipelines import (
    BATCHES,
    ROWS,
    SIZE,
    element_of,
    loss_of,
    outcome,
    same,
    session,
    step_of,
    steps,
)

v1 = tf.compat.v1


def _mock(batches: int = BATCHES) -> Any:
    """The vendor's fixture `gen_mock_dataset`: ids, labels and timestamps out of a generator."""

    def batch(number: int) -> dict[str, Any]:
        random = np.random.default_rng(number)
        return {
            "mock_ids": random.integers(0, ROWS, (SIZE, 8)),
            "mock_labels": random.integers(0, 2, (SIZE, 1)).astype(np.int32),
            "mock_timestamp": np.full((SIZE, 1), 10 + number, np.int32),
        }

    kinds = {"mock_ids": tf.int64, "mock_labels": tf.int32, "mock_timestamp": tf.int32}
    widths = {"mock_ids": 8, "mock_labels": 1, "mock_timestamp": 1}
    signature = {name: tf.TensorSpec([SIZE, widths[name]], kind) for name, kind in kinds.items()}
    return tf.data.Dataset.from_generator(lambda: (batch(n) for n in range(batches)), output_signature=signature)


def _table(name: str = "user") -> runtime.Table:
    return runtime.create_table(tf.int64, 4, name, v1.random_normal_initializer(stddev=0.3, seed=5))


def _one_shot(dataset: Any) -> Any:
    return v1.data.make_one_shot_iterator(dataset).get_next()


def _lines(graph: tf.Graph, kind: str) -> list[str]:
    return [op.name for op in graph.get_operations() if op.type == kind]


def test_4_1_a_graph_without_lookups(graph: tf.Graph) -> None:
    """4.1 get map func with empty graph: a callable. 4.3 an empty collection: RuntimeError. Here: nothing to do."""
    plan = modify_graph_and_start_emb_cache()
    assert not plan.tables and not graph.get_operations()
    assert move_ids().summary() == ""
    with v1.train.MonitoredSession(hooks=[GraphModifierHook()]) as opened:
        assert not opened.should_stop()


@pytest.mark.parametrize("ids", ["constant", "placeholder", "placeholder with default"])
def test_4_1_ids_that_no_dataset_is_behind(ids: str, graph: tf.Graph) -> None:
    """4.1 index list, unmatched cutting point; 4.2 upward_bfs_op, none; 3.6 row 1: ValueError. Here: they stay."""
    given = {
        "constant": lambda: tf.constant([1, 2], tf.int64) + 1,
        "placeholder": lambda: v1.placeholder(tf.int64, [2], "fed") + 1,
        "placeholder with default": lambda: v1.placeholder_with_default(np.int64([1, 2]), [2], "fed") + 1,
    }[ids]()
    rows = runtime.sparse_lookup(_table(), given, modify_graph=True)
    plan = move_ids()
    (left,) = plan.staying
    assert not plan.moved
    assert left.reason.startswith("they are constants" if ids == "constant" else "`fed` is fed")
    with session() as opened:
        assert opened.run(rows, {} if ids != "placeholder" else {"fed:0": [1, 2]}).shape == (2, 4)


def test_4_1_passing_tensors_and_their_index(graph: tf.Graph) -> None:
    """4.1 passing tensors: identity(ids) gives [ids] and index 0; an output of the iterator itself stays as it is."""
    batch = element_of(_mock())
    rows = [runtime.sparse_lookup(_table(), ids, modify_graph=True) for ids in (tf.identity(batch["mock_ids"]),)]
    rows.append(runtime.sparse_lookup(_table("item"), batch["mock_ids"], modify_graph=True))
    plan = move_ids()
    assert ([ids.table for ids in plan.moved], [ids.table for ids in plan.passing]) == (["user"], ["item"])
    with session() as opened:
        assert [one.shape for one in opened.run(rows)] == [(SIZE, 8, 4)] * 2


@pytest.mark.parametrize("prefetches", [0, 1, 2])
@pytest.mark.parametrize("source", [_one_shot, element_of])
@pytest.mark.one_case
def test_4_1_source_dataset_whatever_is_prefetched(source: Callable[[Any], Any], prefetches: int) -> None:
    """4.1 and 4.4 one-shot iterators over prefetched datasets; 3.6 row 6: RuntimeError or a wrong dataset."""

    def case() -> Callable[[], list[Any]]:
        dataset = _mock()
        _one_shot(_mock(2).prefetch(3))
        for _ in range(prefetches):
            dataset = dataset.map(lambda one: one).prefetch(10)
        batch = source(dataset)
        return steps(loss_of(batch["mock_ids"] * 3 % ROWS), batch)

    assert len(same(case).moved) == 1


def test_4_1_target_dataset_with_an_empty_record(graph: tf.Graph) -> None:
    """4.1 target dataset with empty record: not None. Here: a dataset that no lookup needs is left alone."""
    batch = element_of(_mock())
    before = graph.as_graph_def()
    assert not move_ids().extended
    assert graph.as_graph_def() == before
    with session() as opened:
        assert opened.run(batch["mock_ids"]).shape == (SIZE, 8)


@pytest.mark.parametrize("when", ["after minimize", "before minimize", "tf.gradients only"])
def test_4_1_modify_in_training_needs_no_order(when: str) -> None:
    """4.1 modify, train, merged flag True: no error, False and 3.6 row 14, tf.gradients only: RuntimeError."""

    def case() -> Callable[[], list[Any]]:
        batch = element_of(_mock())
        loss = loss_of(batch["mock_ids"] * 3 % ROWS)
        early = when == "before minimize" and seen
        if early:
            assert len(move_ids().moved) == 1
        seen.append(early)
        if when != "tf.gradients only":
            step = step_of(loss)
        else:
            (table,) = runtime.tables()
            gradient = tf.gradients(loss, table.variable)[0]
            step = adagrad.create_hash_optimizer(0.1).apply_gradients([(gradient, table.variable)])

        def run() -> list[Any]:
            with session() as opened:
                return [opened.run([loss, step])[0] for _ in range(BATCHES)]

        return run

    seen: list[Any] = []
    plan = same(case)
    assert len(plan.moved) + len(plan.passing) == 1


@pytest.mark.parametrize("shared", [False, True])
def test_4_1_modify_in_evaluation_beside_training(shared: bool) -> None:
    """4.1 modify, eval, gauge {"evaluate"}: no error; 3.6 row 9 one iterator for both: one flag for both."""

    def case() -> Callable[[], list[Any]]:
        batches = [element_of(_mock()), element_of(_mock(3))]
        losses = [loss_of(batches[n * (not shared)]["mock_ids"] * 3 % ROWS, trains=not n) for n in (0, 1)]
        step = step_of(losses[0])

        def run() -> list[Any]:
            with session() as opened:
                trained = [opened.run([losses if shared else losses[0], step])[0] for _ in range(2)]
                return trained + [outcome(opened, losses[n % 2]) for n in range(12)]

        return run

    assert len(same(case).moved) == 2


def test_4_1_timestamps_come_with_their_batch() -> None:
    """4.1 timestamp index: `mock_timestamp` in ASCEND_TIMESTAMP has index 2. Here: eviction sees each batch's time."""

    def case() -> Callable[[], list[Any]]:
        batch = element_of(_mock())
        v1.add_to_collection("ASCEND_TIMESTAMP", batch["mock_timestamp"][0, 0])
        table = _table()
        config = {"access_threshold": 1, "eviction_threshold": 2}
        ids = batch["mock_ids"] * 3 % ROWS
        rows = runtime.sparse_lookup(table, ids, modify_graph=True, access_and_evict_config=config)
        evict, size, meta = (
            runtime.evict_by_age(table, batch["mock_timestamp"][0, 0]),
            table.size(),
            table.snapshot()[3],
        )

        def run() -> list[Any]:
            with session() as opened:
                found = [opened.run([rows, batch["mock_timestamp"]]) for _ in range(4)]
                found += [opened.run(size), np.sort(opened.run(meta))]
                opened.run(evict)
                return [*found, opened.run(size), *(opened.run([rows, batch["mock_timestamp"]]) for _ in range(2))]

        return run

    assert len(same(case).moved) == 1


def test_4_1_the_hook_runs_the_initializer_that_scripts_registered(graph: tf.Graph) -> None:
    """4.1 GraphModifierHook in MonitoredSession, MakeIterator: runs; initializer from collection executed."""
    iterator = v1.data.make_initializable_iterator(_mock())
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    loss = loss_of(iterator.get_next()["mock_ids"] + 1)
    with v1.train.MonitoredSession(hooks=[GraphModifierHook()]) as opened:
        assert np.isfinite(opened.run(loss))
    assert get_initializer(True) is iterator.initializer


def test_4_1_an_iterator_of_another_kind(graph: tf.Graph) -> None:
    """4.1 GraphModifierHook, iterator_type "InvalidIterator": ValueError. Here: its ids stay, and the hook says why."""
    dataset = _mock()
    resource = tf.raw_ops.AnonymousIteratorV2(
        output_types=[tf.int64, tf.int32, tf.int32], output_shapes=[*v1.data.get_output_shapes(dataset).values()]
    )[0]
    ids = tf.raw_ops.IteratorGetNext(iterator=resource, output_types=[tf.int64], output_shapes=[[SIZE, 8]])[0]
    runtime.sparse_lookup(_table(), ids + 1, modify_graph=True)
    (left,) = move_ids().staying
    assert left.reason == "the graph does not show which dataset `IteratorGetNext` reads"


def test_4_2_an_iterator_that_nobody_makes(graph: tf.Graph) -> None:
    """4.2 find_make_iterator_op, none: ValueError."""
    shapes = v1.data.get_output_shapes(_mock())
    iterator = v1.data.Iterator.from_structure(v1.data.get_output_types(_mock()), shapes)
    runtime.sparse_lookup(_table(), iterator.get_next()["mock_ids"] + 1, modify_graph=True)
    (left,) = move_ids().staying
    assert left.reason == "no op in the graph attaches a dataset to `IteratorV2`"


@pytest.mark.parametrize(
    "ids", [tf.string, tf.float32, "1", None, [1.5]], ids=["strings", "floats", "text", "None", "a list of floats"]
)
def test_4_2_ids_of_a_wrong_type(ids: Any, graph: tf.Graph) -> None:
    """4.2 check_cutting_points, strings: TypeError, other ops: ValueError."""
    given = v1.placeholder(ids, [None]) if isinstance(ids, tf.DType) else ids
    with pytest.raises((TypeError, ValueError)) as error:
        runtime.sparse_lookup(_table(), given, modify_graph=True)
    assert len(str(error.value).splitlines()) == 1 and "ids" in str(error.value)


def test_4_2_the_graph_is_dumped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: tf.Graph) -> None:
    """4.2 export_pb_graph: writes a file when dump_graph."""
    monkeypatch.chdir(tmp_path)
    loss_of(element_of(_mock())["mock_ids"] + 1)
    modify_graph_and_start_emb_cache(dump_graph=True)
    before, after = ((tmp_path / f"export_graph/{when}.pbtxt").read_text() for when in ("before", "after"))
    assert len(before) < len(after)
    modify_graph_and_start_emb_cache(full_graph=graph)
    assert len(list((tmp_path / "export_graph").iterdir())) == 2


def test_4_2_who_read_the_old_tensor_reads_the_new(graph: tf.Graph) -> None:
    """4.2 replace_anchor_vec: the consumer of the stub now reads the new tensor; 3.6 row 7 x * x: only once."""
    batch = element_of(_mock())
    ids = batch["mock_ids"] + 1
    runtime.sparse_lookup(_table(), ids, modify_graph=True)
    twice, labels = ids * ids, batch["mock_labels"] * batch["mock_labels"]
    move_ids()
    for product in (twice, labels):
        assert {tensor.op.name for tensor in product.op.inputs} == {"recmigrate/ids/IteratorGetNext"}


@pytest.mark.parametrize("count", [2, pytest.param(130, marks=pytest.mark.soak)])
def test_4_3_lookups_of_one_table(count: int) -> None:
    """4.3 one cut point and multi_lookup_times 2: ok; over 128 lookups of a table: RuntimeError."""

    def case() -> Callable[[], list[Any]]:
        ids = element_of(_mock())["mock_ids"]
        loss = tf.add_n([loss_of((ids + n) % ROWS) for n in range(count)]) / count
        return steps(loss, ids, 4)

    assert len(same(case).moved) == count


def test_4_3_nothing_is_done_unasked(graph: tf.Graph) -> None:
    """4.3 no-op when modify_graph is False, and when already done."""
    ids = element_of(_mock())["mock_ids"] + 1
    runtime.sparse_lookup(_table("other"), ids)
    assert not move_ids().moved
    runtime.sparse_lookup(_table(), ids * 2, modify_graph=True)
    assert len(move_ids().moved) == 1
    before = graph.as_graph_def()
    again = move_ids()
    assert not again.extended and len(again.passing) == 1
    assert graph.as_graph_def() == before


def test_4_4_one_identity_is_sliced(graph: tf.Graph) -> None:
    """4.4 slice one Identity between ids and a consumer (initializable, prefetch): 2 PrefetchDataset ops then."""
    batch = element_of(_mock().prefetch(10))
    runtime.sparse_lookup(_table(), tf.identity(tf.identity(batch["mock_ids"])), modify_graph=True)
    hook = LookupSubgraphSlicerHook(["Identity"])
    hook.begin()
    assert len(hook.pipeline.moved) == 1 and len(_lines(graph, "PrefetchDataset")) == 2
    assert len(hook.pipeline.extended[0].computed) == 2


def test_4_4_orphan_ids_in_evaluation(graph: tf.Graph) -> None:
    """4.4 orphan slicer on constant ids, eval: 2 PrefetchDataset ops afterwards. Here: they need no dataset."""
    element_of(_mock().prefetch(10))
    rows = runtime.sparse_lookup(_table(), tf.constant([1, 2], tf.int64), is_train=False, modify_graph=True)
    for hook in (OrphanLookupKeySlicerHook(), GraphModifierHook()):
        hook.begin()
    assert len(_lines(graph, "PrefetchDataset")) == 1
    with session() as opened:
        assert opened.run(rows).shape == (2, 4)


def test_3_4_labels_in_an_evaluation(graph: tf.Graph) -> None:
    """3.4 fetching the old `batch["label"]` in an evaluation hits the dead iterator: get_target_batch is a must."""
    batch = element_of(_mock())
    loss = loss_of(batch["mock_ids"] + 1, trains=False)
    move_ids()
    with session() as opened:
        own, asked, _ = opened.run([batch["mock_labels"], get_target_batch(False)["mock_labels"], loss])
    np.testing.assert_array_equal(own, asked)
