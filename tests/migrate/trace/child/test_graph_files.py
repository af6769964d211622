"""Graphs are written without data, but with what the rewriter reads of them."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from migrate.trace.child.graph_files import LARGEST, write_graph
from rewriter.graph.files import read_message
from rewriter.graph.view import GraphView

v1 = tf.compat.v1


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
