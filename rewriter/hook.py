"""`GraphModifierHook`: rewrites the graph of an Estimator, or of any MonitoredSession, before the session starts."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from rewriter.moving import rewrite
from rewriter.plan import Plan

__all__ = ["GraphModifierHook", "modify_graph_and_start_emb_cache"]

_log = logging.getLogger("rewriter")


def modify_graph_and_start_emb_cache(dump_graph: bool = False, tables: Any = "auto") -> Plan:
    """Rewrite the current graph before its session, as GraphModifierHook does; Rec SDK's name for plain sessions.

    There is no cache to start: a table is there with the session that uses it.

    Raises:
        ValueError, RuntimeError, RewriteError: see `rewriter.rewrite`.
    """
    graph = tf.compat.v1.get_default_graph()
    _write(graph, "before", dump_graph)
    plan = rewrite(graph, tables)
    for line in plan.summary().splitlines():
        _log.info("%s", line)
    _write(graph, "after", dump_graph)
    return plan


def _write(graph: tf.Graph, when: str, wanted: bool) -> None:
    if wanted:
        tf.io.write_graph(graph, "export_graph", f"{when}.pbtxt")


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
        if self._modify:
            self.plan = modify_graph_and_start_emb_cache(self._dump, self._tables)
