"""Programs for Rec SDK over ranks: who connects them, and what they compute, over threads and over Horovod."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import ranks
from runtime.compat import mx_rec
from runtime.ranks import process_group
from runtime.ranks.engine import Alone
from tests.support import forking, programs
from tests.support.compat.mx_rec_stock import ESTIMATOR, PROGRAM, losses_of, stock_estimator, stock_losses
from tests.support.ranks import thread_ranks

v1 = tf.compat.v1
KEYS, STEPS, RATE = 9, 3, 0.5
#: What launchers say to rank 1 of 2.
LAUNCHED = [
    {"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "RANK_SIZE": "8"},
    {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
    {"RANK_ID": "1", "RANK_SIZE": "2"},
]


@pytest.fixture
def sdk() -> Iterator[Any]:
    """The modules that a script imports, by their last part."""
    mx_rec.install()
    try:
        names = (
            "core.feature_process",
            "util.initialize",
            "util.variable",
            "core.embedding",
            "optimizers.gradient_descent",
            "optimizers.lazy_adam",
        )
        found = {name.rpartition(".")[2]: importlib.import_module(f"mx_rec.{name}") for name in names}
        yield SimpleNamespace(**found, npu=importlib.import_module("npu_bridge.npu_init"))
    finally:
        mx_rec.uninstall()


class _Second(Alone):
    name, rank, size = "horovod", 1, 2


@pytest.mark.parametrize("told", LAUNCHED, ids=["horovodrun", "mpirun", "rank table"])
def test_what_was_started_as_a_rank_is_connected_by_horovod(
    told: dict[str, str], sdk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    engine: Any = Alone()

    def start(name: str) -> Any:
        asked.append(name)
        return engine

    monkeypatch.setattr(ranks, "start", start)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert (sdk.npu.get_rank_id(), sdk.npu.get_rank_size()) == (1, 2)
    with pytest.raises(ranks.RanksError, match=r"rank 1 of 2, but Horovod calls it rank 0 of 1: .*horovodrun -np 2"):
        sdk.initialize.init()
    engine = _Second()
    sdk.initialize.init()
    assert asked == ["horovod"] * 2


def test_what_cannot_be_connected_is_told_and_one_process_asks_nobody(
    sdk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOROVOD_SIZE", "2")
    monkeypatch.setenv("HOROVOD_RANK", "0")
    monkeypatch.setitem(sys.modules, "horovod", None)
    with pytest.raises(ranks.RanksError, match=r"build it for this TensorFlow with `make horovod`"):
        sdk.initialize.init()
    monkeypatch.delenv("HOROVOD_RANK")
    for count in (2, 1):
        cluster = {"cluster": {"worker": ["localhost:1"] * count}, "task": {"type": "worker", "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
        if count == 2:
            with pytest.raises(ranks.RanksError, match=r"2 workers of TF_CONFIG.*-n 2 --engine horovod"):
                sdk.initialize.init()
    sdk.initialize.init()
    assert ranks.current().name == "alone"


def _batches() -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(2)
    return [(random.integers(0, KEYS, [8, 2]), random.random(8).astype(np.float32)) for _ in range(STEPS)]


def _trained(sdk: Any, engine: Any, stock: bool) -> tuple[list[float], list[np.ndarray]]:
    """Train with this rank's half of each batch, or stock TensorFlow with all; return the losses, and what all read."""
    config = v1.ConfigProto(use_per_session_threads=True, inter_op_parallelism_threads=8)
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        ids, label = v1.placeholder(tf.int64, [None, 2]), v1.placeholder(tf.float32, [None])
        begin = v1.constant_initializer(0.3)
        offset = v1.get_variable("offset", [KEYS, 1], initializer=v1.constant_initializer(engine.rank))
        kernel = v1.get_variable("kernel", [3, 1], initializer=v1.constant_initializer(0.2 + engine.rank))
        if stock:
            tables = [v1.get_variable(name, [KEYS, dim], initializer=begin) for name, dim in (("user", 2), ("city", 1))]
            lookup: Any = tf.nn.embedding_lookup
        else:
            made = sdk.embedding.create_table
            options = [{"all2all_gradients_op": "sum_gradients_and_div_by_ranksize"}, {"is_dp": True}]
            tables = [
                made(tf.int64, dim, name, begin, device_vocabulary_size=99, **own)
                for name, dim, own in zip(("user", "city"), (2, 1), options, strict=True)
            ]
            assert [table.placement for table in tables] == ["distributed", "replicated"]

            def lookup(table: Any, keys: Any, is_train: bool = True) -> tf.Tensor:
                return sdk.embedding.sparse_lookup(table, keys, is_train=is_train, modify_graph=True)

        rows = tf.concat([lookup(table, ids[:, i]) for i, table in enumerate(tables)], 1)
        out = tf.squeeze(tf.matmul(rows, kernel) + tf.nn.embedding_lookup(offset, ids[:, 0]), 1)
        loss = tf.reduce_mean((out - label) ** 2)
        dense = v1.train.GradientDescentOptimizer(RATE)
        if stock:
            train = dense.minimize(loss)
        else:
            pairs = sdk.npu.npu_distributed_optimizer_wrapper(dense).compute_gradients(loss, [offset, kernel])
            (user, city), sparse = tf.gradients(loss, sdk.variable.get_dense_and_sparse_variable()[1]), []
            for table, gradient, rate in zip(tables, (user, city), (RATE, RATE / engine.size), strict=True):
                optimizer = sdk.gradient_descent.create_hash_optimizer(rate)
                sparse.append(optimizer.apply_gradients([(sdk.npu.hccl_ops.allreduce(gradient), table.variable)]))
            train = tf.group(dense.apply_gradients(pairs), *sparse)
            assert isinstance(pairs[0][0], tf.IndexedSlices)
            loss = sdk.npu.npu_allreduce([loss])[0]
        every = tf.range(KEYS, dtype=tf.int64)
        told = [lookup(table, every) if stock else lookup(table, every, False) for table in tables]
        session.run(v1.global_variables_initializer())
        losses = []
        for keys, labels in _batches():
            own = slice(engine.rank, None, engine.size)
            losses.append(session.run([loss, train], {ids: keys[own], label: labels[own]})[0])
        return losses, session.run([*told, offset, kernel])


def test_ranks_train_as_one_process(sdk: Any) -> None:
    want_losses, want = _trained(sdk, Alone(), stock=True)
    assert len({round(float(loss), 4) for loss in want_losses}) == STEPS
    sdk.initialize.init()
    results, _ = thread_ranks.run(2, lambda: _trained(sdk, ranks.current(), stock=False))
    for losses, found in results:
        np.testing.assert_allclose(losses, want_losses, rtol=1e-5)
        for got, rows in zip(found, want, strict=True):
            np.testing.assert_allclose(got, rows, rtol=1e-5, atol=1e-6)


def test_collectives_over_ranks(sdk: Any) -> None:
    values = np.array([[1, 2], [4, -3]], np.float32)

    def body() -> list[Any]:
        own, ops = tf.constant(values[ranks.rank()]), sdk.npu.hccl_ops
        variable = tf.Variable(own)
        ops.broadcast([variable], 1)
        flags = [tf.Variable(ranks.rank() == 0), tf.Variable(tf.cast(own, tf.bfloat16)), tf.Variable(f"{ranks.rank()}")]
        ranks.broadcast(flags)
        assert [flags[0].numpy(), *flags[1].numpy(), flags[2].numpy()] == [True, 1, 2, b"%d" % ranks.rank()]
        with pytest.raises(ValueError, match="`reduction`"):
            ops.allreduce(own, "mean")
        slices = sdk.npu.npu_allreduce(tf.IndexedSlices(own[None], tf.constant([ranks.rank()]), tf.constant([2, 2])))
        folds = [ops.allreduce(own, reduction, 1, -1) for reduction in ("sum", "max", "min", "prod")]
        return [
            *(one.numpy() for one in (*folds, ops.allgather(own, 2), variable, tf.convert_to_tensor(slices))),
            ops.reduce_scatter(own, "sum", 2).numpy(),
        ]

    results, _ = thread_ranks.run(2, body)
    total = values.sum(0)
    for rank, found in enumerate(results):
        want = [total, values.max(0), values.min(0), values.prod(0), values.reshape(-1), values[1], values / 2]
        for got, wanted in zip(found, [*want, total[rank : rank + 1]], strict=True):
            np.testing.assert_array_equal(got, wanted)


class _One(Alone):
    """One rank of several that do not talk."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size


class _Saved:
    """Two tables, one of them on every rank, an optimizer's slots and a variable, in one rank's session."""

    def __init__(self, sdk: Any, monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
        self._engage = lambda: monkeypatch.setattr(process_group, "_current", [engine])
        self._engage()
        with tf.Graph().as_default():
            begin, keys = v1.zeros_initializer(), np.arange(-3, 9)
            made = sdk.embedding.create_table
            self.tables = [made(tf.int64, 2, "user", begin, 99), made(tf.int64, 2, "city", begin, 99, is_dp=True)]
            optimizer, gradients = sdk.lazy_adam.create_hash_optimizer(0.5), []
            rows = np.random.default_rng(3).normal(size=[len(keys), 2]).astype(np.float32)
            with tf.control_dependencies([table.import_rows(keys, rows) for table in self.tables]):
                for table in self.tables:
                    own = keys[keys % engine.size == engine.rank] if table.placement == "distributed" else keys
                    values = tf.reshape(tf.cast(tf.repeat(own, 2), tf.float32), [-1, 2])
                    gradients.append((tf.IndexedSlices(values, tf.constant(own), [0, 2]), table.variable))
            self.train = optimizer.apply_gradients(gradients)
            self.weight = v1.get_variable("weight", initializer=float(engine.rank), use_resource=True)
            self._held = [table.snapshot()[:3] for table in self.tables]
            self._saver = v1.train.Saver(max_to_keep=1)
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def save(self, path: Path, step: int) -> str:
        self._engage()
        with self.session.graph.as_default():
            return str(self._saver.save(self.session, str(path), step))

    def restore(self, path: str) -> None:
        self._engage()
        with self.session.graph.as_default():
            self._saver.restore(self.session, path)

    def rows(self) -> list[dict[int, list[float]]]:
        """The rows and slots of each table, by key."""
        return [
            {key: [*row, *slot] for key, row, slot in zip(keys.tolist(), values, slots, strict=True)}
            for keys, values, slots in self.session.run(self._held)
        ]


def test_a_checkpoint_of_ranks_is_that_of_one_process(
    sdk: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sdk.initialize.init()
    whole = _Saved(sdk, monkeypatch, Alone())
    whole.session.run(whole.train)
    want = whole.rows()
    assert len({tuple(row) for row in want[0].values()}) == len(want[0]) == 12
    apart = [_Saved(sdk, monkeypatch, _One(rank, 2)) for rank in (1, 0)]
    for one in apart:
        one.session.run(one.train)
    with pytest.raises(ranks.RanksError, match=r"rank 1 has not written .*sparse-model\.ckpt-1: .* same path"):
        apart[1].save(tmp_path / "model.ckpt", 1)
    for step in (1, 2):  # rank 0 comes last, as it brings together what the others have written
        (saved, _) = [one.save(tmp_path / "model.ckpt", step) for one in apart]
    assert sorted(file.name for file in tmp_path.glob("*sparse-*")) == ["sparse-model.ckpt-2"]
    assert tf.train.latest_checkpoint(str(tmp_path)) == saved
    for (name, keys), table in zip((("user", 12), ("city", 12)), want, strict=True):
        found = mx_rec.load_rows(saved, name)
        assert sorted(found.keys) == sorted(table) and len(found.keys) == keys
    for rank, size in ((0, 1), (2, 3)):
        program = _Saved(sdk, monkeypatch, _One(rank, size))
        program.restore(saved)
        assert program.rows() == [{key: row for key, row in want[0].items() if key % size == rank}, want[1]]
        assert program.session.run(program.weight) == 0
    monkeypatch.setattr(process_group, "_current", [_One(1, 2)])
    with tf.Graph().as_default(), v1.Session() as session:
        table = sdk.embedding.create_table(tf.int64, 2, "user", v1.zeros_initializer())
        v1.train.warm_start(saved, "user")
        session.run(v1.global_variables_initializer())
        assert set(session.run(table.snapshot()[0])) == {key for key in want[0] if key % 2}


def test_what_ranks_would_not_do_together_is_refused(sdk: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(process_group, "_current", [_One(0, 2)])
    periods = {"save_checkpoint_due_time": 60, "save_delta_checkpoints_secs": 30}
    with pytest.raises(ranks.RanksError, match="save complete checkpoints by steps"):
        sdk.initialize.init(is_incremental_checkpoint=True, **periods)
    sdk.initialize.init()
    monkeypatch.setenv("USE_COMBINE_FAAE", "1")
    with tf.Graph().as_default():
        table = sdk.embedding.create_table(tf.int64, 2, "user", v1.zeros_initializer())
        ids, counted = tf.constant([1], tf.int64), {"access_threshold": 2}
        sdk.embedding.sparse_lookup(table, ids, modify_graph=True)
        with pytest.raises(ranks.RanksError, match="USE_COMBINE_FAAE=1 does not work with 2 ranks"):
            sdk.embedding.sparse_lookup(table, ids, is_train=False, modify_graph=True, access_and_evict_config=counted)
        monkeypatch.delenv("USE_COMBINE_FAAE")
        copied = sdk.embedding.create_table(tf.int64, 2, "copied", v1.zeros_initializer(), is_dp=True)
        v1.add_to_collection("ASCEND_TIMESTAMP", tf.constant(7, tf.int64))
        config = {"access_threshold": 1, "eviction_threshold": 9}
        sdk.embedding.sparse_lookup(copied, ids, is_train=False, modify_graph=True, access_and_evict_config=config)
        v1.train.get_or_create_global_step()
        with pytest.raises(ranks.RanksError, match=r"`copied` by time.*give it an evict_step_interval"):
            sdk.feature_process.EvictHook(evict_enable=True).begin()
        sdk.feature_process.EvictHook(evict_enable=True, evict_step_interval=5).begin()
        with pytest.raises(ranks.RanksError, match=r"saving by seconds .* save_checkpoints_steps"):
            v1.train.CheckpointSaverHook(str(tmp_path), save_secs=60, saver=v1.train.Saver()).begin()
        v1.train.CheckpointSaverHook(str(tmp_path), save_steps=60, saver=v1.train.Saver()).begin()


def _numbers(environment: dict[str, str], *command: str) -> list[list[float]]:
    """Run a command; return the losses that each of two ranks prints."""
    launched = [sys.executable, *command]
    done = programs.run(launched, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-4000:]
    # horovodrun writes [0]<stdout>:loss where runtime.launch writes [0] loss.
    printed = [re.findall(rf"^\[{rank}\].*\bloss (\S+)", done.stdout, re.MULTILINE) for rank in range(2)]
    return [[float(loss) for loss in own] for own in printed]


@pytest.mark.soak
@pytest.mark.one_version
@pytest.mark.skipif(
    importlib.util.find_spec("horovod") is None, reason="Horovod is not installed: `make horovod` builds it"
)
def test_demos_compute_over_horovod_what_stock_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    switches = ("USE_DYNAMIC_EXPANSION", "USE_MULTI_LOOKUP", "USE_MODIFY_GRAPH", "USE_DYNAMIC", "USE_DP")
    environment, saved = dict.fromkeys(switches, "1"), str(tmp_path / "model.ckpt")
    facade = ("-m", "runtime.compat.mx_rec")
    started = ("-m", "horovod.runner.launch", "-np", "2", forking.python(), *facade, str(PROGRAM))
    for losses in _numbers({**environment, "SAVE_PATH": saved}, *started):
        np.testing.assert_allclose(losses, stock_losses(multi=True), rtol=1e-5)
    for name, value in {**environment, "LOAD_PATH": saved}.items():
        monkeypatch.setenv(name, value)
    mx_rec.install()
    try:
        with tf.Graph().as_default():
            exec(compile(PROGRAM.read_bytes(), str(PROGRAM), "exec"), {"__name__": "__main__"})
    finally:
        mx_rec.uninstall()
    np.testing.assert_allclose(losses_of(capsys.readouterr().out), losses[-2:], rtol=1e-5)
    estimator = ("-m", "runtime.launch", "-n", "2", "--engine", "horovod", *facade, str(ESTIMATOR))
    for losses in _numbers({"USE_MODIFY_GRAPH": "0"}, *estimator, str(tmp_path / "estimator")):
        np.testing.assert_allclose(losses, stock_estimator()[0], rtol=1e-5)
