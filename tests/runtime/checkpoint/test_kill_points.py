"""Killed at any step of a save: what TensorFlow's state file names restores, as it was before or as it is after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from runtime import checkpoint
from runtime.native.base_keys import FIRST_BASE_KEY
from tests.support.runtime.kill_points import watched
from tests.support.runtime.tables import make_table, session

pytestmark = pytest.mark.one_version

v1 = tf.compat.v1
PREFIX = "work/model"


class _Model:
    """A table, its base and a dense variable that all hold the number of the moment."""

    def __init__(self, full_every: int = 10, keep: int = 1) -> None:
        self.table = make_table("user", 2, base_buckets=4)
        self.moment = v1.get_variable("moment", [], tf.int64, v1.zeros_initializer())
        self._fed = v1.placeholder(tf.int64, [])
        keys = tf.concat([tf.range(3, dtype=tf.int64), FIRST_BASE_KEY + tf.range(4, dtype=tf.int64)], 0)
        values = tf.fill([7, 2], tf.cast(self._fed, tf.float32))
        self._write = [self.table.import_rows(keys, values), self.moment.assign(self._fed)]
        self.plain = v1.train.Saver(max_to_keep=5)
        self.saver = checkpoint.IncrementalSaver(full_every=full_every, max_to_keep=keep)

    def save(self, opened: Any, moment: int, step: int, plain: bool = False, **options: Any) -> None:
        opened.run(self._write, {self._fed: moment})
        (self.plain if plain else self.saver).save(opened, PREFIX, step, write_meta_graph=False, **options)


def _moment(path: str) -> int:
    """Return the moment of a checkpoint, which must be that of all of it."""
    dense = int(tf.train.load_variable(path, "moment"))
    rows = checkpoint.load_rows(path, "user")
    assert len(rows.keys) == 7 and (rows.values == dense).all()
    return dense


def _check(points: Any, allowed: set[int]) -> None:
    """Check all checkpoints that are named at each moment of a kill; the latest one is of these moments."""
    assert len(points.states) > 5
    seen = set()
    for files in points.states:
        points.put_back(files)
        state = tf.train.get_checkpoint_state("work")
        for path in state.all_model_checkpoint_paths:
            _moment(path)
        assert state.model_checkpoint_path == tf.train.latest_checkpoint("work")
        seen.add(_moment(state.model_checkpoint_path))
    assert seen == allowed


@pytest.fixture(autouse=True)
def _inside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, graph: tf.Graph) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("keep", [1, 2, 0])
@pytest.mark.parametrize("full_every", [1, 2, 10])
def test_saves_of_new_names(keep: int, full_every: int) -> None:
    model = _Model(full_every, keep)
    with session() as opened:
        model.save(opened, 10, 0)
        for step in range(1, 4):
            with watched(Path("work")) as points:
                model.save(opened, 10 + step, step)
            last = points.states[-1]
            _check(points, {9 + step, 10 + step})
            points.put_back(last)


@pytest.mark.parametrize("keep", [1, 2, 0])
@pytest.mark.parametrize("full_every", [1, 2, 10])
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_name_that_is_there(keep: int, full_every: int, restarted: bool, step: int) -> None:
    model = _Model(full_every, keep)
    opened = session()
    for earlier in range(1, 4):
        model.save(opened, 10 + earlier, earlier)
    if restarted:
        opened = session()
    with watched(Path("work")) as points:
        model.save(opened, 20, step)
    assert tf.train.latest_checkpoint("work") == f"{PREFIX}-{step}"
    assert not list(Path("work").glob("*aside*"))
    _check(points, {13, 20})


def test_a_name_that_a_plain_saver_used() -> None:
    model = _Model()
    with session() as opened:
        model.save(opened, 11, 1, plain=True)
        model.save(opened, 12, 2, plain=True)
        with watched(Path("work")) as points:
            model.save(opened, 20, 2)
    assert not list(Path("work").glob("*aside*"))
    _check(points, {12, 20})


@pytest.mark.parametrize("step", [2, 3])
def test_a_save_that_does_not_tell_the_state_file(step: int) -> None:
    model = _Model()
    with session() as opened:
        for earlier in range(1, 4):
            model.save(opened, 10 + earlier, earlier)
        with watched(Path("work")) as points:
            model.save(opened, 20, step, write_state=False)
    _check(points, {13, 20} if step == 3 else {13})
