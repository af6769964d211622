"""Moves that are killed, files that are damaged: a table has all rows of one checkpoint, base included, or an error."""

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
from runtime.optimizers import adagrad
from runtime.ranks import checkpoint as of_ranks
from tests.support.ranks import thread_ranks
from tests.support.runtime.kill_points import watched
from tests.support.runtime.tables import make_table, read, step

BUCKETS, EVERY = 40, np.arange(-100, 300)
ERRORS = (CheckpointError, runtime.ranks.RanksError, tf.errors.OpError, IndexError)


def test_a_move_that_is_killed_leaves_one_checkpoint_or_none(tmp_path: Path) -> None:
    matrices = np.random.default_rng(1).normal(size=[2, BUCKETS, 4]).astype(np.float32)
    for number, matrix in enumerate(matrices):
        write_bundle(str(tmp_path / f"old-{number}"), {"user": matrix})
    new = tmp_path / "new"

    def move(number: int) -> None:
        """As `migrate checkpoint --unbucket user --force`."""
        move = Move("user", "user", as_base=True, buckets=runtime.Buckets(BUCKETS))
        written(str(new / "model"), lambda path: move_variables(tmp_path / f"old-{number}", path, [move]))

    move(0)
    with watched(new) as points:
        move(1)
    assert len(points.states) > 3
    restored = []
    for state in points.states:
        points.put_back(state)
        table = make_table(base_buckets=BUCKETS)
        try:
            restore_table(table, str(new / "model"))
        except ERRORS:
            continue
        restored.append([np.array_equal(read(table, EVERY), matrix[EVERY % BUCKETS]) for matrix in matrices])
    assert all(map(any, restored)) and restored[0] == [True, False] and restored[-1] == [False, True]


def saved(folder: Path, ranks: int) -> np.ndarray:
    """Save a table with a base and ids of its own, trained on so many ranks; return the rows of all ids."""

    def body() -> Any:
        table, optimizer = make_table(base_buckets=BUCKETS), adagrad.create_hash_optimizer(0.1)
        runtime.set_base(table, np.random.default_rng(1).normal(size=[BUCKETS, 4]).astype(np.float32))
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
        table = make_table(base_buckets=BUCKETS)
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
