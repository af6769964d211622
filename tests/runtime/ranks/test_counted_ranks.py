"""Checkpoints that several ranks write, also of counted tables: one rank after the other, as there is no exchange."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import Admission, CountingBloom, InitialRows, KeyRules, WarmStart, ranks
from runtime.checkpoint.admission_counters import parse
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.ranks import eager, saver, shares
from runtime.compat import deeprec
from runtime.embedding_variable.counted_table import CountedTable
from runtime.native.base_keys import are_base_keys
from runtime.optimizers import momentum
from runtime.ranks import checkpoint, checkpoint_parts, process_group
from runtime.ranks.checkpoint import Saver, latest
from runtime.ranks.engine import Alone
from runtime.table.create import table_for_variable

v1: Any = tf.compat.v1
_KEYS = np.arange(-3, 9)
#: Some have their rows by the first step, some by the second or third one.
_OCCURRENCES = np.repeat(_KEYS, _KEYS % 4 + 1)
_MATRIX = np.random.default_rng(5).normal(size=(12, 2)).astype(np.float32)


class _One(Alone):
    """One rank of several that do not talk."""

    name = "fake"
    seed: Any = 5

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size


def _be(monkeypatch: pytest.MonkeyPatch, rank: int, size: int) -> None:
    monkeypatch.setattr(process_group, "_current", [_One(rank, size) if size > 1 else Alone()])


def _own(keys: np.ndarray) -> np.ndarray:
    return keys[keys % ranks.size() == ranks.rank()]


class _Program:
    """A graph with counted tables of each kind, as one rank has it, and a session."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rank: int = 0, size: int = 1, stock: bool = False) -> None:
        _be(monkeypatch, rank, size)
        start, partitioner = InitialRows(v1.constant_initializer(_MATRIX), rows=12), v1.fixed_size_partitioner(2)
        bloom = CountingBloom(1000, 0.001, 8)
        with tf.Graph().as_default():
            exact = KeyRules(Admission(3), initial=start, notes_step=True)
            user = runtime.create_counted_table("user", 2, rules=exact)
            word = runtime.create_counted_table("word", 2, rules=KeyRules(Admission(3, bloom), initial=start))
            made = deeprec.get_embedding_variable("wide", 3, initializer=v1.ones_initializer(), partitioner=partitioner)
            self.tables: list[CountedTable] = [user, word, *(part.table for part in made)]
            step = v1.train.get_or_create_global_step()
            self.train = v1.train.AdamOptimizer(0.1).apply_gradients(map(self._pair, self.tables), step)
            self.saver = v1.train.Saver() if stock else Saver()
            with process_group.parts_together():
                self.held = [_tensors(table) for table in self.tables]
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def _pair(self, table: CountedTable) -> tuple[tf.IndexedSlices, Any]:
        _, part, parts = table.share
        keys = _own(_OCCURRENCES)
        keys = keys[keys % 1000 % parts == part]
        values = np.stack([np.sin(keys + number) for number in range(table.dim)], 1).astype(np.float32)
        return tf.IndexedSlices(tf.constant(values), tf.constant(keys, tf.int64), [0, table.dim]), table.variable

    def trained(self, steps: int) -> _Program:
        """Train."""
        for _ in range(steps):
            self.session.run(self.train)
        return self

    def save(self, path: str) -> str:
        """Save, in the graph as a program has it."""
        with self.session.graph.as_default():
            return str(self.saver.save(self.session, path))

    def restored(self, path: str) -> _Program:
        """Restore, in the graph as a program has it."""
        with self.session.graph.as_default():
            self.saver.restore(self.session, path)
        return self

    def notes(self) -> list[dict[int, list[float]]]:
        """What is known of each key, by table: of one with a row count, step, values and slots; of others the first."""
        return [_by_key(one, table) for one, table in zip(self.session.run(self.held), self.tables, strict=True)]

    def counters(self) -> list[int]:
        """What the Bloom filter counted."""
        counters: list[int] = self.session.run(self.held[1]["-bloom_counters"]).tolist()
        return counters


def _tensors(table: CountedTable) -> dict[str, tf.Tensor]:
    return {spec.name.removeprefix(table.table_name): spec.tensor for spec in table.variable.specs}


def _by_key(held: dict[str, np.ndarray], table: CountedTable) -> dict[int, list[float]]:
    slots = [held[f"/{name}-values"] for name in table.slots.names]
    noted = [held[part][:, None] for part in ("-freqs", "-versions") if len(held[part]) == len(held["-keys"])]
    rows = np.concatenate([*noted, held["-values"], *slots], 1)
    waiting = [held[f"{part}_filtered"] for part in ("-keys", "-freqs", "-versions")]
    waiting = [part for part in waiting if len(part) == len(waiting[0])]
    return dict(zip(held["-keys"].tolist(), rows.tolist(), strict=True)) | {
        key: list(rest) for key, *rest in np.stack(waiting, 1).tolist()
    }


def _share(notes: list[dict[int, list[float]]]) -> list[dict[int, list[float]]]:
    return [{key: one[key] for key in _own(np.array(list(one), np.int64)).tolist()} for one in notes]


def _written(monkeypatch: pytest.MonkeyPatch, path: str, size: int, steps: int) -> list[_Program]:
    """Return the programs of some ranks that train and save."""
    programs = [_Program(monkeypatch, rank, size).trained(steps) for rank in range(size)]
    for rank in reversed(range(size)):
        _be(monkeypatch, rank, size)
        programs[rank].save(path)
    return programs


def test_what_some_ranks_wrote_others_read_and_train_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = _Program(monkeypatch, stock=True).trained(2)
    before = whole.notes()
    assert [len(one) for one in before] == [12, 9, 6, 6]
    assert {len(row) for row in before[0].values()} == {2, 8}, "some keys have rows and some wait for one"
    whole.save(str(tmp_path / "one"))
    after = whole.trained(1).notes()
    assert len(after[1]) == 12, "the filter has counted keys up to the threshold"
    pair = _written(monkeypatch, str(tmp_path / "two"), 2, 2)
    for path, readers in (("two", [(2, 3), (1, 2)]), ("one", [(0, 3)])):
        for rank, size in readers:
            program = _Program(monkeypatch, rank, size).restored(str(tmp_path / path))
            assert program.notes() == _share(before)
            if size == 2:
                assert program.counters() == pair[1].counters() != pair[0].counters(), "those of its own keys alone"
            assert program.trained(1).notes() == _share(after)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    _written(monkeypatch, path, 2, 1)
    reader = _Program(monkeypatch, 0, 1)
    data = Path(f"{path}.rank-1-of-2.data-00000-of-00001")
    whole = data.read_bytes()
    data.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match=r"rank-1-of-2.* is damaged"):
        reader.restored(path)
    data.write_bytes(whole)
    other = {name: Bundle(f"{path}.rank-1-of-2").read(name) for name in ("wide/part_0-keys", "wide/part_0-values")}
    runtime.checkpoint.bundle.write_bundle(f"{path}.rank-1-of-2", other)
    with pytest.raises(CheckpointError, match="rank-1-of-2 holds no rows of the counted table `user`"):
        reader.restored(path)
    Path(f"{path}.rank-1-of-2.index").unlink()
    with pytest.raises(CheckpointError, match=r"rank-1-of-2\.index does not exist"):
        reader.restored(path)


def test_a_table_begins_with_its_share_and_is_never_saved_in_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, ours = str(tmp_path / "stock"), str(tmp_path / "ours")
    with tf.Graph().as_default(), v1.Session() as session:
        table = runtime.create_counted_table("user", 2)
        session.run(v1.global_variables_initializer())
        session.run(table.import_rows(_KEYS, _MATRIX))
        v1.train.Saver().save(session, path)
    _be(monkeypatch, 1, 3)
    with tf.Graph().as_default(), v1.Session() as session:
        table = runtime.create_counted_table("user", 2, rules=KeyRules(warm_start=WarmStart(path, always=True)))
        step = v1.train.get_or_create_global_step()
        saver, keys = Saver(), table.snapshot()[0]
        session.run(v1.global_variables_initializer())
        assert sorted(session.run(keys)) == [-2, 1, 4, 7]
        saver.save(session, ours)
        session.run(table.import_rows([10], [[0.0, 0.0]]))
        _be(monkeypatch, 0, 3)
        saver.save(session, ours)
        saver.restore(session, ours)
        assert sorted(session.run(keys)) == [-3, 0, 3, 6]
        pair = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3], tf.int64), [0, 2]), table.variable
        v1.train.AdagradOptimizer(0.1).apply_gradients([pair], step)
        with pytest.raises(ranks.RanksError, match="before the optimizer of the counted table `user`"):
            saver.save(session, ours)
        with pytest.raises(ranks.RanksError, match="`user` are distributed over 3 ranks"):
            deeprec.incremental.IncrementalSaver(deeprec.incremental.Saver([table.variable]))
        with pytest.raises(ranks.RanksError, match="in a v1 graph, and for counted tables"):
            checkpoint.save(tf.train.Checkpoint(table=table.variable), ours)
        with pytest.raises(ValueError, match=r"`late` cannot start from the checkpoint .*ours, which several ranks"):
            runtime.create_counted_table("late", 2, rules=KeyRules(warm_start=WarmStart(ours)))


_ROWS = np.random.default_rng(3).normal(size=(len(_KEYS), 2)).astype(np.float32)


class _Saved:
    """A graph with a table and a variable, as one rank has it, and a session."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rank: int, size: int, stock: bool = False) -> None:
        _be(monkeypatch, rank, size)
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
    whole = _Saved(monkeypatch, 0, 1)
    whole.session.run(whole.trained)
    want = whole.rows()
    assert len(want) == len(_KEYS) + 5
    assert len({tuple(row) for row in want.values()}) == len(want)
    for rank in (1, 0):
        program = _Saved(monkeypatch, rank, 2)
        program.session.run(program.trained)
        for step in (1, program.step):
            saved = program.save(path, step if rank == 0 else 1)
    assert tf.train.latest_checkpoint(str(tmp_path)) == saved == latest(str(tmp_path)) == f"{path}-1"
    for rank, keys in ((0, 11), (1, 6)):
        assert tf.train.load_variable(f"{saved}.rank-{rank}-of-2", "user-keys").shape == (keys,)
    for rank, size in ((0, 1), (2, 3)):
        program = _Saved(monkeypatch, rank, size)
        program.restore(saved)
        assert program.rows() == _held(want, rank, size)
    Path(f"{saved}.ranks").unlink()
    with pytest.raises(ranks.RanksError, match=r"no complete checkpoint .*model\.ckpt-1"):
        program.restore(saved)


def test_a_stock_saver_is_read_and_does_not_save_a_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = str(tmp_path / "model.ckpt")
    whole = _Saved(monkeypatch, 0, 1, stock=True)
    whole.session.run(whole.trained)
    whole.save(path)
    program = _Saved(monkeypatch, 1, 2)
    program.restore(path)
    assert program.rows() == _held(whole.rows(), 1, 2)
    for step in (7, 8):
        monkeypatch.setattr(process_group, "_current", [_One(1 if step == 7 else 0, 2)])
        program.save(path, step)
    program.save(path, 9)
    assert sorted(file.name for file in tmp_path.glob("*.ranks")) == ["model.ckpt-9.ranks"]
    assert not list(tmp_path.glob("model.ckpt-8*"))
    stock = _Saved(monkeypatch, 0, 2, stock=True)
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
