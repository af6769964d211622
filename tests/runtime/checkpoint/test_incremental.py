"""Incremental checkpoints: full and delta files give back any saved moment, whatever happened to the rows between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint, native
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.rows import TableRows, delta_names
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


class _Model:
    """One table trained by Adagrad beside a dense variable; rows can be taken away."""

    def __init__(self, name: str = "user", value_dtype: str = "float32") -> None:
        self.table, self.dense = make_table(name, value_dtype=value_dtype), v1.get_variable("dense", [4])
        self.ids = v1.placeholder(tf.int64, [None])
        loss = tf.reduce_sum(tf.sin(runtime.sparse_lookup(self.table, self.ids) * self.dense))
        dense = v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[self.dense])
        self.train = tf.group(adagrad.create_hash_optimizer(0.1).minimize(loss), dense)
        self.rows = self.table.snapshot()
        self.fed = [v1.placeholder(part.dtype, part.shape) for part in self.rows]
        self.replace = native.ops().rec_table_import(self.table.handle, *self.fed)

    def remove(self, opened: Any, keys: list[int]) -> None:
        rows = TableRows(*opened.run(self.rows))
        kept = rows.take(~np.isin(rows.keys, keys))
        opened.run(self.replace, dict(zip(self.fed, (kept.keys, kept.values, kept.slots, kept.meta), strict=True)))

    def state(self, opened: Any) -> tuple[np.ndarray, ...]:
        keys, values, slots, meta = opened.run(self.rows)
        order = np.argsort(keys)
        return keys[order], values[order], slots[order], meta, opened.run(self.dense)


def _same(one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def _play(model: _Model, saver: Any, directory: Path, saves: int = 8) -> list[tuple[str, tuple[np.ndarray, ...]]]:
    """Train, remove and save in turn; return the paths with the state of each."""
    played = []
    random = np.random.default_rng(5)
    with session() as opened:
        for step in range(saves):
            opened.run(model.train, {model.ids: random.integers(0, 60, 9)})
            if step % 3 == 2:
                model.remove(opened, random.choice(model.state(opened)[0], 4).tolist())
            path = saver.save(opened, str(directory / "sub" / "model"), global_step=step, write_meta_graph=False)
            played.append((path, model.state(opened)))
    return played


@pytest.mark.parametrize("value_dtype", ["float32", "bfloat16"])
def test_every_saved_moment_comes_back(graph: tf.Graph, tmp_path: Path, value_dtype: str) -> None:
    model = _Model(value_dtype=value_dtype)
    saver = checkpoint.IncrementalSaver(full_every=4, max_to_keep=0)
    played = _play(model, saver, tmp_path)
    kinds = ["delta" if delta_names(Bundle(path)) else "full" for path, _ in played]
    assert kinds == ["full", *["delta"] * 3, "full", *["delta"] * 3]
    with v1.Session() as opened:
        for path, state in [*played, *played[::-1]]:
            saver.restore(opened, path)
            _same(model.state(opened), state)
            rows = checkpoint.load_rows(path, "user")
            order = np.argsort(rows.keys)
            _same((rows.keys[order], rows.values[order], rows.slots[order], rows.meta), state[:4])


def test_an_increment_without_its_list_says_so(graph: tf.Graph, tmp_path: Path) -> None:
    model, saver = _Model(), checkpoint.IncrementalSaver()
    (_, _), (path, _) = _play(model, saver, tmp_path, 2)
    (tmp_path / "sub" / "model.increments.json").unlink()
    message = r"model-1 is an increment, but the \.increments\.json"
    with v1.Session() as opened, pytest.raises(checkpoint.CheckpointError, match=message):
        saver.restore(opened, path)
    with pytest.raises(checkpoint.CheckpointError, match=message):
        checkpoint.load_rows(path, "user")
    with pytest.raises(checkpoint.CheckpointError, match=message):
        checkpoint.export_numpy(path, tmp_path / "out")


def test_a_save_that_dies_while_it_uses_a_name_again_loses_nothing(
    graph: tf.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*arguments: Any) -> None:
        raise KeyboardInterrupt

    model = _Model()
    saver = checkpoint.IncrementalSaver(full_every=2, max_to_keep=0)
    played = _play(model, saver, tmp_path, 4)
    with session() as opened:
        monkeypatch.setattr(saver, "_write", die)
        with pytest.raises(KeyboardInterrupt):
            saver.save(opened, str(tmp_path / "sub" / "model"), 2)
        assert tf.train.latest_checkpoint(str(tmp_path / "sub")) == played[3][0]
        saver.restore(opened, played[3][0])
        _same(model.state(opened), played[3][1])


def test_training_that_goes_back_does_not_disturb_the_chains(graph: tf.Graph, tmp_path: Path) -> None:
    model = _Model()
    saver = checkpoint.IncrementalSaver(full_every=3, max_to_keep=0)
    played = dict(_play(model, saver, tmp_path, 6))
    with session() as opened:
        saver.restore(opened, str(tmp_path / "sub" / "model-1"))
        for step in (2, 3):
            opened.run(model.train, {model.ids: [100 + step]})
            played[saver.save(opened, str(tmp_path / "sub" / "model"), step)] = model.state(opened)
        del played[str(tmp_path / "sub" / "model-4")], played[str(tmp_path / "sub" / "model-5")]  # built on the old 3
        for path, state in played.items():
            saver.restore(opened, path)
            _same(model.state(opened), state)
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(opened, str(tmp_path / "sub" / "model-4"))


def test_slots_that_appear_between_two_saves_make_a_full_one(graph: tf.Graph, tmp_path: Path) -> None:
    model = _Model()
    saver = checkpoint.IncrementalSaver()
    with session() as opened:
        opened.run(runtime.sparse_lookup(model.table, [1, 2]))
        saver.save(opened, str(tmp_path / "model"), 1)
        opened.run(model.train, {model.ids: [1]})
        path = saver.save(opened, str(tmp_path / "model"), 2)
        state = model.state(opened)
        assert delta_names(Bundle(path)) == []
        saver.restore(opened, path)
        _same(model.state(opened), state)


@pytest.mark.parametrize("suffix", ["index", "data-00000-of-00001"])
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_link_is_named(graph: tf.Graph, tmp_path: Path, suffix: str, step: int, damage: str) -> None:
    model = _Model()
    saver = checkpoint.IncrementalSaver()
    latest = _play(model, saver, tmp_path, 3)[-1][0]
    file = tmp_path / "sub" / f"model-{step}.{suffix}"
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content[:-7] if damage == "cut" else content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with v1.Session() as opened, pytest.raises(checkpoint.CheckpointError, match=file.name):
        saver.restore(opened, latest)
    with pytest.raises(checkpoint.CheckpointError, match=file.name):
        checkpoint.load_rows(latest, "user")


def test_the_newest_whole_checkpoint_needs_all_that_it_builds_on(graph: tf.Graph, tmp_path: Path) -> None:
    model = _Model()
    played = _play(model, checkpoint.IncrementalSaver(full_every=3), tmp_path, 6)
    assert checkpoint.latest_complete(tmp_path / "sub") == played[5][0]
    Path(played[4][0] + ".data-00000-of-00001").write_bytes(b"")
    assert checkpoint.latest_complete(tmp_path / "sub") == played[3][0]
    (tmp_path / "sub" / "model.increments.json").unlink()
    assert checkpoint.latest_complete(tmp_path / "sub") == played[3][0]


def test_a_damaged_list_of_increments_is_named(graph: tf.Graph, tmp_path: Path) -> None:
    model, saver = _Model(), checkpoint.IncrementalSaver()
    (path, _), _ = _play(model, saver, tmp_path, 2)
    file = tmp_path / "sub" / "model.increments.json"
    assert [entry["name"] for entry in json.loads(file.read_text())["checkpoints"]] == ["model-0", "model-1"]
    file.write_text(file.read_text()[:-20])
    with v1.Session() as opened, pytest.raises(checkpoint.CheckpointError, match=r"model\.increments\.json is damaged"):
        saver.restore(opened, path)


def test_arguments(graph: tf.Graph, tmp_path: Path) -> None:
    v1.get_variable("dense", [4])
    with pytest.raises(ValueError, match="no table to save"):
        checkpoint.IncrementalSaver()
    table = make_table()
    with pytest.raises(ValueError, match="full_every=0"):
        checkpoint.IncrementalSaver(full_every=0)
    saver = checkpoint.IncrementalSaver({"user": table.variable})
    with session() as opened, pytest.raises(ValueError, match="needs a `global_step`"):
        saver.save(opened, str(tmp_path / "model"))
