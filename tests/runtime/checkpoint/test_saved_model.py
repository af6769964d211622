"""Ways out of and into a graph beside the Saver's: meta graph, SavedModel, the loader of C++, warm start."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint, native
from tests.support.runtime.tables import make_table, rows_of, session

v1 = tf.compat.v1
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
