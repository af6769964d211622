"""What Savers of variables restore from checkpoints in which these are tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rewriter._tf_private_files import ranges_of
from rewriter._tf_private_sessions import elements_of
from rewriter.installation.checkpoints import opened
from runtime.checkpoint.bundle import read_as_stored
from runtime.checkpoint.row_layout import columns_of


class Restores:
    """The RestoreV2 ops of a graph whose paths are fed, looked up again when the graph has grown.

    Where a checkpoint has a table in the place of a variable that one of them reads, all that is read of it is fed.
    """

    def __init__(self, graph: tf.Graph) -> None:
        """Take the graph."""
        self._graph, self._version = graph, 0
        self._ops: dict[str, list[tf.Operation]] = {}

    def among(self, ops: set[str]) -> bool:
        """Whether one of these ops gives the path of a checkpoint."""
        for op in self._graph.get_operations()[self._version :] if self._version < self._graph.version else ():
            if op.type == "RestoreV2":
                prefix = op.inputs[0].op
                while prefix.type == "Identity":
                    prefix = prefix.inputs[0].op
                self._ops.setdefault(prefix.name, []).append(op)
        self._version = self._graph.version
        return not self._ops.keys().isdisjoint(ops)

    def values(self, fetches: Any, fed: Mapping[str, Any]) -> dict[tf.Tensor, NDArray[Any]]:
        """Return what to feed in a run of `fetches` beside what is `fed`, by name."""
        values: dict[tf.Tensor, NDArray[Any]] = {}
        for name, path in fed.items():
            ops = self._ops.get(name.partition(":")[0], [])
            values |= _read(np.asarray(path).item(), ops, lambda: run_by(self._graph, fetches)) if ops else {}
        return values


def run_by(graph: tf.Graph, fetches: Any) -> set[tf.Operation]:
    """Return the ops that a run of these fetches runs; a Saver that was rebuilt for tables leaves others behind."""
    pending = [getattr(one, "op", one) for one in elements_of(graph, fetches)]
    known = set(pending)
    while pending:
        op = pending.pop()
        new = {*(given.op for given in op.inputs), *op.control_inputs} - known
        known |= new
        pending += new
    return known


def _read(path: Any, ops: list[tf.Operation], runs: Callable[[], set[tf.Operation]]) -> dict[tf.Tensor, NDArray[Any]]:
    """Return the values of those ops that are run and read variables or slots which are in tables of the checkpoint."""
    values: dict[tf.Tensor, NDArray[Any]] = {}
    stored = opened(path.decode() if isinstance(path, bytes) else str(path))
    with read_as_stored():
        columns = {} if stored is None else columns_of(stored.shapes(), stored.tensor)
    if stored is None or not columns:
        return values
    run = runs()
    for op in (one for one in ops if one in run):
        names, cuts = (tf.get_static_value(given) for given in op.inputs[1:])
        read = None if names is None or cuts is None else [one.decode() for one in names]
        pairs = zip(op.outputs, read or (), cuts if read else (), strict=False)
        asked = [one for one in pairs if not run.isdisjoint(one[0].consumers())]
        differs = any(name in columns and output.dtype == tf.float32 for output, name, _ in asked)
        if differs and all(stored.has(name) for _, name, _ in asked):
            values |= {output: np.asarray(stored.tensor(name))[ranges_of(cut)] for output, name, cut in asked}
    return values
