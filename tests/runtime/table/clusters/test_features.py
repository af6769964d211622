"""What tables do on one server and on several: the rows of one process, or an error, as docs/clusters.md says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.clusters import in_process
from tests.support.clusters.features import FEATURES, table_of
from tests.support.paths import ROOT

v1 = tf.compat.v1
_HEAD = "| | one server | several servers |"


def _stated() -> dict[str, list[str]]:
    """Return the table of the page: what happens with one server and with several, by feature."""
    lines = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8").split(_HEAD)[1].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0]: row[1:] for row in cells if row[0] in FEATURES or len(row) == 3}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start two servers and a worker in this process; yields the cluster and the worker's target."""
    jobs = in_process.addresses({"ps": 2, "worker": 1})
    tasks = [(job, index) for job, own in jobs.items() for index in range(len(own))]
    servers = in_process.started(jobs, tasks)
    yield jobs, servers[-1].target


def _run(label: str, servers: int, cluster: Any, folder: Path) -> Any:
    _, target = cluster
    device = v1.train.replica_device_setter(ps_tasks=servers, worker_device="/job:worker/task:0") if servers else None
    own = folder / str(servers)
    own.mkdir()
    with tf.Graph().as_default(), v1.device(device):
        v1.set_random_seed(4)
        return FEATURES[label](target if servers else "", f"user{list(FEATURES).index(label)}", own)


@pytest.mark.parametrize("label", FEATURES)
@pytest.mark.one_case
def test_rows_are_those_of_one_process_or_there_is_an_error(label: str, cluster: Any, tmp_path: Path) -> None:
    stated = _stated()[label]
    alone = [] if stated == ["an error", "an error"] else _run(label, 0, cluster, tmp_path)
    for servers, outcome in zip((1, 2), stated, strict=True):
        if outcome == "an error":
            with pytest.raises(ValueError, match=r"parameter server|dense gradient"):
                _run(label, servers, cluster, tmp_path)
        else:
            assert outcome in ("as in one process", "of each shard", "on one of them")
            rows = _run(label, servers, cluster, tmp_path)
            for own, other in zip(rows, alone, strict=True):
                np.testing.assert_array_equal(own, other)


def test_the_page_names_all_features() -> None:
    assert set(_stated()) == set(FEATURES)


def test_a_shard_is_not_looked_up_alone_and_takes_its_own_rows_only(cluster: Any) -> None:
    jobs, target = cluster
    with tf.Graph().as_default(), v1.device(v1.train.replica_device_setter(cluster=jobs)):
        table = table_of("apart")
        with pytest.raises(ValueError, match="look up `apart`, which asks each server"):
            runtime.sparse_lookup(table.shards[1], [1])
        put = table.shards[1].import_rows(tf.range(10, dtype=tf.int64), tf.ones([10, 4]))
        keys = table.snapshot()[0]
        with v1.Session(target) as session:
            session.run(v1.global_variables_initializer())
            session.run(put)
            assert sorted(session.run(keys)) == [1, 3, 5, 7, 9]


def _sent(target: str, ids: list[int], **more: Any) -> tuple[int, int, int, list[Any]]:
    """Return how many ids, floats of rows and tensors a lookup sends, and the rows."""
    table = table_of("sent")
    rows = runtime.sparse_lookup(table, ids, **more)
    ops = v1.get_default_graph().get_operations()
    to_servers = [op.outputs[0] for op in ops if op.type == "RecPartitionKeys"]
    back = [op.outputs[0] for op in ops if op.type == "RecPackRows"]
    tensors = len(back) + sum("worker" in one.device for op in ops if op.type == "RecUnpackKeys" for one in op.inputs)
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        both: list[Any] = [session.run(rows), session.run(rows)]
        asked, answers = session.run([to_servers, back])
    return sum(map(len, asked)), sum(map(len, answers)), tensors, both


def test_a_lookup_that_counts_sends_each_id_once_with_its_number(cluster: Any) -> None:
    jobs, target = cluster
    ids = [*[5] * 300, 2, *[7] * 40]
    counting = {"access_and_evict_config": {"access_threshold": 301}}
    with tf.Graph().as_default(), v1.device(v1.train.replica_device_setter(cluster=jobs, worker_device="/job:worker")):
        v1.set_random_seed(4)
        asked, answered, tensors, (first, again) = _sent(target, ids, **counting)
    # Of each server the number of ids; three ids; of 5 and 7 how often they occur, in two bytes each.
    assert (asked, answered, tensors) == (2 + 3 + 1, 3 * 4, 4)
    with tf.Graph().as_default():
        v1.set_random_seed(4)
        alone = _sent("", ids, **counting)[3]
    assert not first.any()
    assert again[0].any()
    assert not again[300:].any()
    np.testing.assert_array_equal(again, alone[1])
