"""Checkpoints that several ranks write in v1 graphs: one rank after the other here, as none of this is an exchange."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.checkpoint.admission_counters import parse
from runtime.checkpoint.ranks import eager, saver, shares
from runtime.native.base_keys import are_base_keys
from runtime.optimizers import momentum
from runtime.ranks import checkpoint, checkpoint_parts, process_group
from runtime.ranks.checkpoint import Saver, latest
from runtime.ranks.engine import Alone
from runtime.table.create import table_for_variable

v1 = tf.compat.v1
_KEYS = np.arange(-3, 9)
_ROWS = np.random.default_rng(3).normal(size=(len(_KEYS), 2)).astype(np.float32)


class _One(Alone):
    """One rank of several that do not talk."""

    name = "fake"
    seed: Any = 5

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size


class _Program:
    """A graph with a table and a variable, as one rank has it, and a session."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rank: int, size: int, stock: bool = False) -> None:
        monkeypatch.setattr(process_group, "_current", [_One(rank, size) if size > 1 else Alone()])
        with tf.Graph().as_default():
            self.table = runtime.create_table(tf.int64, 2, "user", v1.zeros_initializer(), base_buckets=5)
            self.copied = runtime.create_table(tf.int64, 2, "copied", v1.zeros_initializer(), placement="replicated")
            self.step = v1.train.get_or_create_global_step()
            optimizer = momentum.create_hash_optimizer(0.5, 0.9)
            imported = [table.import_rows(_KEYS, _ROWS) for table in (self.table, self.copied)]
            imported.append(runtime.set_base(self.table, _ROWS[:5]))
            keys = [key for key in _KEYS if size == 1 or key % size == rank]
            with tf.control_dependencies(imported):
                gradient = tf.IndexedSlices(tf.ones([len(keys), 2]), tf.constant(keys, tf.int64), [0, 2])
            self.trained = optimizer.apply_gradients([(gradient, self.table.variable)], self.step)
            self.saver = v1.train.Saver() if stock else Saver(max_to_keep=1)
            self.held = self.table.snapshot()[:3], self.copied.snapshot()[0], self.step
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def save(self, path: str, step: Any = None) -> str:
        """Save, in the graph as a program has it."""
        with self.session.graph.as_default():
            return str(self.saver.save(self.session, path, step))

    def restore(self, path: str) -> None:
        """Restore, in the graph as a program has it."""
        with self.session.graph.as_default():
            self.saver.restore(self.session, path)

    def rows(self) -> dict[int, list[float]]:
        """The rows and slots that are held, by key."""
        (keys, values, slots), copied, step = self.session.run(self.held)
        assert step == 1
        assert sorted(copied) == _KEYS.tolist()
        return {key: [*row, *slot] for key, row, slot in zip(keys.tolist(), values, slots, strict=True)}


def _held(rows: dict[int, list[float]], rank: int, size: int) -> dict[int, list[float]]:
    """Return the rows that a rank holds; those of buckets are on each."""
    return {key: row for key, row in rows.items() if are_base_keys(key) or key % size == rank}


def test_what_some_ranks_wrote_others_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = str(tmp_path / "model.ckpt")
    whole = _Program(monkeypatch, 0, 1)
    whole.session.run(whole.trained)
    want = whole.rows()
    assert len(want) == len(_KEYS) + 5
    assert len({tuple(row) for row in want.values()}) == len(want)
    for rank in (1, 0):
        program = _Program(monkeypatch, rank, 2)
        program.session.run(program.trained)
        for step in (1, program.step):
            saved = program.save(path, step if rank == 0 else 1)
    assert tf.train.latest_checkpoint(str(tmp_path)) == saved == latest(str(tmp_path)) == f"{path}-1"
    for rank, keys in ((0, 11), (1, 6)):
        assert tf.train.load_variable(f"{saved}.rank-{rank}-of-2", "user-keys").shape == (keys,)
    for rank, size in ((0, 1), (2, 3)):
        program = _Program(monkeypatch, rank, size)
        program.restore(saved)
        assert program.rows() == _held(want, rank, size)
    Path(f"{saved}.ranks").unlink()
    with pytest.raises(ranks.RanksError, match=r"no complete checkpoint .*model\.ckpt-1"):
        program.restore(saved)


def test_a_stock_saver_is_read_and_does_not_save_a_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = str(tmp_path / "model.ckpt")
    whole = _Program(monkeypatch, 0, 1, stock=True)
    whole.session.run(whole.trained)
    whole.save(path)
    program = _Program(monkeypatch, 1, 2)
    program.restore(path)
    assert program.rows() == _held(whole.rows(), 1, 2)
    for step in (7, 8):
        monkeypatch.setattr(process_group, "_current", [_One(1 if step == 7 else 0, 2)])
        program.save(path, step)
    program.save(path, 9)
    assert sorted(file.name for file in tmp_path.glob("*.ranks")) == ["model.ckpt-9.ranks"]
    assert not list(tmp_path.glob("model.ckpt-8*"))
    stock = _Program(monkeypatch, 0, 2, stock=True)
    for act in (stock.save, stock.restore):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"`(user|copied)` are distributed over 2 ranks"):
            act(path)


def test_tables_that_ranks_would_have_each_for_itself_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process_group, "_current", [_One(0, 2)])
    with tf.Graph().as_default():
        counted = runtime.create_counted_table("counted", 2)
        stock = tf.compat.v1.train.Saver([counted.variable])
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match="`counted` are distributed over 2 ranks"):
                stock.save(session, str(tmp_path / "model"))
        with pytest.raises(ranks.RanksError, match="`moved` replaces a variable"):
            table_for_variable("moved", 2, 2, "moved_table", lambda: (tf.range(2), tf.zeros([2, 2])))


def test_counters_of_keys_without_rows_go_to_the_rank_that_is_to_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        table, other = (runtime.create_table(tf.int64, 2, name, v1.zeros_initializer()) for name in ("a", "b"))
        rows = runtime.sparse_lookup(table, [1, 2, 3, 1002], access_and_evict_config={"access_threshold": 5})
        trained = momentum.create_hash_optimizer(0.5, 0.9).apply_gradients(
            [(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([4], tf.int64), [0, 2]), other.variable)]
        )
        session.run(v1.global_variables_initializer())
        session.run([rows, trained])
        written = session.run([one.snapshot() for one in (other, table)])
    held = {("distributed", 0): {3, 1002}, ("buckets", 0): {3}, ("buckets", 2): {2, 1002}, ("localized:1", 0): set()}
    for (placement, rank), waiting in held.items():
        monkeypatch.setattr(process_group, "_current", [_One(rank, 3)])
        placed: Any = SimpleNamespace(placement=placement, has_base=False, arguments=SimpleNamespace(base_buckets=None))
        keys, values, slots, meta = shares.merged(placed, [shares.own_rows(placed, one) for one in written])
        assert len(keys) == len(values) == len(slots) == 0 and slots.shape[1] == 2
        seen = parse(meta)
        assert seen is not None and set(seen.keys.tolist()) == waiting


def test_a_checkpoint_stays_whole_until_all_ranks_come_to_write_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, whole = str(tmp_path / "model"), []

    class First:
        rank, size, name = 0, 1, "fake"

        def barrier(self) -> None:
            whole.append(checkpoint_parts.is_whole(prefix))

    for module in (saver, eager):
        monkeypatch.setattr(module, "current", First)
    for _ in range(2):
        checkpoint.save(tf.train.Checkpoint(one=tf.Variable(1.0)), prefix)
    assert whole == [False, False, False, True, True, False, False, True]
    with tf.Graph().as_default(), v1.Session() as session:
        session.run(v1.get_variable("one", [2], use_resource=True).initializer)
        saver.Saver().save(session, prefix)
    assert whole[8:] == [True, False, False, True]
