"""What is recorded of graphs, beside what the rewriter finds in the same ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from migrate.trace.child.graph_records import graph_records
from migrate.trace.child.program import Program

v1 = tf.compat.v1
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
