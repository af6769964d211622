"""Tables that give up their buckets on several ranks, against NumPy; their files are killed and damaged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from migrate.checkpoint.moving import written
from runtime.checkpoint import CheckpointError, Move, move_variables, restore_table
from runtime.checkpoint.bundle import write_bundle
from runtime.native.base_keys import are_base_keys
from runtime.optimizers import adagrad
from runtime.ranks import checkpoint
from runtime.ranks import checkpoint as of_ranks
from tests.support.ranks import thread_ranks
from tests.support.runtime.kill_points import watched
from tests.support.runtime.row_dicts import RULES, RowDicts
from tests.support.runtime.tables import make_table, read, step, toward

BUCKETS, IDS = 8, 40
#: How many steps are made with buckets, then without, before and after a checkpoint.
Steps = tuple[int, int, int]


def _batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(number)
    return random.integers(-IDS // 2, IDS // 2, 12), random.normal(size=[12, 4]).astype(np.float32)


def _train(table: Any, optimizer: Any, numbers: range, bucketed: bool) -> None:
    """Make steps on this rank's part of each batch; ranks add up their gradients."""
    for number in numbers:
        keys, targets = (part[runtime.ranks.rank() :: runtime.ranks.size()] for part in _batch(number))
        step(table, optimizer, keys % BUCKETS if bucketed else keys, toward(targets))


def _trained_on_ranks(kind: str, ranks: int, later: int, steps: Steps, folder: Path, placement: str) -> None:
    """Train with buckets, then without, save, and go on with another number of ranks; compare with the dicts."""
    ends = np.cumsum(steps)
    everything = np.arange(-IDS, IDS)
    path = str(folder / f"{kind}-{ranks}")

    def begin() -> Any:
        optimizer, bucketed = RULES[kind].make(None), make_table("bucketed", placement=placement)
        first = read(bucketed, np.arange(BUCKETS))
        runtime.sparse_lookup(bucketed, np.arange(BUCKETS))
        _train(bucketed, optimizer, range(ends[0]), True)
        table = make_table("free", base_buckets=BUCKETS, placement=placement)
        runtime.set_base(table, bucketed)
        moved = read(table, everything)
        np.testing.assert_array_equal(moved, read(bucketed, everything % BUCKETS))
        _train(table, optimizer, range(ends[0], ends[1]), False)
        checkpoint.save(tf.train.Checkpoint(table=table, optimizer=optimizer), path)
        return first, read(table, everything)

    def go_on() -> Any:
        optimizer, table = RULES[kind].make(None), make_table("free", base_buckets=BUCKETS, placement=placement)
        checkpoint.restore(tf.train.Checkpoint(table=table, optimizer=optimizer), path)
        restored = read(table, everything)
        _train(table, optimizer, range(ends[1], ends[2]), False)
        return restored, read(table, everything), np.asarray(table.snapshot()[0])

    before = thread_ranks.run(ranks, begin)[0]
    after = thread_ranks.run(later, go_on)[0]
    oracle = RowDicts(RULES[kind], before[0][0], {})
    wanted = []
    for number in range(ends[2]):
        keys, targets = _batch(number)
        keys = keys % BUCKETS if number < ends[0] else keys
        oracle.look(keys)
        gradients: dict[int, Any] = {}
        for key, target in zip(keys.tolist(), targets, strict=True):
            gradients[key] = gradients.get(key, 0) + oracle.row(key)[0] - target
        oracle.step(gradients)
        if number + 1 == ends[0]:
            oracle.unbucket()
        if number + 1 in ends[1:]:
            wanted.append(oracle.values(everything))
    for _, rows in before:
        np.testing.assert_allclose(rows, wanted[0], rtol=2e-4, atol=2e-5)
    for restored, rows, keys in after:
        np.testing.assert_array_equal(restored, before[0][1])
        np.testing.assert_allclose(rows, wanted[1], rtol=2e-4, atol=2e-5)
        assert are_base_keys(keys).sum() == BUCKETS  # on every rank, whatever the checkpoint was written by
    if placement == "distributed":
        assert sum((~are_base_keys(keys)).sum() for *_, keys in after) == IDS


@pytest.mark.parametrize(
    ("kind", "ranks", "later", "placement"),
    [
        ("adagrad", 2, 1, "distributed"),
        ("adam", 2, 3, "distributed"),
        ("ftrl", 1, 2, "distributed"),
        ("sgd", 2, 2, "replicated"),
    ],
)
@pytest.mark.parametrize("steps", [(10, 20, 20), pytest.param((100, 500, 400), marks=pytest.mark.soak)])
def test_ranks_train_as_dicts(kind: str, ranks: int, later: int, placement: str, steps: Steps, tmp_path: Path) -> None:
    _trained_on_ranks(kind, ranks, later, steps, tmp_path, placement)


def test_a_checkpoint_that_one_process_reads_by_rank(tmp_path: Path) -> None:
    from runtime.checkpoint import restore_table

    table = make_table("free", base_buckets=BUCKETS)
    runtime.set_base(table, np.arange(4 * BUCKETS, dtype=np.float32).reshape(BUCKETS, 4))
    runtime.sparse_lookup(table, np.arange(10))
    path = tf.train.Checkpoint(table=table).save(str(tmp_path / "one"))
    again = make_table("free", base_buckets=BUCKETS)
    restore_table(again, path, rank=1, ranks=2)
    keys = np.asarray(again.snapshot()[0])
    assert sorted(keys[~are_base_keys(keys)]) == [1, 3, 5, 7, 9]
    np.testing.assert_array_equal(read(again, [12, 13])[:, 0], [16, 20])


MANY_BUCKETS, EVERY = 40, np.arange(-100, 300)
ERRORS = (CheckpointError, runtime.ranks.RanksError, tf.errors.OpError, IndexError)


def test_a_move_that_is_killed_leaves_one_checkpoint_or_none(tmp_path: Path) -> None:
    matrices = np.random.default_rng(1).normal(size=[2, MANY_BUCKETS, 4]).astype(np.float32)
    for number, matrix in enumerate(matrices):
        write_bundle(str(tmp_path / f"old-{number}"), {"user": matrix})
    new = tmp_path / "new"

    def move(number: int) -> None:
        """As `migrate checkpoint --unbucket user --force`."""
        move = Move("user", "user", as_base=True, buckets=runtime.Buckets(MANY_BUCKETS))
        written(str(new / "model"), lambda path: move_variables(tmp_path / f"old-{number}", path, [move]))

    move(0)
    with watched(new) as points:
        move(1)
    assert len(points.states) > 3
    restored = []
    for state in points.states:
        points.put_back(state)
        table = make_table(base_buckets=MANY_BUCKETS)
        try:
            restore_table(table, str(new / "model"))
        except ERRORS:
            continue
        restored.append([np.array_equal(read(table, EVERY), matrix[EVERY % MANY_BUCKETS]) for matrix in matrices])
    assert all(map(any, restored)) and restored[0] == [True, False] and restored[-1] == [False, True]


def saved(folder: Path, ranks: int) -> np.ndarray:
    """Save a table with a base and ids of its own, trained on so many ranks; return the rows of all ids."""

    def body() -> Any:
        table, optimizer = make_table(base_buckets=MANY_BUCKETS), adagrad.create_hash_optimizer(0.1)
        runtime.set_base(table, np.random.default_rng(1).normal(size=[MANY_BUCKETS, 4]).astype(np.float32))
        step(table, optimizer, EVERY[runtime.ranks.rank() :: 3])
        of_ranks.save(tf.train.Checkpoint(table=table), str(folder / "saved"))
        return read(table, EVERY)

    return np.asarray(thread_ranks.run(ranks, body)[0][0])


def damage(folder: Path, random: np.random.Generator) -> str:
    """Cut, flip a bit of, or delete one file of a folder; return what was done."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    file, how = files[random.integers(len(files))], random.integers(3)
    data = bytearray(file.read_bytes())
    at = int(random.integers(max(len(data), 1)))
    if how == 2 or not data:
        file.unlink()
        return f"{file.name} deleted"
    if how == 1:
        data[at] ^= 1 << int(random.integers(8))
    file.write_bytes(data[:at] if how == 0 else data)
    return f"{file.name} {'cut' if how == 0 else 'flipped'} at {at}"


@pytest.mark.parametrize(("ranks", "later"), [(2, 1), (1, 3)])
@pytest.mark.parametrize("times", [8, pytest.param(200, marks=pytest.mark.soak)])
@pytest.mark.one_version
def test_damage_is_noticed_before_a_row_is_wrong(ranks: int, later: int, times: int, tmp_path: Path) -> None:
    """A damaged file that nobody reads does no harm: the rows are then whole."""
    want = saved(tmp_path / "whole", ranks)
    random = np.random.default_rng(ranks)
    refused = 0

    def restored() -> Any:
        table = make_table(base_buckets=MANY_BUCKETS)
        before = read(table, EVERY)
        try:
            of_ranks.restore(tf.train.Checkpoint(table=table), str(tmp_path / "damaged" / "saved"))
        except ERRORS:
            np.testing.assert_array_equal(read(table, EVERY), before)
            return None
        return read(table, EVERY)

    for _ in range(times):
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
        done = damage(tmp_path / "damaged", random)
        rows = thread_ranks.run(later, restored)[0]
        refused += rows[0] is None
        for part in rows:
            assert (part is None) == (rows[0] is None), done
            if part is not None:
                np.testing.assert_array_equal(part, want, err_msg=done)
    assert refused > times // 3
