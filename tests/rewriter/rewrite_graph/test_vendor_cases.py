"""The cases of Rec SDK's own graph tests: names and docstrings tell the vendor's test and expectation."""

from __future__ import annotations

import subprocess
import sys
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
    modify_graph_and_start_emb_cache,
    move_ids,
)
from tests.support.rewriter.pipelines import BATCHES, ROWS, SIZE, element_of, loss_of, session

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


def test_4_1_target_dataset_with_an_empty_record(graph: tf.Graph) -> None:
    """4.1 target dataset with empty record: not None. Here: a dataset that no lookup needs is left alone."""
    batch = element_of(_mock())
    before = graph.as_graph_def()
    assert not move_ids().extended
    assert graph.as_graph_def() == before
    with session() as opened:
        assert opened.run(batch["mock_ids"]).shape == (SIZE, 8)


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


@pytest.mark.soak
def test_importing_the_rewriter_leaves_datasets_alone() -> None:
    code = (
        "import tensorflow as tf; kinds = (tf.data.Dataset, tf.compat.v1.data.Dataset, tf.compat.v1.Session); "
        "before = [dict(vars(one)) for one in kinds]; import rewriter; "
        "assert before == [dict(vars(one)) for one in kinds]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
