"""Ways out of and into a graph beside the Saver's: meta graph, SavedModel, warm start. Rows are unlike initial ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint
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
    with pytest.raises(tf.errors.InvalidArgumentError, match="valid only in the session"):
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
