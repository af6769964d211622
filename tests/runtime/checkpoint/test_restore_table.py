"""Single tables out of checkpoints: other ranks, other names, increments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint
from runtime.optimizers import adagrad, lazy_adam
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1
_KEYS = np.array([-7, -1, 0, 1, 2, 3, 4, 11, 12, 2**62, -(2**63)])


def _save(directory: Path, keys: Any, incremental: bool = False, optimizer: Any = adagrad, **settings: Any) -> str:
    """Train the rows of `keys` and save them; with `incremental` half of them only in the second checkpoint."""
    with tf.Graph().as_default():
        table, ids = make_table(**settings), v1.placeholder(tf.int64, [None])
        rows = runtime.sparse_lookup(table, ids)
        train = optimizer.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows)))
        saver = checkpoint.IncrementalSaver() if incremental else v1.train.Saver()
        with session() as opened:
            opened.run(train, {ids: keys[: len(keys) // 2] if incremental else keys})
            path = saver.save(opened, str(directory / "model"), 1)
            if incremental:
                opened.run(train, {ids: keys[len(keys) // 2 :]})
                path = saver.save(opened, str(directory / "model"), 2)
            return str(path)


def _restored(paths: Any, **arguments: Any) -> dict[int, tuple[bytes, bytes]]:
    """Return the rows of a fresh table that was restored and not initialised otherwise."""
    with tf.Graph().as_default(), v1.Session() as opened:
        table = make_table("other")
        opened.run(checkpoint.restore_table(table, paths, "user", **arguments))
        keys, values, slots, _ = opened.run(table.snapshot())
    assert len(set(keys)) == len(keys)
    return _by_key(keys, values, slots)


def _by_key(keys: Any, values: Any, slots: Any) -> dict[int, tuple[bytes, bytes]]:
    return {
        key: (value.tobytes(), slot.tobytes()) for key, value, slot in zip(keys.tolist(), values, slots, strict=True)
    }


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize(("saved", "ranks"), [(1, 1), (1, 3), (3, 1), (2, 3), (3, 2)])
def test_any_number_of_ranks_to_any_other(tmp_path: Path, saved: int, ranks: int, incremental: bool) -> None:
    parts = [_KEYS[_KEYS % saved == rank] for rank in range(saved)]
    paths = [_save(tmp_path / f"rank{rank}", keys, incremental) for rank, keys in enumerate(parts)]
    wanted: dict[int, tuple[bytes, bytes]] = {}
    for path in paths:
        rows = checkpoint.load_rows(path, "user")
        wanted |= _by_key(rows.keys, rows.values, rows.slots)
    got: dict[int, tuple[bytes, bytes]] = {}
    for rank in range(ranks):
        part = _restored(paths if saved > 1 else paths[0], rank=rank, ranks=ranks)
        assert all(key % ranks == rank for key in part)
        got |= part
    assert got == wanted and sorted(got) == sorted(_KEYS.tolist())


def test_a_rank_that_was_not_trained_yet(tmp_path: Path) -> None:
    trained = _save(tmp_path / "trained", _KEYS[:5])
    with tf.Graph().as_default(), session() as opened:
        looked_up = runtime.sparse_lookup(make_table(), _KEYS[5:])
        saver = v1.train.Saver()
        opened.run(v1.global_variables_initializer())
        rows = dict(zip(_KEYS[5:].tolist(), opened.run(looked_up), strict=True))
        untrained = str(saver.save(opened, str(tmp_path / "untrained" / "model"), 1))
    for paths in ([trained, untrained], [untrained, trained]):
        got = _restored(paths)
        assert sorted(got) == sorted(_KEYS.tolist())
        for key, row in rows.items():
            assert got[key] == (row.tobytes(), np.full(4, 0.9, np.float32).tobytes())
        before = checkpoint.load_rows(trained, "user")
        assert {key: got[key] for key in _KEYS[:5].tolist()} == _by_key(before.keys, before.values, before.slots)


def test_refusals(graph: tf.Graph, tmp_path: Path) -> None:
    paths = [_save(tmp_path / "a", _KEYS), _save(tmp_path / "b", _KEYS, optimizer=lazy_adam)]
    with pytest.raises(ValueError, match=r"`rank` is 2 of 2"):
        checkpoint.restore_table(make_table(), paths[0], rank=2, ranks=2)
    with pytest.raises(checkpoint.CheckpointError, match="with different seeds or optimizers"):
        checkpoint.restore_table(make_table("both"), paths, "user")
    with pytest.raises(checkpoint.CheckpointError, match=r"have width 4, but the table `wide` has 5"):
        checkpoint.restore_table(make_table("wide", dim=5), paths[0], "user")
    with pytest.raises(checkpoint.CheckpointError, match=r"no rows of a table `item`: its tables are user"):
        checkpoint.restore_table(make_table("item"), paths[0])
