"""Tables that give up their buckets on several ranks, against NumPy: rows and slots by id and by bucket, in dicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.native.base_keys import are_base_keys
from runtime.ranks import checkpoint
from tests.support.ranks import thread_ranks
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
