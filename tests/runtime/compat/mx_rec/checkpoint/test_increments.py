"""Rec SDK's incremental checkpoints and warm starts: written, read with what they build on, and by other programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.checkpoint import CheckpointError, TableRows, load_rows
from runtime.checkpoint.live_tables import snapshot_rows
from runtime.compat import mx_rec
from runtime.compat.mx_rec.checkpoint import layout, table_files
from runtime.compat.mx_rec.checkpoint.model_index import ModelIndex
from runtime.compat.mx_rec.checkpoint.schedule import DueTimer

v1 = tf.compat.v1
stock_saver = v1.train.Saver
PERIODS = {"is_incremental_checkpoint": True, "save_checkpoint_due_time": 60, "save_delta_checkpoints_secs": 1}


@pytest.fixture
def sdk() -> Iterator[Any]:
    """Rec SDK, installed; `init` is the test's to call."""
    mx_rec.install()
    try:
        from mx_rec.core import embedding  # type: ignore[import-not-found]
        from mx_rec.optimizers import lazy_adam  # type: ignore[import-not-found]
        from mx_rec.util import initialize  # type: ignore[import-not-found]

        yield SimpleNamespace(**vars(embedding), optimizer=lazy_adam.create_hash_optimizer, init=initialize.init)
    finally:
        mx_rec.uninstall()


def model(sdk: Any, names: tuple[str, ...] = ("user",)) -> SimpleNamespace:
    """Return a model of tables that an Adam trains, in a graph of its own."""
    graph = tf.Graph()
    with graph.as_default():
        ids = v1.placeholder(tf.int64, [None])
        tables = [sdk.create_table(tf.int64, 2, name, v1.constant_initializer(0.5), 100) for name in names]
        rows = tf.add_n([sdk.sparse_lookup(table, ids, modify_graph=True) for table in tables])
        weight = v1.get_variable("weight", [2, 1], initializer=v1.ones_initializer())
        loss = tf.reduce_sum((tf.matmul(rows, weight) - 3.0) ** 2)
        step = v1.train.get_or_create_global_step()
        dense = v1.train.GradientDescentOptimizer(0.01).minimize(loss, step, var_list=[weight])
        anchors = [table.variable for table in tables]
        train = sdk.optimizer(0.1).apply_gradients(list(zip(tf.gradients(loss, anchors), anchors, strict=True)))
        made = SimpleNamespace(graph=graph, ids=ids, tables=tables, loss=loss, train=[dense, train], weight=weight)
    return made


def run(session: Any, one: SimpleNamespace, ids: list[int]) -> float:
    return float(session.run([one.loss, *one.train], {one.ids: ids})[0])


def session_of(one: SimpleNamespace) -> Any:
    """Return the model's saver and a session that has begun."""
    with one.graph.as_default():
        one.saver, initial = v1.train.Saver(max_to_keep=2), v1.global_variables_initializer()
    session = v1.Session(graph=one.graph)
    session.run(initial)
    return session


def as_rec_sdk_writes(directory: Path) -> None:
    """Remove from the checkpoints of a directory all that Rec SDK does not write."""
    for folder in directory.glob("*sparse-*/*/recmigrate_*"):
        shutil.rmtree(folder)
    index = directory / "model_index.json"
    entries = [{key: value for key, value in one.items() if key != "name"} for one in json.loads(index.read_text())]
    index.write_text(json.dumps(entries))


def test_a_base_and_increments(sdk: Any, tmp_path: Path) -> None:
    sdk.init(**PERIODS)
    one = model(sdk)
    prefix = tmp_path / "model.ckpt"
    with session_of(one) as session:
        held = {}
        for step, ids in enumerate([[3, 1], [7, 1], [9]]):
            run(session, one, ids)
            how = {"is_incremental_checkpoint": True, "save_delta": True}  # the first becomes a whole one
            path = one.saver.save(session, str(prefix), global_step=step, **how)
            held[step] = snapshot_rows(one.tables[0], session)
        after = [run(session, one, [1, 9]), run(session, one, [3])]
        with pytest.raises(ValueError, match="global_step"):
            one.saver.save(session, str(prefix), is_incremental_checkpoint=True)
    entries = json.loads((tmp_path / "model_index.json").read_text())
    assert [(one["type"], one["export_tag"], one["global_step"]) for one in entries] == [
        ("base", "DueTime", 0),
        ("delta", "Seconds", 1),
        ("delta", "Seconds", 2),
    ]
    assert set(json.loads((tmp_path / "delta_export_time_ms.json").read_text())) == {"delta_2"}
    # Only two checkpoints are kept, and the base for as long as they build on it.
    assert not list(tmp_path.glob("model.ckpt-0.*"))
    directories = {one.name for one in tmp_path.glob("*sparse*")}
    assert directories == {"sparse-model.ckpt-0", "delta-sparse-model.ckpt-1", "delta-sparse-model.ckpt-2"}
    changed = np.fromfile(tmp_path / "delta-sparse-model.ckpt-1" / "user" / "key" / "slice.data", np.int64)
    assert sorted(changed) == [1, 7]
    for foreign in (False, True):
        if foreign:
            as_rec_sdk_writes(tmp_path)
        for step, rows in held.items():
            found = table_files.load_rows(f"{prefix}-{step}", "user", expands=False)
            order, wanted = np.argsort(found.keys), np.argsort(rows.keys)
            np.testing.assert_array_equal(found.keys[order], rows.keys[wanted])
            np.testing.assert_array_equal(found.values[order], rows.values[wanted])
            np.testing.assert_array_equal(found.slots[order], rows.slots[wanted])
        again = model(sdk)
        with session_of(again) as session:
            again.saver.restore(session, path)
            assert [run(session, again, [1, 9]), run(session, again, [3])] == pytest.approx(after, rel=1e-6)
            again.saver.restore(session, path)
            run(session, again, [9])
            if foreign:  # the next increment builds on what was restored; a whole one does away with increments
                again.saver.save(session, str(prefix), 3, is_incremental_checkpoint=True, save_delta=True)
                key = tmp_path / "delta-sparse-model.ckpt-3" / "user" / "key" / "slice.data"
                assert np.fromfile(key, np.int64).tolist() == [9]
                again.saver.save(session, str(prefix), 4, is_incremental_checkpoint=True)
                assert [one.name for one in tmp_path.glob("*sparse*")] == ["sparse-model.ckpt-4"]
    with pytest.raises((FileExistsError, CheckpointError)):
        table_files.load_rows(f"{prefix}-3", "user")


def test_an_increment_removes_keys_and_needs_what_it_builds_on(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    meta = np.array([2, 7, 2, 0, 0])
    rows = TableRows(np.array([1, 2, 3]), values, np.zeros([3, 0], np.float32), meta)
    changed = TableRows(rows.keys[1:2], rows.values[1:2] + 9.0, rows.slots[1:2], meta)
    first, second = tmp_path / "m-1", tmp_path / "m-2"
    mx_rec.save_rows(first, {"user": rows})
    items = {**layout.items_of(changed), layout.REMOVED: np.array([3])}
    layout.write_tables(layout.directory_of(second, delta=True), {"user": items})
    with pytest.raises(CheckpointError, match="model_index"):
        mx_rec.load_rows(second, "user")
    for path, kind in ((first, "base"), (second, "delta")):
        ModelIndex.of(path).add(path, kind, int(path.name[-1]), 5.5, 0.25)
    assert not ModelIndex(tmp_path / "other").entries
    found = mx_rec.load_rows(second, "user")
    assert (found.keys.tolist(), found.values.tolist()) == ([1, 2], [[0.0, 1.0], [11.0, 12.0]])
    assert table_files.table_names(second) == ["user"]
    shutil.rmtree(layout.directory_of(first))
    with pytest.raises(CheckpointError, match="sparse-m-1"):
        mx_rec.load_rows(second, "user")
    (tmp_path / "model_index.json").write_text("[{}]")
    with pytest.raises(CheckpointError, match="is damaged"):
        mx_rec.load_rows(second, "user")


def test_a_monitored_session_saves_both_kinds_and_restores_a_version(sdk: Any, tmp_path: Path) -> None:
    now = [0.0]
    timer = DueTimer(100, 10, lambda: now[0])
    due = []
    for step, at in enumerate([0, 5, 10, 15, 20, 100, 105, 110]):
        now[0] = at
        if timer.should_trigger_for_step(step):
            due.append((at, timer.kind))
            timer.update_last_triggered_step(step)
    assert due == [(0, "base"), (10, "delta"), (20, "delta"), (100, "base"), (110, "delta")]

    sdk.init(**PERIODS, restore_model_version=2)
    one = model(sdk)
    directory = str(tmp_path)
    with one.graph.as_default():
        sdk_hook = v1.train.CheckpointSaverHook(directory, save_secs=600)
        from mx_rec.graph import GraphModifierHook  # type: ignore[import-not-found]

        hooks = [GraphModifierHook(modify_graph=False), sdk_hook]
        with v1.train.MonitoredTrainingSession(hooks=hooks) as session:
            sdk_hook._timer._clock = lambda: now[0]
            sdk_hook._timer._last = dict.fromkeys(("base", "delta"), now[0])
            for ids in ([1, 2], [3], [1]):
                now[0] += 1
                run(session, one, ids)
            want = session.run(one.weight)
    kinds = [(one["type"], one["global_step"]) for one in json.loads((tmp_path / "model_index.json").read_text())]
    assert kinds == [("base", 0), ("delta", 1), ("delta", 2), ("delta", 3)]
    # Rec SDK looks for the slots of an increment in the base too, which has no rows yet.
    momentum = tmp_path / "sparse-model.ckpt-0" / "user" / "LazyAdam_momentum" / "slice.attribute"
    assert np.fromfile(momentum, np.int64).tolist() == [0, 2, 4]
    again = model(sdk)
    with session_of(again) as session:
        again.saver.restore(session, f"{directory}/model.ckpt-3")
        assert v1.train.global_step(session, v1.train.get_global_step(again.graph)) == 2
        assert session.run(again.tables[0].count()) == 3
        assert not np.array_equal(session.run(again.weight), want)


def test_ids_that_were_seen_seldom_are_left_out(sdk: Any, tmp_path: Path) -> None:
    sdk.init(**PERIODS, recent_key_count_threshold=2)
    one = model(sdk)
    with session_of(one) as session:
        for step, ids in enumerate([[1, 2, 3], [1, 2, 1], [2], [2, 2]]):
            run(session, one, ids)
            one.saver.save(session, str(tmp_path / "m"), step, is_incremental_checkpoint=True, save_delta=step > 0)
    keys = [
        np.fromfile(tmp_path / f"delta-sparse-m-{step}" / "user" / "key" / "slice.data", np.int64).tolist()
        for step in (1, 2, 3)
    ]
    assert keys == [[1], [], [2]]


def test_a_warm_start_from_several_checkpoints(sdk: Any, tmp_path: Path) -> None:
    sdk.init()
    first, second = model(sdk, ("user", "item")), model(sdk, ("user", "old"))
    held = []
    for number, one in enumerate((first, second)):
        with session_of(one) as session:
            run(session, one, [number, 5])
            one.saver.save(session, str(tmp_path / str(number) / "model"))
            held.append([snapshot_rows(table, session) for table in one.tables])
    again = model(sdk, ("user", "item", "new"))
    paths = [str(tmp_path / "0"), str(tmp_path / "1" / "model")]
    with again.graph.as_default():
        with pytest.raises(ValueError, match="lists of equal length"):
            v1.train.warm_start(paths, [".*"], None, [{}, {}])
        v1.train.warm_start(paths, [["item", "weight"], "new|us"], None, [{}, {"new": "old"}])
    with session_of(again) as session:
        for table, rows in zip(again.tables, (held[1][0], held[0][1], held[1][1]), strict=True):
            found = snapshot_rows(table, session)
            np.testing.assert_array_equal(found.values, rows.values)
            np.testing.assert_array_equal(found.slots, rows.slots)
        np.testing.assert_array_equal(session.run(again.weight), tf.train.load_variable(paths[0], "weight"))


def test_tables_of_the_runtime_read_such_checkpoints_and_write_them(sdk: Any, tmp_path: Path) -> None:
    sdk.init()
    one = model(sdk)
    with session_of(one) as session:
        run(session, one, [4, 8])
        path = one.saver.save(session, str(tmp_path / "model"))
        want = snapshot_rows(one.tables[0], session)
        after = run(session, one, [8, 9])
    with tf.Graph().as_default(), v1.Session() as session:
        table = runtime.create_table(tf.int64, 2, "mine", v1.zeros_initializer())
        session.run(table_files.restore_table(table, path, "user"))
        rows = snapshot_rows(table, session)
        np.testing.assert_array_equal(rows.values, want.values)
        np.testing.assert_array_equal(rows.slots, want.slots)
        one_more = stock_saver([table.variable]).save(session, str(tmp_path / "own" / "model"))
    table_files.save_rows(path, {"user": load_rows(one_more, "mine")})
    again = model(sdk)
    with session_of(again) as session:
        again.saver.restore(session, path)
        assert run(session, again, [8, 9]) == pytest.approx(after, rel=1e-6)
    with pytest.raises(FileExistsError, match="no rows of a table `item`"):
        table_files.load_rows(one_more, "item")
    np.testing.assert_array_equal(table_files.load_rows(one_more, "mine").slots, want.slots)
