"""Tables that give up their buckets on several ranks, against NumPy: rows and slots by id and by bucket, in dicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.native.base_keys import are_base_keys
from runtime.optimizers import adagrad, adam, ftrl, gradient_descent
from runtime.ranks import checkpoint
from tests.support.ranks import thread_ranks
from tests.support.runtime.tables import make_table

BUCKETS, RATE, IDS = 8, 0.05, 40
#: How many steps are made with buckets, then without, before and after a checkpoint.
Steps = tuple[int, int, int]


def _sgd(row: np.ndarray, slots: list[np.ndarray], gradient: np.ndarray, _: int) -> None:
    row -= RATE * gradient


def _adagrad(row: np.ndarray, slots: list[np.ndarray], gradient: np.ndarray, _: int) -> None:
    slots[0] += gradient**2
    row -= RATE * gradient / np.sqrt(slots[0])


def _adam(row: np.ndarray, slots: list[np.ndarray], gradient: np.ndarray, number: int) -> None:
    rate = RATE * np.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    slots[0] += 0.1 * (gradient - slots[0])
    slots[1] += 0.001 * (gradient**2 - slots[1])
    row -= rate * slots[0] / (np.sqrt(slots[1]) + 1e-8)


def _ftrl(row: np.ndarray, slots: list[np.ndarray], gradient: np.ndarray, _: int) -> None:
    after = slots[0] + gradient**2
    slots[1] += gradient - (np.sqrt(after) - np.sqrt(slots[0])) / RATE * row
    slots[0][:] = after
    row[:] = -slots[1] * RATE / np.sqrt(after)


#: By its name: the optimizer, its step, what its slots begin with, and whether rows without a gradient move.
OPTIMIZERS: dict[str, tuple[Callable[[], Any], Callable[..., None], tuple[float, ...], bool]] = {
    "sgd": (lambda: gradient_descent.create_hash_optimizer(RATE), _sgd, (), False),
    "adagrad": (lambda: adagrad.create_hash_optimizer(RATE, 0.1), _adagrad, (0.1,), False),
    "adam": (lambda: adam.create_hash_optimizer(RATE), _adam, (0, 0), True),
    "ftrl": (lambda: ftrl.create_hash_optimizer(RATE, initial_accumulator_value=0.1), _ftrl, (0.1, 0), False),
}


class Oracle:
    """The bucketed table, and then the one of ids, as dicts."""

    def __init__(self, kind: str, first: np.ndarray) -> None:
        _, self._rule, self._starts, self._all_move = OPTIMIZERS[kind]
        self._base = dict(enumerate(first.astype(np.float64)))  # by buckets
        self._slots: dict[Any, Any] = {}
        self._own: dict[int, np.ndarray] = {}
        self._number = 0
        self.bucketed = True

    def row(self, key: int) -> np.ndarray:
        """Return the row of an id, which may be that of its bucket."""
        return self._own.get(key, self._base[key % BUCKETS])

    def step(self, keys: np.ndarray, targets: np.ndarray) -> None:
        """Move the rows of a batch to its targets."""
        gradients: dict[Any, np.ndarray] = {}
        for key, target in zip(keys.tolist(), targets, strict=True):
            place = ("base", key) if self.bucketed else ("own", key)
            gradients[place] = gradients.get(place, 0) + self.row(key) - target
        for kind, key in gradients:
            if kind == "own" and key not in self._own:
                self._own[key] = self._base[key % BUCKETS].copy()
                self._slots[kind, key] = [slot.copy() for slot in self._of(("base", key % BUCKETS))]
        self._number += 1
        everywhere = [("base", key) for key in self._base] + [("own", key) for key in self._own]
        for place in everywhere if self._all_move else list(gradients):
            row = (self._base if place[0] == "base" else self._own)[place[1]]
            self._rule(row, self._of(place), gradients.get(place, np.zeros(4)), self._number)

    def _of(self, place: Any) -> list[np.ndarray]:
        return self._slots.setdefault(place, [np.full(4, start, np.float64) for start in self._starts])


def _batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(number)
    return random.integers(-IDS // 2, IDS // 2, 12), random.normal(size=[12, 4]).astype(np.float32)


def _train(table: Any, optimizer: Any, numbers: range, bucketed: bool) -> None:
    """Make steps on this rank's part of each batch; ranks add up their gradients."""
    for number in numbers:
        keys, targets = (part[runtime.ranks.rank() :: runtime.ranks.size()] for part in _batch(number))
        with tf.GradientTape() as tape:
            error = runtime.sparse_lookup(table, keys % BUCKETS if bucketed else keys) - targets
            loss = 0.5 * tf.reduce_sum(error * error)
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])


def _read(table: Any, keys: Any) -> np.ndarray:
    return np.asarray(runtime.sparse_lookup(table, keys, is_train=False))


def _trained_on_ranks(kind: str, ranks: int, later: int, steps: Steps, folder: Path, placement: str) -> None:
    """Train with buckets, then without, save, and go on with another number of ranks; compare with the dicts."""
    ends = np.cumsum(steps)
    everything = np.arange(-IDS, IDS)
    path = str(folder / f"{kind}-{ranks}")

    def begin() -> Any:
        optimizer, bucketed = OPTIMIZERS[kind][0](), make_table("bucketed", placement=placement)
        first = _read(bucketed, np.arange(BUCKETS))
        runtime.sparse_lookup(bucketed, np.arange(BUCKETS))
        _train(bucketed, optimizer, range(ends[0]), True)
        table = make_table("free", base_buckets=BUCKETS, placement=placement)
        runtime.set_base(table, bucketed)
        moved = _read(table, everything)
        np.testing.assert_array_equal(moved, _read(bucketed, everything % BUCKETS))
        _train(table, optimizer, range(ends[0], ends[1]), False)
        checkpoint.save(tf.train.Checkpoint(table=table, optimizer=optimizer), path)
        return first, _read(table, everything)

    def go_on() -> Any:
        optimizer, table = OPTIMIZERS[kind][0](), make_table("free", base_buckets=BUCKETS, placement=placement)
        checkpoint.restore(tf.train.Checkpoint(table=table, optimizer=optimizer), path)
        restored = _read(table, everything)
        _train(table, optimizer, range(ends[1], ends[2]), False)
        return restored, _read(table, everything), np.asarray(table.snapshot()[0])

    before = thread_ranks.run(ranks, begin)[0]
    after = thread_ranks.run(later, go_on)[0]
    oracle = Oracle(kind, before[0][0])
    wanted = []
    for number in range(ends[2]):
        keys, targets = _batch(number)
        oracle.bucketed = number < ends[0]
        oracle.step(keys % BUCKETS if oracle.bucketed else keys, targets)
        if number + 1 in ends[1:]:
            wanted.append(np.stack([oracle.row(key) for key in everything.tolist()]))
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
def test_ranks_train_as_dicts(kind: str, ranks: int, later: int, placement: str, tmp_path: Path) -> None:
    _trained_on_ranks(kind, ranks, later, (10, 20, 20), tmp_path, placement)


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
    np.testing.assert_array_equal(_read(again, [12, 13])[:, 0], [16, 20])
