"""Where ops of tables lie in the graph of a cluster, and what such tables refuse; nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

import runtime
from runtime import optimizers
from runtime.table.clusters.servers import shards_of

v1 = tf.compat.v1
_ROWS = v1.zeros_initializer()


@pytest.fixture
def cluster() -> Iterator[None]:
    with tf.Graph().as_default(), v1.device(v1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker")):
        yield


def _table(**more: Any) -> Any:
    return runtime.create_table(tf.int64, 4, "user", _ROWS, 8, **more)


@pytest.mark.usefixtures("cluster")
def test_rows_and_updates_are_on_the_servers_and_ids_are_taken_apart_on_the_worker() -> None:
    tables = [runtime.create_table(tf.int64, dim, f"t{dim}", _ROWS) for dim in (2, 3)]
    rows = runtime.grouped_lookup([(table, [1, 2, 1]) for table in tables])
    optimizers.adam.create_hash_optimizer(0.1).minimize(tf.add_n([tf.reduce_sum(one) for one in rows]))
    ops = v1.get_default_graph().get_operations()
    places = {
        kind: sorted({tf.DeviceSpec.from_string(op.device).job for op in ops if op.type == kind})
        for kind in (
            "RecTableHandle",
            "RecLookupOrInsertGroup",
            "RecPackRows",
            "RecUnpackRows",
            "RecApply",
            "RecSumRows",
        )
    }
    assert places.pop("RecSumRows") == ["worker"]
    assert set(map(tuple, places.values())) == {("ps",)}
    assert {op.device for op in ops if op.type == "RecPartitionKeys"} == {"/job:worker/device:CPU:0"}
    # One op looks up both tables on each server, whose answer is one message.
    assert sum(op.type == "RecLookupOrInsertGroup" for op in ops) == 2
    sent = [one for op in ops if op.type == "RecUnpackKeys" for one in op.inputs if "worker" in one.device]
    back = [op for op in ops if op.type == "RecPackRows"]
    assert (len(sent), len(back)) == (2, 2)


@pytest.mark.usefixtures("cluster")
def test_a_table_has_a_variable_for_each_server_and_others_go_elsewhere() -> None:
    table = _table()
    assert [one.device for one in table.variables] == [f"/job:ps/task:{i}/device:CPU:0" for i in range(2)]
    assert [one.name for one in table.variables] == ["user/part_0:0", "user/part_1:0"]
    assert {shard.seed for shard in table.shards} == {table.seed}
    with v1.device("/job:worker/task:1"):
        assert shards_of("x") == []
    with v1.device("/job:ps/task:1"):
        assert [shard.device for shard in shards_of("x")] == ["/job:ps/task:1/device:CPU:0"]
    with v1.device(None):
        assert shards_of("x") == []
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        assert _table() is table


def test_a_strategy_puts_a_table_and_its_handle_on_each_server() -> None:
    cluster = tf.train.ClusterSpec({"ps": ["h:1", "h:2"], "chief": ["h:3"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, task_type="chief", task_id=0)
    with tf.Graph().as_default(), v1.distribute.experimental.ParameterServerStrategy(resolver).scope():
        table = _table()
        counted = [runtime.create_counted_table(f"counted{i}", 4) for i in range(2)]
        places = [[one.place, one.variable.device, one.filled.device] for one in (*table.shards, *counted)]
    # A counted table lies on the server of its turn, as a variable does.
    assert places == [[f"/job:ps/task:{i}/device:CPU:0"] * 3 for i in (0, 1, 0, 1)]


def test_without_a_cluster_tables_belong_to_their_session() -> None:
    with tf.Graph().as_default():
        table = _table()
        assert not table.parts
        assert not table.created.op.get_attr("server_name")


def _counted() -> Any:
    return runtime.create_counted_table(
        "user", 4, rules=runtime.KeyRules(device=runtime.Device("/gpu:0"), device_rows=8)
    )


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: _table(device="/gpu:0"), "lies on 2 parameter servers, which is not possible with device"),
        (lambda: _table(placement="replicated"), "not possible with placement='replicated'"),
        (_counted, "rows on a device lie in one process"),
        (lambda: _table().variable, "take table.variables"),
        (lambda: _table().tier_of([3]), "do this for each of table.shards"),
    ],
)
@pytest.mark.one_case
def test_what_is_not_possible_is_a_sentence(use: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        use()
