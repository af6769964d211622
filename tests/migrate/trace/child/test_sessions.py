"""What the traced process records of sessions and graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client import session as sessions
from tensorflow.python.ops import gradients_util

from migrate.trace.child.graph_files import LARGEST, write_graph
from migrate.trace.child.graph_records import graph_records
from migrate.trace.child.program import Program
from migrate.trace.child.sessions import Asked, Sessions
from migrate.trace.child.steps import Steps
from rewriter.graph.files import read_message
from rewriter.graph.view import GraphView

v1 = tf.compat.v1
METHODS = ("run", "partial_run_setup", "make_callable", "_make_callable_from_options")


class Heard(Sessions):
    hears_losses = True

    def __init__(self) -> None:
        self.faults: list[str] = []
        super().__init__(Steps(0, lambda _: None), self.faults)
        self.losses: list[dict[str, float]] = []

    def ended(self, seconds: float, losses: Mapping[str, Any], graph: Any, asked: Asked, values: Any) -> None:
        self.losses.append({name: float(np.mean(value)) for name, value in losses.items()})


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    monkeypatch.setattr(gradients_util, "_GradientsHelper", gradients_util._GradientsHelper)
    for name in METHODS:
        monkeypatch.setattr(sessions.BaseSession, name, vars(sessions.BaseSession)[name])
    watcher = Heard()
    watcher.install()
    return watcher


def test_what_trains_is_a_step(heard: Heard) -> None:
    with tf.Graph().as_default():
        ids = v1.placeholder(tf.int64, [None], "ids")
        rows = tf.nn.embedding_lookup(v1.get_variable("t", [9, 2], initializer=v1.ones_initializer()), ids)
        loss = tf.reduce_mean(rows, name="loss")
        step = v1.train.GradientDescentOptimizer(0.0).minimize(loss)
        (gradient,) = tf.gradients(loss, rows)
        more = v1.assign_add(v1.get_variable("n", [], initializer=v1.zeros_initializer()), 1.0)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run([loss, more], {ids: [1]})
            assert session.run({"all": (step, [rows])}, {ids: [1, 2]})["all"][1][0].shape == (2, 2)
            session.make_callable([step, loss], [ids])([3])
            session.make_callable(loss, [ids])([3])
            handle = session.partial_run_setup([gradient, loss], [ids])
            session.partial_run(handle, gradient, {ids: [1]})
    assert (heard.losses, heard.steps.count, heard.faults) == ([{"loss": 1.0}, {"loss": 1.0}, {}], 3, [])


@pytest.mark.skipif(hasattr(tf.keras, "Variable"), reason="Keras 3 trains in no graph of version 1")
def test_a_model_of_keras_in_a_graph(heard: Heard) -> None:
    with tf.Graph().as_default(), v1.Session().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Embedding(9, 2, input_length=1), tf.keras.layers.Flatten()])
        model.compile("sgd", "mse")
        model.fit(np.arange(8), np.ones([8, 2]), batch_size=2, verbose=0)
        model.predict(np.arange(8))
    assert (len(heard.losses), heard.steps.count, heard.faults) == (4, 4, [])


def test_an_update_in_a_function(heard: Heard) -> None:
    with tf.Graph().as_default():
        table = v1.get_variable("t", [9, 2], use_resource=True)

        @tf.function  # type: ignore[untyped-decorator]
        def update() -> tf.Tensor:
            done = tf.raw_ops.ResourceScatterSub(resource=table.handle, indices=[1], updates=[[1.0, 1.0]])
            with tf.control_dependencies([done]):
                return tf.constant(1.0)

        run = update()
        with v1.Session() as session:
            session.run(table.initializer)
            session.run(run)
    assert (heard.steps.count, heard.faults) == (1, [])


HERE = Path(__file__)


def recorded(folder: Path, *graphs: tf.Graph) -> list[dict[str, Any]]:
    return graph_records(graphs, Program(str(HERE.parent)), str(folder))


def lookup(resource: bool) -> None:
    table = v1.get_variable("table", [20, 4], use_resource=resource, initializer=v1.random_normal_initializer())
    rows = tf.nn.embedding_lookup(table, [1, 2])
    v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))


def test_lines_of_the_program(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        lookup(True)
    (one,) = recorded(tmp_path, graph)
    variable = next(variable for variable in one["variables"] if variable["name"] == "table")
    first = lookup.__code__.co_firstlineno
    assert (variable["created"][0], variable["shape"], variable["dtype"]) == (
        (HERE.name, first + 1),
        [20, 4],
        "float32",
    )
    assert {use["op"]: use["at"][0][1] - first for use in variable["uses"]}["ResourceGather"] == 2


def test_graphs_with_the_same_variables_are_one(tmp_path: Path) -> None:
    graphs = [tf.Graph() for _ in range(3)]
    for graph in graphs[:2]:
        with graph.as_default():
            lookup(False)
    assert len(recorded(tmp_path, *graphs)) == 1


def test_the_names_of_a_saver_are_kept_and_data_is_not(tmp_path: Path) -> None:
    long = "a" * 200
    with tf.Graph().as_default() as graph:
        for number in range(50):
            v1.get_variable(f"{long}{number}", [2, 2])
        tf.constant([f"word{number}" for number in range(LARGEST)], name="words")
        tf.constant([float(number) for number in range(LARGEST)], name="numbers")
        v1.train.Saver()
    message = read_message(tmp_path / write_graph(graph, str(tmp_path), "graph"))
    nodes = {node.name: node for node in message.graph_def.node}
    kept = tf.make_ndarray(nodes["save/SaveV2/tensor_names"].attr["value"].tensor)
    assert sorted(kept) == sorted(f"{long}{number}".encode() for number in range(50))
    assert nodes["words"].ByteSize() < 200
    assert nodes["numbers"].ByteSize() < 200
    assert GraphView(message.graph_def).texts("save/SaveV2/tensor_names")
