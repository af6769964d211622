"""Killed at any step of a save: the latest checkpoint has its own tables, whichever way the saves go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from runtime.compat import mx_rec
from runtime.compat.mx_rec.checkpoint import table_files
from tests.support.runtime.kill_points import KillPoints, watched

pytestmark = pytest.mark.one_version

v1 = tf.compat.v1
PREFIX = "work/model"
PERIODS = {"is_incremental_checkpoint": True, "save_checkpoint_due_time": 60, "save_delta_checkpoints_secs": 1}


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Rec SDK, installed, in a fresh graph and a folder of its own; gives `init` and `create_table`."""
    monkeypatch.chdir(tmp_path)
    Path("work").mkdir()
    mx_rec.install()
    try:
        from mx_rec.core.embedding import create_table  # type: ignore[import-not-found]
        from mx_rec.util.initialize import init  # type: ignore[import-not-found]

        with tf.Graph().as_default():
            yield init, create_table
    finally:
        mx_rec.uninstall()


class _Model:
    """A table and a dense variable that both hold the number of the moment."""

    def __init__(self, create_table: Any, keep: int) -> None:
        self.table = create_table(tf.int64, 2, "user", v1.zeros_initializer(), 100)
        self.moment = v1.get_variable("moment", [], tf.int64, v1.zeros_initializer())
        self._fed = v1.placeholder(tf.int64, [])
        keys, values = tf.range(3, dtype=tf.int64), tf.fill([3, 2], tf.cast(self._fed, tf.float32))
        self._write = [self.table.import_rows(keys, values), self.moment.assign(self._fed)]
        self.saver = v1.train.Saver(max_to_keep=keep)
        self._init = v1.global_variables_initializer()
        self.opened = self.session()

    def session(self) -> Any:
        opened = v1.Session()
        opened.run(self._init)
        return opened

    def save(self, moment: int, step: int, kind: str, **options: Any) -> None:
        self.opened.run(self._write, {self._fed: moment})
        how = {"is_incremental_checkpoint": kind != "whole", "save_delta": kind == "delta"}
        self.saver.save(self.opened, PREFIX, step, **how, write_meta_graph=False, **options)


def _moment(path: str) -> int:
    """Return the moment of a checkpoint, which must be that of all of it."""
    dense = int(tf.train.load_variable(path, "moment"))
    rows = table_files.load_rows(path, "user")
    assert len(rows.keys) == 3 and (rows.values == dense).all()
    return dense


def _check(points: KillPoints, allowed: set[int]) -> None:
    assert len(points.states) > 5
    seen = set()
    for files in points.states:
        points.put_back(files)
        state = tf.train.get_checkpoint_state("work")
        assert state.model_checkpoint_path == tf.train.latest_checkpoint("work")
        seen.add(_moment(state.model_checkpoint_path))
    assert seen == allowed


@pytest.mark.parametrize("earlier", ["base", "delta", "whole"])
@pytest.mark.parametrize("kind", ["delta", "base", "whole"])
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("write_state", [True, False])
def test_a_name_that_is_there(
    sdk: Any, earlier: str, kind: str, restarted: bool, keep: int, step: int, write_state: bool
) -> None:
    init, create_table = sdk
    init(**PERIODS)
    model = _Model(create_table, keep)
    for number in range(1, 4):
        model.save(10 + number, number, earlier)
    if restarted:
        model.opened = model.session()
        model.saver.restore(model.opened, tf.train.latest_checkpoint("work"))
        model.saver.recover_last_checkpoints([tf.train.latest_checkpoint("work")])
    with watched(Path("work")) as points:
        model.save(20, step, kind, write_state=write_state)
    is_latest = write_state or step == 3
    assert _moment(tf.train.latest_checkpoint("work")) == (20 if is_latest else 13)
    if write_state:
        assert not list(Path("work").glob("*aside*"))
    _check(points, {13, 20} if is_latest else {13})


def test_a_killed_save_is_gone_when_its_name_is_saved_again(sdk: Any) -> None:
    init, create_table = sdk
    init(**PERIODS)
    model = _Model(create_table, 2)
    for number in range(1, 4):
        model.save(10 + number, number, "delta")
    with watched(Path("work")) as points:
        model.save(20, 3, "base")
    for files in points.states[::5]:
        points.put_back(files)
        model.opened = model.session()
        model.saver.restore(model.opened, tf.train.latest_checkpoint("work"))
        model.saver.set_last_checkpoints([])
        model.save(21, 3, "delta")
        assert tf.train.latest_checkpoint("work") == f"{PREFIX}-3" and _moment(f"{PREFIX}-3") == 21
        assert not list(Path("work").glob("*aside*"))


def test_a_refused_save_changes_nothing(sdk: Any) -> None:
    init, create_table = sdk
    init()
    model = _Model(create_table, 2)
    model.save(10, 1, "whole")
    with watched(Path("work")) as points, pytest.raises(ValueError, match="this Saver writes no increments"):
        model.save(11, 1, "delta")
    assert len(points.states) == 1
