"""Eager tables and checkpoints: warm start, restore of single tables, numpy files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint, native
from runtime.checkpoint.bundle import Bundle, write_bundle
from runtime.checkpoint.rows import delta_names
from tests.support.runtime.tables import make_table

_VALUES = np.arange(20, dtype=np.float32).reshape(5, 4)


def _saved(directory: Path, name: str = "user", keys: range = range(5)) -> str:
    table = make_table(name)
    table.import_rows(np.array(keys), _VALUES[keys.start : keys.stop])
    return str(tf.train.Checkpoint(anything=tf.Module(), inner=table).save(str(directory / "model")))


def test_warm_start_fills_the_table_at_once(tmp_path: Path) -> None:
    write_bundle(tmp_path / "stock", {"user": _VALUES, "user/Adagrad": _VALUES + 100})
    table = make_table()
    assert checkpoint.warm_start(table, tmp_path / "stock", key_offset=7, optimizer="adagrad") is None
    np.testing.assert_array_equal(runtime.sparse_lookup(table, tf.range(7, 12)), _VALUES)
    keys, _, slots, _ = table.snapshot()
    np.testing.assert_array_equal(slots.numpy()[np.argsort(keys)], _VALUES + 100)


@pytest.mark.parametrize("name", ["user", "inner/rows/.ATTRIBUTES/values"])
def test_a_warm_start_from_a_table_is_refused(tmp_path: Path, name: str) -> None:
    path, table = _saved(tmp_path), make_table()
    with pytest.raises(checkpoint.CheckpointError, match=r"table.*`user` would get .*restore_table"):
        checkpoint.warm_start(table, path, name)
    assert table.size() == 0


@pytest.mark.parametrize("name", ["user", "inner"])
def test_rows_are_found_by_the_name_of_the_table_and_by_its_place(tmp_path: Path, name: str) -> None:
    path = _saved(tmp_path)
    rows = checkpoint.load_rows(path, name)
    np.testing.assert_array_equal(rows.values[np.argsort(rows.keys)], _VALUES)
    (folder,) = checkpoint.export_numpy(path, tmp_path / "out")
    assert folder.name == "inner"


def test_an_eager_table_is_exported(tmp_path: Path) -> None:
    table = make_table()
    table.import_rows(np.arange(5), _VALUES)
    (folder,) = checkpoint.export_numpy(table, tmp_path)
    rows = checkpoint.read_numpy(folder)
    np.testing.assert_array_equal(rows.values[np.argsort(rows.keys)], _VALUES)


def test_a_session_restores_what_eager_mode_saved(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    with tf.Graph().as_default(), tf.compat.v1.Session() as opened:
        table = make_table()
        opened.run(checkpoint.restore_table(table, path))
        look = runtime.sparse_lookup(table, np.arange(5), is_train=False)
        np.testing.assert_array_equal(opened.run(look), _VALUES)


def test_increments_of_a_checkpoint(tmp_path: Path) -> None:
    table, dense = make_table(), tf.Variable([0.0])
    whole = tf.train.Checkpoint(table=table, dense=dense)
    saver = checkpoint.IncrementalCheckpoint(whole, [table], tmp_path / "sub" / "model", full_every=3, max_to_keep=0)
    random, played = np.random.default_rng(2), []
    for step in range(7):
        table.import_rows(random.integers(0, 30, 4), random.normal(size=(4, 4)))
        dense.assign([float(step)])
        if step % 3 == 2:
            native.ops().rec_table_remove(table.handle, random.choice(table.snapshot()[0].numpy(), 2))
        played.append((saver.save(step), _state(table, dense)))
    kinds = ["delta" if delta_names(Bundle(path)) else "full" for path, _ in played]
    assert kinds == ["full", "delta", "delta"] * 2 + ["full"]
    for path, state in [*played, *played[::-1]]:
        saver.restore(path)
        assert _state(table, dense) == state
        rows = checkpoint.load_rows(path, "user")
        assert _rows(rows.keys, rows.values) == state[0]
    assert tf.train.latest_checkpoint(str(tmp_path / "sub")) == played[-1][0]
    whole.read(played[3][0]).assert_consumed()
    assert _state(table, dense) == played[3][1]


def test_a_damaged_increment_is_named(tmp_path: Path) -> None:
    table = make_table()
    saver = checkpoint.IncrementalCheckpoint(tf.train.Checkpoint(table=table), [table], tmp_path / "model")
    for step in range(2):
        table.import_rows([step], _VALUES[:1])
        path = saver.save(step)
    (tmp_path / "model-1.data-00000-of-00001").write_bytes(b"")
    with pytest.raises(checkpoint.CheckpointError, match=r"model-1\.data-00000-of-00001 is damaged"):
        saver.restore(path)
    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match=r"must be eager tables, at least one: got \['other'\]"),
    ):
        checkpoint.IncrementalCheckpoint(tf.train.Checkpoint(), [make_table("other")], tmp_path / "model")


def _rows(keys: Any, values: Any) -> dict[int, bytes]:
    return {int(key): value.tobytes() for key, value in zip(np.asarray(keys), np.asarray(values), strict=True)}


def _state(table: runtime.Table, dense: tf.Variable) -> tuple[dict[int, bytes], float]:
    return _rows(*table.snapshot()[:2]), float(dense[0])


def _rows_in(path: str) -> np.ndarray:
    return np.asarray(tf.train.load_checkpoint(path).get_tensor("inner/rows/.ATTRIBUTES/values"))


def test_an_asynchronous_checkpoint_holds_the_rows_of_the_moment_of_save(tmp_path: Path) -> None:
    table, step = make_table(), tf.Variable(0.0)
    saver = tf.train.Checkpoint(inner=table, step=step)
    options = tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)
    paths = []
    for number in range(3):  # another number of rows each time
        table.import_rows(np.arange(number + 1), np.full((number + 1, 4), number))
        step.assign(number)
        paths.append(saver.save(str(tmp_path / "model"), options=options))
        table.import_rows(np.arange(9), np.full((9, 4), -1))  # after the save returned
        table.resource._restore_from_tensors(  # type: ignore[union-attr]
            dict(zip(("keys", "values", "slots", "meta"), make_table(f"empty{number}").snapshot(), strict=True))
        )
    fresh, restored = make_table("user"), tf.Variable(-1.0)
    tf.train.Checkpoint(inner=fresh, step=restored).restore(_waited(saver, paths[2]))
    assert (restored.numpy(), fresh.size().numpy()) == (2, 3)
    for number, path in enumerate(paths):
        np.testing.assert_array_equal(_rows_in(path), np.full((number + 1, 4), number))


def _waited(saver: tf.train.Checkpoint, path: str) -> str:
    saver.restore(path)  # waits for the thread that writes
    return path
