"""Writes graphs of version 1 to files, without large constants, from which they are judged once the run has ended."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import Any

#: Bytes of a constant that is kept; a larger one holds data, of which no verdict depends.
LARGEST = 8192
#: Ops that are given the names of what a Saver writes and reads, which decide what becomes of a table in it.
_SAVES = frozenset({"SaveV2", "RestoreV2"})
#: Collections that say what a variable is, and which loops there are.
_COLLECTIONS = (
    *("variables", "trainable_variables", "local_variables", "regularization_losses"),
    *("cond_context", "while_context"),
)


def write_graph(graph: Any, folder: str, name: str) -> str:
    """Write a graph into a folder; return the name of its file.

    It is empty if TensorFlow cannot export the graph, or if a strategy copies variables, of which a file tells nothing.
    """
    from tensorflow.python.training import saver

    strategies = [getattr(one, "distribute_strategy", None) for one in graph.get_collection_ref("variables")]
    if any(getattr(one, "num_replicas_in_sync", 1) > 1 for one in strategies):
        return ""
    held = [key for key in _COLLECTIONS if graph.get_collection_ref(key)]
    with _quiet(), graph.as_default():  # TensorFlow exports none where it executes eagerly
        try:
            meta = saver.export_meta_graph(graph=graph, collection_list=held)
        except Exception:  # such as that of a graph of more than 2 GB; the record holds all else
            return ""
    for nodes in (meta.graph_def.node, *(one.node_def for one in meta.graph_def.library.function)):
        names = {one for node in nodes if node.op in _SAVES for one in node.input[1:3]}
        for node in nodes:
            large = node.op == "Const" and node.attr["value"].tensor.ByteSize() > LARGEST
            if large and node.name not in names:
                _empty(node.attr["value"].tensor)
    with open(os.path.join(folder, f"{name}.meta"), "wb") as stream:  # noqa: PTH118, PTH123
        stream.write(meta.SerializeToString(deterministic=True))
    return f"{name}.meta"


def _empty(tensor: Any) -> None:
    """Keep type and shape of a constant alone."""
    for field, _ in tensor.ListFields():
        if field.name not in ("dtype", "tensor_shape"):
            tensor.ClearField(field.name)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep TensorFlow from warning of collections that a file cannot hold."""
    log = logging.getLogger("tensorflow")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
