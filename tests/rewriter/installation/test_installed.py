"""What an installed rewriter leaves alone, and what is built late."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from runtime import native

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
            with pytest.raises(tf.errors.InvalidArgumentError, match="run the init op, or restore a checkpoint"):
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


@contextlib.contextmanager
def installing(**options: Any) -> Iterator[rewriter.Installation]:
    installed = rewriter.install(**options)
    try:
        yield installed
    finally:
        installed.remove()


def step() -> Any:
    table = v1.get_variable("table", initializer=np.ones([3, 2], np.float32))
    return v1.train.AdagradOptimizer(0.5).minimize(tf.reduce_sum(tf.gather(table, [1])))


def trained(session: Any, train: Any) -> None:
    if not session.graph.finalized:
        session.run(v1.global_variables_initializer())
    session.run(train)
    assert np.allclose(session.run(v1.global_variables()[0])[:, 0], [1, 0.5232687, 1])


def test_without_the_engine_nothing_moves(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def missing() -> None:
        raise ImportError("librecmigrate.so is missing: build it")

    monkeypatch.setattr(native, "ops", missing)
    with installing() as installed, tf.Graph().as_default(), v1.Session() as session:
        trained(session, step())
        assert rewriter.install() is installed
    assert installed.summary() == "0 tables, 0 variables that stayed"
    assert caplog.text.count("this process trains without tables: librecmigrate.so is missing: build it") == 1


def test_the_meta_graph_of_a_monitored_session_is_that_of_the_program(tmp_path: Path) -> None:
    """Its Saver is made after the model, by a Scaffold."""
    with installing() as installed, tf.Graph().as_default():
        v1.train.get_or_create_global_step()
        train = step()
        with v1.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
            session.run(train)
        assert list(installed.tables) == ["table"]
    meta = v1.MetaGraphDef()
    meta.ParseFromString(next(tmp_path.glob("*.meta")).read_bytes())
    assert not [node.name for node in meta.graph_def.node if node.op.startswith("Rec")]


def test_a_layer_of_before_is_said_when_it_is_called(caplog: pytest.LogCaptureFixture) -> None:
    layers = [tf.keras.layers.Embedding(5, 2, name=name) for name in ("first", "second")]
    for layer in layers:
        layer(np.array([1]))
    with installing(tables=["second"]) as installed:
        for layer in (*layers, *layers, tf.keras.layers.Embedding(5, 2, name="third")):
            layer(np.array([1]))
        assert list(installed.stay) == ["second/embeddings"]
    assert caplog.text.count("its layer was built before `rewriter.install()`: call that at the top") == 1


def test_an_optimizer_that_trains_by_its_own_code_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rewriter")
    with installing():
        for name in ("RMSprop", "SGD"):
            one = tf.keras.Sequential([tf.keras.layers.Embedding(5, 2), tf.keras.layers.Dense(1)])
            one.compile(getattr(tf.keras.optimizers, name)(0.1), "mse")
            one.fit(np.ones([4, 3], np.int64), np.ones([4, 3, 1]), verbose=0)
    assert caplog.text.count("is trained by the code of RMSprop, which reads and sets all rows in each step") == 1
    assert "by the code of SGD" not in caplog.text


def test_a_model_of_keras_in_a_graph_runs_beside() -> None:
    """Keras 2 gives its layers other base classes there."""
    if hasattr(tf.keras, "Variable"):
        pytest.skip("Keras 3 has no graphs")
    with installing() as installed, tf.Graph().as_default(), v1.Session():
        one = tf.keras.Sequential([tf.keras.layers.Embedding(5, 2, input_length=3), tf.keras.layers.Flatten()])
        one.compile(v1.train.GradientDescentOptimizer(0.1), "mse")
        one.fit(np.ones([4, 3], np.int64), np.ones([4, 6]), verbose=0)
        assert one.layers[0](v1.placeholder(tf.int64, [None, 3])).shape[1:] == [3, 2]
    assert len(installed.tables) == 1


@pytest.mark.parametrize("lookup", ["rows", "w"])
def test_the_name_of_a_partitioned_variable_means_its_parts(lookup: str, caplog: pytest.LogCaptureFixture) -> None:
    """The table has the name of the first part where an op of the graph has that of the variable."""
    options = {"tables": ["w", "v"], "settings": {"w": {"values": "bfloat16"}}}
    with installing(**options) as installed, tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", [5, 2], partitioner=v1.fixed_size_partitioner(2))
        rows = v1.nn.embedding_lookup(w, v1.placeholder_with_default(np.array([0, 3]), [None]), name=lookup)
        step = v1.train.AdagradOptimizer(0.5).minimize(tf.reduce_sum(rows))
        session.run(v1.global_variables_initializer())
        session.run(step)
    (table,) = installed.tables.values()
    assert table.variables[0] == "w/part_0" and len(table.parts) == 2
    assert table.settings.values == "bfloat16"
    assert caplog.text.count("`v` in tables=[...] is no variable of a graph that this program has run so far") == 1
    assert "`w` in" not in caplog.text


def test_a_name_of_an_earlier_graph_is_no_other_name(caplog: pytest.LogCaptureFixture) -> None:
    with installing(tables=["w", "x"]) as installed:
        for name in ("w", "x"):
            with tf.Graph().as_default(), v1.Session() as session:
                rows = tf.gather(v1.get_variable(name, [3, 2]), v1.placeholder_with_default([0, 1], [None]))
                step = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(rows))
                session.run(v1.global_variables_initializer())
                session.run(step)
    assert list(installed.tables) == ["w", "x"]
    assert "`x` in tables=[...] is no variable" in caplog.text  # so far
    assert "`w` in" not in caplog.text


def test_a_program_that_predicts_and_makes_its_saver_late_is_told_so_and_reads_the_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with installing():
        with tf.Graph().as_default(), v1.Session() as session:
            train, saver = step(), v1.train.Saver()
            trained(session, train)
            path = saver.save(session, str(tmp_path / "model"))
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.get_variable("table", initializer=np.ones([3, 2], np.float32))
            rows = tf.gather(table, v1.placeholder_with_default([0, 1], [None]))
            session.run(v1.global_variables_initializer())
            v1.train.Saver().restore(session, path)
            assert np.allclose(session.run(rows)[:, 0], [1, 0.5232687])
    assert "`table` stays a variable: this graph does not train it, and a session ran before its Saver" in caplog.text
    assert "table-values" in dict(tf.train.list_variables(path))
