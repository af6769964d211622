"""What an installed rewriter reports, also where a rewrite fails."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from migrate.report.graph_record import read_record
from migrate.report.model import Report, State
from rewriter.installation import graphs

v1 = tf.compat.v1


def recorded(file: Path) -> Report:
    return read_record(json.loads(file.read_text()), file.name)


def test_layers_of_keras_are_in_the_record_with_their_lines_and_optimizer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "run.json"
    installed = rewriter.install(report=str(file), verify=2)
    try:
        users = tf.keras.layers.Embedding(20, 4, name="users")
        units = tf.keras.layers.Embedding(9, 4, name="units", embeddings_constraint="unit_norm")
        model = tf.keras.Sequential([users, tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(np.arange(8), np.ones(8), batch_size=4, verbose=0)
        units(np.arange(3))
    finally:
        installed.remove()
    report = recorded(file)
    moved, stays = {one.table: one for one in report.findings if one.table}, report.tables[1]
    assert {name.rpartition("/")[0].rpartition("/")[2]: one.state for name, one in moved.items()} == {
        "users": State.APPLIED,
        "units": State.UNSUPPORTED,
    }
    table = report.tables[0]
    assert (table.rows, table.dim, table.optimizer) == ("20", "4", "Adam")
    assert table.location.path.endswith("test_report.py") and stays.location.path == table.location.path
    assert "1 layer `Embedding` of Keras (" in report.findings[0].reason
    assert "`embeddings_constraint`" in stays.reasons[0]
    assert caplog.text.count("`migrate trial -- python train.py`, which compares the losses") == 1


def test_a_graph_that_evaluates_does_not_take_the_place_of_the_one_that_trained(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    installed = rewriter.install(report=str(file))
    try:
        for trains in (True, False):
            with tf.Graph().as_default():
                users = v1.get_variable("users", [20, 4])
                loss = tf.reduce_sum(tf.gather(users, [1, 2]))
                step = v1.train.AdagradOptimizer(0.1).minimize(loss) if trains else loss
                v1.train.Saver()
                with v1.Session() as session:
                    session.run(v1.global_variables_initializer())
                    session.run(step)
    finally:
        installed.remove()
    (table,) = recorded(file).tables
    assert table.optimizer == "adagrad"


def test_a_fault_of_the_rewriter_does_not_end_the_program(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object, **named: object) -> None:
        raise KeyError("an op that nobody knows")

    monkeypatch.setattr(graphs, "rewrite_and_view", fails)
    installed = rewriter.install()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.get_variable("table", initializer=np.ones([3, 2], np.float32))
            step = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.gather(table, [1])))
            session.run(v1.global_variables_initializer())
            session.run(step)
            assert session.run(table).tolist() == [[1, 1], [0.5, 0.5], [1, 1]]
    finally:
        installed.remove()
    assert "a graph is not changed, because its rewrite failed: KeyError" in caplog.text and not installed.tables
