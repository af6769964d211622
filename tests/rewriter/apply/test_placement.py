"""Devices and colocation of a rewritten graph resolve, in a session on servers too; what other workers train stays."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.compare import DIM, ROWS, variable

v1 = tf.compat.v1
both = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


def _model(use_resource: bool) -> tuple[Any, Any]:
    """Return the ids' placeholder and fetches: some ops are colocated with the variable, some have a device."""
    v1.set_random_seed(2)
    ids = v1.placeholder(tf.int64, [None, 3], "ids")
    table = variable(use_resource=use_resource)
    with v1.colocate_with(table.op):
        beside = tf.cast(ids, tf.float32, name="beside")
    with tf.device("/device:CPU:0"):
        rows = v1.nn.embedding_lookup(table, ids)
    hidden = tf.reshape(rows, [-1, 3 * DIM])
    with v1.colocate_with(rows.op):
        loss = tf.reduce_mean(tf.square(tf.reduce_sum(hidden, 1, name="total") - beside[:, 0] / ROWS))
    step = v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())
    return ids, [loss, beside, step]


def _groups(graph: tf.Graph) -> dict[str, tuple[str, list[bytes]]]:
    return {op.name: (op.device, op.colocation_groups()) for op in graph.get_operations()}


def _losses(use_resource: bool, moved: bool, target: str, device: Any = None, tables: Any = ("user",)) -> Any:
    with tf.Graph().as_default() as graph:
        with v1.device(device):
            ids, fetches = _model(use_resource)
        before = _groups(graph)
        if moved:
            plan = rewrite(graph)
            assert [table.name for table in plan.tables] == list(tables), plan.summary()
            if not tables:
                assert "it is placed on /job:ps/task:0, where sessions of other workers" in plan.summary()
            after = _groups(graph)
            assert {name: after[name] for name in before} == before
        random, found = np.random.default_rng(0), []
        with v1.Session(target, graph=graph) as session:
            session.run(v1.global_variables_initializer())
            for _ in range(10):
                found.append(session.run(fetches, {ids: random.integers(0, ROWS, [8, 3])})[0])
    return np.array(found)


@pytest.fixture(scope="module")
def cluster() -> Any:
    """Parameters and a worker, each a server in this process; servers live as long as the process."""
    ports = _free_ports(2)
    spec = tf.train.ClusterSpec({"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{ports[1]}"]})
    servers = [v1.train.Server(spec, job, 0) for job in ("ps", "worker")]
    return spec, servers


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@both
@pytest.mark.parametrize("job", ["ps", "worker"])
def test_variables_stay_on_parameter_servers_and_move_where_one_session_trains_them(
    cluster: Any, job: str, use_resource: bool
) -> None:
    spec, servers = cluster
    device = v1.train.replica_device_setter(cluster=spec, ps_device=f"/job:{job}")
    tables = [] if job == "ps" else ["user"]
    stock, moved = (_losses(use_resource, one, servers[1].target, device, tables) for one in (False, True))
    np.testing.assert_allclose(moved, stock, rtol=1e-5)
