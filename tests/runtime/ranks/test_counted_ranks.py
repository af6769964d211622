"""Counted tables in checkpoints of several ranks: one rank after the other here, as none of this is an exchange."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import Admission, CountingBloom, InitialRows, KeyRules, WarmStart, ranks
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.compat import deeprec
from runtime.embedding_variable.counted_table import CountedTable
from runtime.ranks import checkpoint, process_group
from runtime.ranks.checkpoint import Saver
from runtime.ranks.engine import Alone

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
