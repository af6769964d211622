"""What `install` does where it comes too late, or cannot work: the program runs as it ran, and one sentence says so."""

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


@pytest.mark.parametrize("finalized", [False, True])
@pytest.mark.one_case
def test_a_graph_of_before_stays_and_is_said(finalized: bool, caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        train = step()
        session.run(v1.global_variables_initializer())
        if finalized:
            graph.finalize()
        with installing() as installed:
            trained(session, train)
            session.run(train)
    assert list(installed.stay) == ["table"] and not installed.tables
    assert caplog.text.count("before `rewriter.install()`: call that at the top of the program") == 1


def test_what_is_built_in_a_session_of_before_moves() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        session.run(tf.constant(1))
        with installing() as installed:
            trained(session, step())
        assert list(installed.tables) == ["table"]


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


@pytest.mark.parametrize("whole", [True, False])
def test_the_meta_graph_of_a_late_saver_is_stock(whole: bool, tmp_path: Path) -> None:
    """What a Saver of the variable alone has written, the original restores; what one of all has, the program."""
    path = str(tmp_path / "model")

    def restored() -> Any:
        with tf.Graph().as_default(), v1.Session() as session:
            saver = v1.train.import_meta_graph(f"{path}.meta")
            session.run(v1.global_variables_initializer())
            saver.restore(session, path)
            session.run(v1.train.get_global_step().assign_add(1))
            return session.run(v1.global_variables()[0])

    with installing() as installed:
        with tf.Graph().as_default(), v1.Session() as session:
            train, count = step(), v1.train.get_or_create_global_step()
            trained(session, train)
            table = v1.global_variables()[0]
            v1.train.Saver(None if whole else {"rows": table, "count": count}).save(session, path)
            rows = session.run(table)
        assert list(installed.tables) == ["table"]
        assert np.array_equal(restored(), rows)
    meta = v1.MetaGraphDef()
    meta.ParseFromString(Path(f"{path}.meta").read_bytes())
    assert not [node.name for node in meta.graph_def.node if node.op.startswith("Rec")]
    if not whole:
        assert np.array_equal(restored(), rows)


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
