"""Devices and colocation of a rewritten graph resolve; on parameter servers, all sessions find a variable's table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import install, rewrite
from tests.support.clusters import in_process
from tests.support.rewriter.compare import DIM, ROWS, variable

v1 = tf.compat.v1
both = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


def _model(use_resource: bool, l2: float = 0.0) -> tuple[Any, Any]:
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
    loss = loss + l2 * tf.nn.l2_loss(table) if l2 else loss
    step = v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())
    return ids, [loss, beside, step]


def _groups(graph: tf.Graph) -> dict[str, tuple[str, list[bytes]]]:
    return {op.name: (op.device, op.colocation_groups()) for op in graph.get_operations()}


def _losses(use_resource: bool, moved: bool, target: str, device: Any = None, l2: float = 0.0) -> Any:
    with tf.Graph().as_default() as graph:
        with v1.device(device):
            ids, fetches = _model(use_resource, l2)
        before = _groups(graph)
        if moved:
            plan = rewrite(graph)
            assert [table.name for table in plan.tables] == ["user"], plan.summary()
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
    """Two parameter servers and two workers, each a server in this process; they live as long as the process."""
    spec = tf.train.ClusterSpec(in_process.addresses({"ps": 2, "worker": 2}))
    servers = in_process.started(spec, [(job, task) for job in ("ps", "worker") for task in range(2)])
    return spec, servers[2:]


@both
@pytest.mark.parametrize(("job", "l2"), [("ps", 0.0), ("worker", 0.0), ("ps", 0.1)])
def test_a_variable_trains_alike_on_a_server_and_on_a_worker(
    cluster: Any, job: str, l2: float, use_resource: bool
) -> None:
    _, workers = cluster
    device = v1.train.replica_device_setter(ps_tasks=1, ps_device=f"/job:{job}")
    stock, moved = (_losses(use_resource, one, workers[0].target, device, l2) for one in (False, True))
    np.testing.assert_allclose(moved, stock, rtol=1e-5)


@dataclass
class _Worker:
    """One worker's graph of a variable in parts: session, ids, what trains, what starts, all rows and a Saver."""

    session: Any
    ids: Any
    step: Any
    start: Any
    rows: Any
    saver: Any

    def train(self, batches: Any) -> list[float]:
        """Return the loss of each step."""
        return [self.session.run(self.step, {self.ids: ids})[0] for ids in batches]

    def save(self, path: Path) -> str:
        """Write a checkpoint; return its path."""
        with self.session.graph.as_default():
            return str(self.saver.save(self.session, str(path)))

    def restore(self, path: str) -> None:
        """Read a checkpoint."""
        with self.session.graph.as_default():
            self.saver.restore(self.session, path)


def _worker(
    name: str,
    parts: int,
    strategy: str,
    target: str = "",
    device: Any = None,
    moved: bool = False,
    saver_first: bool = False,
    settings: Any = None,
) -> _Worker:
    with tf.Graph().as_default() as graph, v1.device(device):
        ids = v1.placeholder(tf.int64, [None, 3], "ids")
        initial = v1.random_normal_initializer(stddev=0.1, seed=4)
        cut = v1.fixed_size_partitioner(parts) if parts > 1 else None
        with v1.variable_scope("", use_resource=True):
            table = v1.get_variable(name, [ROWS, DIM], initializer=initial, partitioner=cut)
        rows = v1.nn.embedding_lookup(table, ids, partition_strategy=strategy)
        every = v1.nn.embedding_lookup(table, tf.range(ROWS, dtype=tf.int64), partition_strategy=strategy)
        bags = v1.nn.embedding_lookup_sparse(
            table, tf.sparse.from_dense(ids), None, combiner="sum", partition_strategy=strategy
        )
        loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows * bags[:, None], [1, 2]) - 1.0))
        train = v1.train.AdamOptimizer(0.05).minimize(loss, v1.train.get_or_create_global_step())
        saver = v1.train.Saver(v1.global_variables(), sharded=True) if saver_first else None
        start = v1.global_variables_initializer() if saver_first else None
        if moved:
            plan = rewrite(graph, settings=settings)
            assert [(one.name, len(one.pieces)) for one in plan.tables] == [(name, parts)], plan.summary()
        start = v1.global_variables_initializer() if start is None else start
        saver = saver or v1.train.Saver(v1.global_variables(), sharded=True)
    return _Worker(v1.Session(target, graph), ids, [loss, train], start, every, saver)


def _batches(count: int) -> Any:
    return np.random.default_rng(1).integers(0, ROWS, [count, 8, 3])


@pytest.mark.parametrize(("parts", "strategy"), [(2, "mod"), (2, "div"), (3, "div"), (1, "mod")])
@pytest.mark.parametrize("saver_first", [True, False])
def test_workers_share_a_table_in_the_place_of_the_parts_of_a_variable(
    cluster: Any, tmp_path: Path, parts: int, strategy: str, saver_first: bool
) -> None:
    spec, workers = cluster
    name, batches = f"shared_{parts}_{strategy}", _batches(12)
    alone = _worker(name, parts, strategy)
    alone.session.run(alone.start)
    losses = alone.train(batches)
    first, second = (
        _worker(
            name,
            parts,
            strategy,
            worker.target,
            v1.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{task}"),
            moved=True,
            saver_first=saver_first,
        )
        for task, worker in enumerate(workers)
    )
    first.session.run(first.start)
    found = [one.train([ids])[0] for one, ids in zip([first, second] * 4, batches, strict=False)]
    path = first.save(tmp_path / "model")
    first.session.close()  # the rows stay on their servers
    found += second.train(batches[8:])
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    np.testing.assert_allclose(second.session.run(second.rows), alone.session.run(alone.rows), rtol=1e-5, atol=1e-6)
    second.restore(path)
    np.testing.assert_allclose(second.train(batches[8:]), losses[8:], rtol=1e-5)
    one_process = _worker(name, parts, strategy, moved=True)
    one_process.restore(path)
    np.testing.assert_allclose(one_process.train(batches[8:]), losses[8:], rtol=1e-5)


@pytest.mark.parametrize("saver_first", [True, False])
def test_servers_restore_the_checkpoint_of_the_original_in_parts(
    cluster: Any, tmp_path: Path, saver_first: bool
) -> None:
    spec, workers = cluster
    batches = _batches(10)
    alone = _worker("original", 2, "mod")
    alone.session.run(alone.start)
    alone.train(batches[:5])
    path = alone.save(tmp_path / "stock")
    setter = v1.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:0")
    served = _worker("original", 2, "mod", workers[0].target, setter, True, saver_first)
    served.restore(path)
    np.testing.assert_allclose(served.train(batches[5:]), alone.train(batches[5:]), rtol=1e-5)


def test_servers_admit_ids_as_one_process(cluster: Any, tmp_path: Path) -> None:
    spec, workers = cluster
    batches, settings = _batches(8), {"admitted": {"admit_after": 2}}
    alone = _worker("admitted", 2, "mod", moved=True, settings=settings)
    setter = v1.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:0")
    served = _worker("admitted", 2, "mod", workers[0].target, setter, True, saver_first=True, settings=settings)
    for one in (alone, served):
        one.session.run(one.start)
    np.testing.assert_allclose(served.train(batches[:2]), alone.train(batches[:2]), rtol=1e-5)
    served.restore(served.save(tmp_path / "admitted"))  # the counts come along
    np.testing.assert_allclose(served.train(batches[2:]), alone.train(batches[2:]), rtol=1e-5)
    np.testing.assert_allclose(served.session.run(served.rows), alone.session.run(alone.rows), rtol=1e-5, atol=1e-6)


def test_sessions_rewrite_the_graphs_of_workers_that_have_their_savers_already(cluster: Any, tmp_path: Path) -> None:
    spec, workers = cluster
    batches = _batches(8)
    alone = _worker("installed", 2, "mod", saver_first=True)
    alone.session.run(alone.start)
    losses = alone.train(batches)
    installation = install()
    try:
        first, second = (
            _worker(
                "installed",
                2,
                "mod",
                worker.target,
                v1.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{task}"),
                saver_first=True,
            )
            for task, worker in enumerate(workers)
        )
        first.session.run(first.start)
        found = [one.train([ids])[0] for one, ids in zip([first, second] * 2, batches, strict=False)]
        path = first.save(tmp_path / "model")
        first.session.close()
        found += second.train(batches[4:])
        second.restore(path)
        again = second.train(batches[4:])
        assert "installed [60, 4]: on parameter servers" in installation.summary()
    finally:
        installation.remove()
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    np.testing.assert_allclose(again, losses[4:], rtol=1e-5)
