"""`GraphModifierHook`: rewrites the graph of an Estimator, or of any MonitoredSession, before the session starts."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from rewriter.moving import rewrite
from rewriter.pipeline import PipelinePlan, move_ids
from rewriter.plan import Plan
from rewriter.record import check_record_path, write_record

__all__ = ["GraphModifierHook", "modify_graph_and_start_emb_cache"]

_log = logging.getLogger("rewriter")


def modify_graph_and_start_emb_cache(
    full_graph: tf.Graph | None = None, dump_graph: bool = False, tables: Any = "auto", move_ids: bool = True
) -> Plan:
    """Rewrite a graph (default: the current one) before its session, as GraphModifierHook does.

    It has Rec SDK's name, for plain sessions. There is no cache to start: a table is there with the session that uses
    it. See GraphModifierHook for the arguments.

    Raises:
        ValueError, RuntimeError, RewriteError: see `rewriter.rewrite`.
    """
    return _modify(full_graph or tf.compat.v1.get_default_graph(), dump_graph, tables, move_ids)[0]


def _modify(graph: tf.Graph, dump: bool, tables: Any, ids: bool) -> tuple[Plan, PipelinePlan]:
    _write(graph, "before", dump)
    plan = rewrite(graph, tables)
    pipeline = move_ids(graph) if ids else PipelinePlan()
    for line in [*plan.summary().splitlines(), *pipeline.summary().splitlines()]:
        _log.info("%s", line)
    _write(graph, "after", dump)
    return plan, pipeline


def _write(graph: tf.Graph, when: str, wanted: bool) -> None:
    if wanted:
        tf.io.write_graph(graph, "export_graph", f"{when}.pbtxt")


class GraphModifierHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Moves a model to tables without touching its source; see `rewriter.rewrite` and `rewriter.move_ids`."""

    def __init__(
        self,
        dump_graph: bool = False,
        modify_graph: bool = True,
        tables: Any = "auto",
        move_ids: bool = True,
        report: str | None = None,
    ) -> None:
        """Take what to move: `tables` is "auto" or a list of variables' names.

        `modify_graph=False` leaves the graph as it is; `dump_graph=True` writes it to `./export_graph` as pbtxt before
        and after; `move_ids=False` leaves the computation of ids in the graph; `report` names a .json
        file for what was done, which `migrate report html` makes a page of.

        Raises:
            ValueError: `report` cannot be written.
        """
        self._report = check_record_path(report) if report else None
        self._dump, self._modify, self._tables, self._move_ids = dump_graph, modify_graph, tables, move_ids
        #: What was done to the graph of the last session.
        self.plan: Plan | None = None
        #: What was done to its datasets.
        self.pipeline = PipelinePlan()

    def begin(self) -> None:
        """Rewrite the current graph, which is not finalized yet."""
        if self._modify:
            graph = tf.compat.v1.get_default_graph()
            self.plan, self.pipeline = _modify(graph, self._dump, self._tables, self._move_ids)
            if self._report:
                write_record(self._report, graph, self.plan, self.pipeline)

    def before_run(self, run_context: Any) -> None:
        """Refuse to feed what moved ids are computed from: the step reads them ready from the dataset.

        Raises:
            ValueError: names the tensor.
        """
        if self.pipeline.moved:
            self.pipeline.require_unfed(run_context.original_args.feed_dict)
