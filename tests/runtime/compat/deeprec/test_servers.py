"""EmbeddingVariables on parameter servers: the rows of one process, in parts or whole, and their checkpoints."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support.clusters import in_process

pytestmark = pytest.mark.one_version

_KEYS = np.arange(-20, 60)


@pytest.fixture(scope="module")
def cluster() -> tuple[Any, str]:
    """Two servers and a worker in this process; returns their addresses and the worker's target."""
    jobs = in_process.addresses({"ps": 2, "worker": 1})
    *_, worker = in_process.started(jobs, [("ps", 0), ("ps", 1), ("worker", 0)])
    return jobs, worker.target


class _Task:
    """The session of a model with an EmbeddingVariable, on servers if there are any."""

    def __init__(self, rec: Any, name: str, parts: int | None, option: Any, cluster: Any = None) -> None:
        jobs, target = cluster or (None, "")
        setter = cluster and rec.train.replica_device_setter(cluster=jobs, worker_device="/job:worker/task:0")
        with tf.Graph().as_default() as graph, tf.compat.v1.device(setter):
            normal = rec.random_normal_initializer(stddev=0.1, seed=3)
            cut = rec.fixed_size_partitioner(parts) if parts else None
            self.user = rec.get_embedding_variable(name, 4, initializer=normal, partitioner=cut, ev_option=option)
            weights = rec.get_variable("weights", [4], initializer=rec.ones_initializer())
            self.ids = rec.placeholder(rec.int64, [None])
            rows = rec.nn.embedding_lookup(self.user, self.ids)
            bags = rec.nn.embedding_lookup_sparse(self.user, rec.sparse.from_dense(self.ids[None] + 1), None)
            self.loss = rec.reduce_sum(rec.square(rec.reduce_sum(rows * weights, 1) + rec.reduce_sum(bags) - 1.0))
            step = rec.train.get_or_create_global_step()
            self.train = rec.train.AdamOptimizer(0.05).minimize(self.loss, step)
            every = [self.user] if parts is None else list(self.user)
            self.read = [rec.nn.embedding_lookup(self.user, _KEYS), sum(one.total_count()[0] for one in every)]
            self.saver = rec.train.Saver(incremental_save_restore=True, sharded=bool(parts))
            increments = importlib.import_module("tensorflow.python.training.incremental_saver")
            self.increments = increments._get_incremental_saver(True, self.saver)
            start = rec.global_variables_initializer()
        self.places = {one.device for one in every}
        self.session = rec.Session(target, graph)
        self.session.run(start)

    def trained(self, seed: int) -> list[Any]:
        """Train three steps; return their losses, then rows and their number."""
        draw = np.random.default_rng(seed)
        batches = [draw.integers(-20, 60, [16]) for _ in range(3)]
        losses = [self.session.run([self.loss, self.train], {self.ids: ids})[0] for ids in batches]
        return [losses, *self.session.run(self.read)]

    def course(self, folder: Path) -> list[list[Any]]:
        """Train, save whole and save what changed, train on, restore both and train again."""
        states = [self.trained(1)]
        whole = self.saver.save(self.session, str(folder / "model"), 3)
        states.append(self.trained(2))
        increment = self.increments.incremental_save(self.session, str(folder / "incr"), 6)
        states.append(self.trained(3))
        self.increments.incremental_restore(self.session, whole, increment)
        states.append(self.trained(3))
        self.saver.restore(self.session, whole)
        return [*states, self.trained(2)]


_OPTIONS = {
    "every key": lambda rec, folder: rec.EmbeddingVariableOption(),
    "a filter": lambda rec, folder: rec.EmbeddingVariableOption(filter_option=rec.CounterFilter(filter_freq=2)),
    "tiers": lambda rec, folder: rec.EmbeddingVariableOption(
        storage_option=rec.StorageOption(
            storage_type=importlib.import_module(
                "tensorflow.core.framework.embedding.config_pb2"
            ).StorageType.DRAM_SSDHASH,
            storage_path=str(folder),
            storage_size=[256],
        ),
        evict_option=rec.GlobalStepEvict(steps_to_live=2),
    ),
}


@pytest.mark.parametrize("parts", [None, 3])
@pytest.mark.parametrize("option", _OPTIONS)
def test_rows_are_those_of_one_process(rec: Any, cluster: Any, option: str, parts: int | None, tmp_path: Path) -> None:
    name, courses = f"user{list(_OPTIONS).index(option)}_{parts}", []
    for number, own in enumerate((None, cluster)):
        folder = tmp_path / str(number)
        folder.mkdir()
        task = _Task(rec, name, parts if own else None, _OPTIONS[option](rec, folder), own)
        courses.append(task.course(folder))
        if own:
            assert len(task.places) == min(parts or 1, 2)
            assert all("/job:ps/" in place for place in task.places)
    for (losses, rows, count), (own_losses, own_rows, own_count) in zip(*courses, strict=True):
        np.testing.assert_allclose(own_losses, losses, rtol=1e-5)
        np.testing.assert_allclose(own_rows, rows, rtol=1e-5, atol=1e-6)
        assert own_count == count
    # As two parts, one process reads what three parts on servers have written.
    other = _Task(rec, name, 2, _OPTIONS[option](rec, tmp_path))
    other.saver.restore(other.session, str(tmp_path / "1" / "model-3"))
    np.testing.assert_allclose(other.trained(2)[0], courses[0][1][0], rtol=1e-5)
