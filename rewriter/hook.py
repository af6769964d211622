"""`GraphModifierHook`: rewrites the graph of an Estimator, or of any MonitoredSession, before the session starts."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from rewriter.moving import rewrite
from rewriter.plan import Plan

__all__ = ["GraphModifierHook"]

_log = logging.getLogger("rewriter")


class GraphModifierHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Moves a model to tables without touching its source; see `rewriter.rewrite`."""

    def __init__(self, dump_graph: bool = False, modify_graph: bool = True, tables: Any = "auto") -> None:
        """Take what to move: `tables` is "auto" or a list of variables' names.

        `modify_graph=False` leaves the graph as it is; `dump_graph=True` writes it to `./export_graph` as pbtxt before
        and after.
        """
        self._dump, self._modify, self._tables = dump_graph, modify_graph, tables
        #: What was done to the graph of the last session.
        self.plan: Plan | None = None

    def begin(self) -> None:
        """Rewrite the current graph, which is not finalized yet."""
        if not self._modify:
            return
        graph = tf.compat.v1.get_default_graph()
        self._write(graph, "before")
        self.plan = rewrite(graph, self._tables)
        for line in self.plan.summary().splitlines():
            _log.info("%s", line)
        self._write(graph, "after")

    def _write(self, graph: tf.Graph, when: str) -> None:
        if self._dump:
            tf.io.write_graph(graph, "export_graph", f"{when}.pbtxt")
