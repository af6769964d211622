"""What a program builds on a table after the rewrite, and which programs say that they cannot have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from rewriter.table_settings import TableSettings

v1 = tf.compat.v1


def test_a_dataset_that_reads_a_table_is_built_before_it() -> None:
    installed = rewriter.install()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.get_variable("table", initializer=np.ones([3, 2], np.float32), use_resource=True)
            step = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.gather(table, [1])))
            session.run(v1.global_variables_initializer())
            session.run(step)
            rows = tf.data.Dataset.range(3)
            # It would read the rows as they were when the iterator was initialized.
            with pytest.raises(ValueError, match=r"`MapDataset`.* uses the variable `table`.*: build it before"):
                rows.map(lambda number: tf.gather(table, number))
    finally:
        installed.remove()
    assert list(installed.tables) == ["table"]


def test_an_assignment_that_may_add_rows_keeps_the_variable() -> None:
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("table", [3, 2], use_resource=False)
        tf.gather(table, v1.placeholder(tf.int32, [None]))
        v1.assign(table, v1.placeholder(tf.float32, [3, 2]), validate_shape=False)
        assert [one.name for one in rewriter.rewrite(graph, dry_run=True).tables] == ["table"]
        v1.assign(table, tf.concat([table, tf.ones([1, 2])], 0), validate_shape=False, name="grows")
        (refusal,) = rewriter.rewrite(graph).refusals
    assert "`grows` may give it another number of rows: leave validate_shape=False out" in refusal.reason


def test_a_meta_graph_written_after_later_gradients_is_read(tmp_path: Path) -> None:
    """Constants of these gradients were placed with lookups of the table, which the file does not have."""
    installed = rewriter.install()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.get_variable("table", [3, 2], use_resource=True)
            rows = tf.gather(table, [[1, 2]], name="rows")
            loss = tf.reduce_sum(rows**2)
            v1.train.GradientDescentOptimizer(0.5).minimize(loss)
            session.run(v1.global_variables_initializer())
            session.run(tf.gradients(loss, [table]))
            path, expected = v1.train.Saver().save(session, str(tmp_path / "model")), session.run(table)
        with tf.Graph().as_default(), v1.Session() as session:
            v1.train.import_meta_graph(f"{path}.meta").restore(session, path)
            np.testing.assert_allclose(session.run("rows:0")[0], expected[1:])
    finally:
        installed.remove()
    assert list(installed.tables) == ["table"]


class _Trained:
    """A table with a step, and the sessions that a test opens on it."""

    def __init__(self) -> None:
        self.w = v1.get_variable("w", initializer=np.ones([3, 2], np.float32))
        self.ids = v1.placeholder(tf.int64, [None])
        self.out = tf.reduce_sum(tf.nn.embedding_lookup(self.w, self.ids))
        self.step = v1.train.AdagradOptimizer(0.5).minimize(self.out)

    def train(self, session: Any) -> None:
        session.run(v1.global_variables_initializer())
        session.run(self.step, {self.ids: [1, 1]})


@pytest.mark.parametrize("settings", [TableSettings(), TableSettings(max_bytes=2**20)])
def test_an_export_has_the_variables_of_the_program_unless_its_tables_have_limits(
    settings: TableSettings, tmp_path: Path
) -> None:
    installed = rewriter.install(settings={"w": settings})
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            model = _Trained()
            model.train(session)
            v1.saved_model.simple_save(session, str(tmp_path / "a"), {"ids": model.ids}, {"out": model.out})
            trained = session.run(model.w)
    finally:
        installed.remove()
    assert list(installed.tables) == ["w"]
    stored = tf.train.load_checkpoint(str(tmp_path / "a" / "variables" / "variables"))
    names = stored.get_variable_to_shape_map().keys()
    if settings.max_bytes:
        assert "w-keys" in names
        return
    assert names == {"w", "w/Adagrad"}
    served = tf.saved_model.load(str(tmp_path / "a")).signatures["serving_default"](ids=tf.constant([1, 2], tf.int64))
    assert served["out"].numpy() == trained[1:].sum()


def test_sessions_of_a_server_share_tables_until_the_one_that_started_them_ends() -> None:
    installed = rewriter.install()
    server = v1.train.Server.create_local_server()
    try:
        with tf.Graph().as_default():
            model = _Trained()
            with v1.Session(server.target) as first:
                model.train(first)
                second = v1.Session(server.target)
                second.run(model.step, {model.ids: [2]})
                rows = first.run(model.w)
                np.testing.assert_array_equal(second.run(model.w), rows)
            with pytest.raises(tf.errors.InvalidArgumentError, match="run the init op or restore a checkpoint"):
                second.run(model.out, {model.ids: [1]})
            second.run(v1.global_variables_initializer())
            assert second.run(model.out, {model.ids: [1]}) == 2
            second.close()
    finally:
        installed.remove()
    assert rows[2, 0] < 1


def test_a_late_saver_of_the_parts_of_a_table_saves_and_restores_them_as_slices(tmp_path: Path) -> None:
    """It has no slots: the checkpoint before has a table, and the one that it writes has the variable."""
    installed = rewriter.install()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            parts = list(v1.get_variable("w", [5, 2], partitioner=v1.fixed_size_partitioner(2)))
            ids = v1.placeholder(tf.int64, [None])
            step = v1.train.AdagradOptimizer(0.5).minimize(tf.reduce_sum(v1.nn.embedding_lookup(parts, ids)))
            session.run(v1.global_variables_initializer())
            path, before = v1.train.Saver().save(session, str(tmp_path / "all")), np.concatenate(session.run(parts))
            session.run(step, {ids: [0, 1, 3]})
            late = v1.train.Saver(parts)
            written, trained = late.save(session, str(tmp_path / "late")), np.concatenate(session.run(parts))
            late.restore(session, path)
            np.testing.assert_array_equal(np.concatenate(session.run(parts)), before)
            v1.train.Saver(parts[1:]).restore(session, written)
            last = np.concatenate(session.run(parts))
    finally:
        installed.remove()
    assert list(installed.tables) == ["w"]
    np.testing.assert_array_equal(tf.train.load_variable(written, "w"), trained)
    np.testing.assert_array_equal(last, [*before[:3], *trained[3:]])
