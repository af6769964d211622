"""Savers keep rows and slots; meta graphs, SavedModels, the loader of C++, warm starts and other ranks read them."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint, native
from runtime.optimizers import adagrad, lazy_adam
from tests.support.runtime.tables import make_table, rows_of, session

v1 = tf.compat.v1


def _snapshot(opened: Any, table: runtime.Table) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return keys in order with the values and slots of each."""
    keys, values, slots, _ = opened.run(table.snapshot())
    order = np.argsort(keys)
    return keys[order].tolist(), values[order], slots[order]


def _same(one: Any, other: Any) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


_SAVERS: dict[str, Callable[[runtime.Table], v1.train.Saver]] = {
    "default": lambda table: v1.train.Saver(),
    "sharded": lambda table: v1.train.Saver(sharded=True),
    "global variables": lambda table: v1.train.Saver(v1.global_variables()),
    "dense and sparse": lambda table: v1.train.Saver([*v1.trainable_variables(), table.variable]),
    "anchor": lambda table: v1.train.Saver([table.variable]),
    "anchor in a dict": lambda table: v1.train.Saver({"user": table.variable}),
    "reshape, sequential": lambda table: v1.train.Saver(reshape=True, restore_sequentially=True),
}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("kind", _SAVERS)
def test_round_trip(kind: str, tmp_path: Path) -> None:
    table, dense = make_table(), v1.get_variable("dense", [4])
    train = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(runtime.sparse_lookup(table, [1, 2, 2]) * dense))
    more = runtime.sparse_lookup(table, [7, 8])
    saver = _SAVERS[kind](table)
    with session() as opened:
        opened.run(train)
        saved = _snapshot(opened, table)
        path = saver.save(opened, str(tmp_path / "model"), global_step=3)
        opened.run(more)
        opened.run(train)
        saver.restore(opened, path)
        _same(_snapshot(opened, table), saved)
        assert saved[0] == [1, 2]
    with v1.Session() as opened:
        saver.restore(opened, path)
        assert b"user" not in opened.run(v1.report_uninitialized_variables())
        _same(_snapshot(opened, table), saved)
    shapes = {name: shape for name, shape in tf.train.list_variables(path) if name.startswith("user")}
    assert shapes["user-keys"] == [2]
    assert shapes["user-values"] == shapes["user-slots"] == [2, 4]


@pytest.mark.usefixtures("graph")
def test_evaluation_graph_without_optimizer_restores_a_training_checkpoint(tmp_path: Path) -> None:
    table = make_table(initializer=v1.random_normal_initializer())
    train = lazy_adam.create_hash_optimizer(0.1).minimize(tf.reduce_sum(runtime.sparse_lookup(table, [1, 2])))
    with session() as opened:
        opened.run(train)
        path = v1.train.Saver().save(opened, str(tmp_path / "model"))
        expected = rows_of(opened, table, [1, 2, 99])
    with tf.Graph().as_default():
        table = make_table(initializer=v1.random_normal_initializer())
        rows = runtime.sparse_lookup(table, [1, 2, 99], is_train=False)
        with v1.Session() as opened:
            v1.train.Saver().restore(opened, path)
            np.testing.assert_array_equal(opened.run(rows), expected)  # key 99: the seed is in the checkpoint
            assert opened.run(table.size()) == 2


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("rows", [0, 2])
def test_another_dim_fails_by_name(rows: int, tmp_path: Path) -> None:
    look = runtime.sparse_lookup(make_table(), np.arange(rows))
    with session() as opened:
        opened.run(look)
        path = v1.train.Saver().save(opened, str(tmp_path / "model"))
    with tf.Graph().as_default(), v1.Session() as opened:
        make_table(dim=5)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"rows of the table `user` are not of width 5: create"
        ):
            v1.train.Saver().restore(opened, path)


@pytest.mark.usefixtures("graph")
def test_object_based_checkpoints_hold_the_rows(tmp_path: Path) -> None:
    table = make_table()
    size, look_up = table.size(), runtime.sparse_lookup(table, [1, 2**60])
    initialise = v1.global_variables_initializer()
    with v1.Session().as_default() as opened:
        opened.run(initialise)
        opened.run(table.import_rows([1, 2**60], np.arange(8.0).reshape(2, 4)))
        checkpoint = tf.train.Checkpoint(user=table.variable)
        path = checkpoint.save(str(tmp_path / "rows"))
        opened.run(initialise)
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        assert opened.run(size) == 2
        np.testing.assert_array_equal(opened.run(look_up), np.arange(8.0).reshape(2, 4))


@pytest.mark.usefixtures("graph")
def test_is_save_false_keeps_the_rows_out(tmp_path: Path) -> None:
    table = make_table(is_save=False)
    look = runtime.sparse_lookup(table, [1, 2])
    saver = v1.train.Saver()
    with session() as opened:
        opened.run(look)
        path = saver.save(opened, str(tmp_path / "model"))
    assert tf.train.list_variables(path) == [("user", [0, 4])]
    with v1.Session() as opened:
        saver.restore(opened, path)
        assert opened.run(table.size()) == 0
        assert opened.run(look).shape == (2, 4)


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
    with pytest.raises(checkpoint.CheckpointError, match="with different seeds, optimizers or buckets"):
        checkpoint.restore_table(make_table("both"), paths, "user")
    with pytest.raises(checkpoint.CheckpointError, match=r"have width 4, but the table `wide` has 5"):
        checkpoint.restore_table(make_table("wide", dim=5), paths[0], "user")
    with pytest.raises(checkpoint.CheckpointError, match=r"no rows of a table `item`: its tables are user"):
        checkpoint.restore_table(make_table("item"), paths[0])


_ROWS = np.arange(8.0, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Save rows 1 and 2 of the table `user` as a checkpoint `model` and as a SavedModel `export`."""
    with tf.Graph().as_default():
        table, ids = make_table(), v1.placeholder(tf.int64, [None], name="ids")
        rows = tf.identity(runtime.sparse_lookup(table, ids, is_train=False), name="rows")
        with session() as opened:
            opened.run(table.import_rows([1, 2], _ROWS))
            v1.train.Saver().save(opened, str(tmp_path / "model"))
            v1.saved_model.simple_save(opened, str(tmp_path / "export"), {"ids": ids}, {"rows": rows})
    return tmp_path


def test_saved_model_in_a_session(graph: tf.Graph, saved: Path) -> None:
    with v1.Session() as opened:
        v1.saved_model.load(opened, ["serve"], str(saved / "export"))
        np.testing.assert_array_equal(opened.run("rows:0", {"ids:0": [2, 1]}), _ROWS[::-1])


def test_saved_model_in_eager_mode_fails_and_never_serves_initial_rows(saved: Path) -> None:
    serve = tf.saved_model.load(str(saved / "export")).signatures["serving_default"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="this session has not created the table"):
        serve(ids=tf.constant([1, 2], tf.int64))


@pytest.mark.parametrize("name", ["user", "member"])
def test_warm_start_brings_the_rows_also_under_another_name(graph: tf.Graph, saved: Path, name: str) -> None:
    table = make_table(name)
    v1.train.init_from_checkpoint(str(saved / "model"), {"user": table.variable})
    with session() as opened:
        np.testing.assert_array_equal(rows_of(opened, table, [1, 2]), _ROWS)
        assert opened.run(table.size()) == 2


def test_a_new_saver_of_an_imported_graph_fails_and_names_the_remedy(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), v1.Session() as session:
        table = runtime.create_table(tf.int64, 2, "user", v1.ones_initializer())
        rows = runtime.sparse_lookup(table, tf.constant([1, 2], tf.int64))
        saver = v1.train.Saver()
        session.run(v1.global_variables_initializer())
        session.run(rows)
        saver.save(session, path)
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        saver.save(session, path + "-again")
        new = v1.train.Saver()
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"`user`, imported .*the saver that .*returns"):
            new.save(session, path + "-new")
        with pytest.raises(Exception, match="use_the_saver_of_import_meta_graph"):
            new.restore(session, path)
    assert len(checkpoint.load_rows(path + "-again", "user").keys) == 2


_IDS = tf.constant([1, 2, 3], tf.int64)
_ROWS_AGAIN = np.arange(12.0, dtype=np.float32).reshape(3, 4)


class _Model(tf.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.table = make_table()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])  # type: ignore[untyped-decorator]
    def serve(self, ids: tf.Tensor) -> tf.Tensor:
        return runtime.sparse_lookup(self.table, ids, is_train=False)


def test_what_is_saved_again_keeps_its_rows_and_a_signature_alone_its_table(tmp_path: Path) -> None:
    model = _Model()
    model.table.import_rows(_IDS, _ROWS_AGAIN)
    tf.saved_model.save(model, str(tmp_path / "first"))
    loaded = tf.saved_model.load(str(tmp_path / "first"))
    tf.saved_model.save(loaded, str(tmp_path / "second"))
    again = tf.saved_model.load(str(tmp_path / "second"))
    serve = tf.saved_model.load(str(tmp_path / "first")).signatures["serving_default"]
    del model
    gc.collect()
    np.testing.assert_array_equal(again.serve(_IDS), _ROWS_AGAIN)
    np.testing.assert_array_equal(loaded.serve(_IDS), _ROWS_AGAIN)
    np.testing.assert_array_equal(serve(_IDS)["output_0"], _ROWS_AGAIN)


_C_PROGRAM = Path(__file__).parents[2] / "support" / "runtime" / "c_api.py"


def test_the_loader_of_cpp_serves_a_saved_model_once_it_has_the_library(tmp_path: Path) -> None:
    """It is what servers use that are not written in Python, here by the C API, in a process without TensorFlow's."""
    module = tf.Module()
    module.table = make_table()
    module.table.import_rows([1, 2], np.arange(8).reshape(2, 4))
    ids = tf.TensorSpec([None], tf.int64, name="ids")
    look_up = tf.function(lambda ids: {"rows": runtime.sparse_lookup(module.table, ids, is_train=False)}, [ids])
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=look_up)
    wanted = look_up(tf.constant([1, 2, 77], tf.int64))["rows"]
    ends = ("serving_default_ids", "StatefulPartitionedCall")
    command = [sys.executable, str(_C_PROGRAM), str(tmp_path / "model"), *ends]
    with_library, without = (
        subprocess.run([*command, *library], capture_output=True, text=True) for library in ([str(native.LIBRARY)], [])
    )
    np.testing.assert_array_equal(np.float32(json.loads(with_library.stdout)).reshape(-1, 4), wanted)
    assert without.returncode == 1 and "Op type not registered 'Rec" in without.stderr
