"""`GraphModifierHook`: rewrites the graph of an Estimator, or of any MonitoredSession, before the session starts."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rewriter.graph.view import uncollected
from rewriter.pipeline import PipelinePlan, move_ids
from rewriter.plan.plan import Plan
from rewriter.proof import Proof
from rewriter.proof.recorder import Recorder
from rewriter.record import check_record_path, write_record
from rewriter.rewrite_graph import rewrite_and_view

__all__ = ["GraphModifierHook", "modify_graph_and_start_emb_cache"]

_log = logging.getLogger("rewriter")


def modify_graph_and_start_emb_cache(
    full_graph: tf.Graph | None = None,
    dump_graph: bool = False,
    tables: Any = "auto",
    move_ids: bool = True,
    prefetch: bool = True,
) -> Plan:
    """Rewrite a graph (default: the current one) before its session, as GraphModifierHook does.

    It has Rec SDK's name, for plain sessions. There is no cache to start: a table is there with the session that uses
    it. See GraphModifierHook for the arguments.

    Raises:
        ValueError, RuntimeError, RewriteError: see `rewriter.rewrite`.
    """
    return _modify(full_graph or tf.compat.v1.get_default_graph(), dump_graph, tables, move_ids, prefetch)[0]


@uncollected()
def _modify(graph: tf.Graph, dump: bool, tables: Any, ids: bool, prefetch: bool) -> tuple[Plan, PipelinePlan]:
    _write(graph, "before", dump)
    plan, view = rewrite_and_view(graph, tables)
    pipeline = move_ids(graph, view=view, prefetch=prefetch) if ids else PipelinePlan()
    _tell(plan, pipeline, tables)
    _write(graph, "after", dump)
    return plan, pipeline


def _tell(plan: Plan, pipeline: PipelinePlan, asked: Any) -> None:
    """Log what was done; as a warning what was asked for by name and stays, and all that stays where nothing moves."""
    wanted = set() if asked == "auto" else set(asked)
    for refusal in plan.refusals:
        if refusal.table in wanted or not plan.tables:
            _log.warning("%s", refusal)
    for line in [*plan.summary().splitlines(), *pipeline.summary().splitlines()]:
        _log.info("%s", line)


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
        verify: int = 0,
        prefetch: bool = True,
    ) -> None:
        """Take what to move: `tables` is "auto" or a list of variables' names.

        `modify_graph=False` leaves the graph as it is; `dump_graph=True` writes it to `./export_graph` as pbtxt before
        and after; `move_ids=False` leaves the computation of ids in the graph; `prefetch=False` does not let
        datasets have the rows of their ids read ahead, where a table has tiers below memory; `report` names a .json
        file for what was done, which `migrate report html` makes a page of.

        `verify=N` proves the rewrite by the first N steps that look rows up, or those that there are at the end: what
        fed them is recorded, which costs that memory, and both graphs are run over it from fresh initial values in
        sessions of their own, beside the user's, which goes on undisturbed. See `rewriter.prove`.

        Raises:
            ValueError: `report` cannot be written.
        """
        self._report = check_record_path(report) if report else None
        self._dump, self._modify, self._tables, self._move_ids = dump_graph, modify_graph, tables, move_ids
        self._verify, self._prefetch = verify, prefetch
        self._recorder: Recorder | None = None
        #: What was done to the graph of the last session.
        self.plan: Plan | None = None
        #: What was done to its datasets.
        self.pipeline = PipelinePlan()

    def begin(self) -> None:
        """Rewrite the current graph, which is not finalized yet."""
        if self._modify:
            graph = tf.compat.v1.get_default_graph()
            self._recorder = Recorder(graph, self._verify) if self._verify else None
            self.plan, self.pipeline = _modify(graph, self._dump, self._tables, self._move_ids, self._prefetch)
            if self._report:
                write_record(self._report, self.plan, self.pipeline)
            if self._recorder:
                self._recorder.rewritten(self.plan, self.pipeline)

    @property
    def proof(self) -> Proof | None:
        """What `verify` found of the graph of the last session; None before, and when it could not be proved."""
        return self._recorder.proof if self._recorder else None

    def before_run(self, run_context: Any) -> Any:
        """Refuse to feed what moved ids are computed from: the step reads them ready from the dataset.

        Raises:
            ValueError: names the tensor.
        """
        asked = run_context.original_args
        if self.pipeline.moved:
            self.pipeline.require_unfed(asked.feed_dict)
        fetches = self._recorder.before_run(asked.fetches, asked.feed_dict) if self._recorder else {}
        return tf.compat.v1.train.SessionRunArgs(fetches) if fetches else None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Record the run for the proof.

        Raises:
            RewriteError: the rewritten graph computes something else.
        """
        if self._recorder:
            with self._reported(self._recorder):
                self._recorder.after_run(run_values.results)

    def end(self, session: Any) -> None:
        """Prove by what was recorded, if that is less than was asked for.

        Raises:
            RewriteError: the rewritten graph computes something else.
        """
        if self._recorder:
            with self._reported(self._recorder):
                self._recorder.end()

    @contextlib.contextmanager
    def _reported(self, recorder: Recorder) -> Iterator[None]:
        """Add the proof to the report when there is one, also one that fails."""
        before = recorder.proof
        try:
            yield
        finally:
            if self._report and self.plan and recorder.proof is not before:
                write_record(self._report, self.plan, self.pipeline, recorder.proof)
