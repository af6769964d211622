"""`GraphModifierHook`: rewrites the graph of an Estimator or MonitoredSession before its session starts."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from rewriter.graph.view import uncollected
from rewriter.pipeline import PipelinePlan, move_ids
from rewriter.plan.growth_lines import growth_lines
from rewriter.plan.lines import stay_lines, table_line
from rewriter.plan.plan import Plan
from rewriter.proof import Proof
from rewriter.proof.proving import Recorder
from rewriter.record import check_record_path, write_record
from rewriter.rewrite_graph import require_variables, rewrite_and_view
from rewriter.table_settings import TableSettings, check_tables, checked_settings, require_provable
from runtime import _validation

_log = logging.getLogger("rewriter")


def modify_graph_and_start_emb_cache(
    full_graph: tf.Graph | None = None,
    dump_graph: bool = False,
    tables: Any = "auto",
    move_ids: bool = True,
    prefetch: bool = True,
    every: int = 1,
    settings: Mapping[str, TableSettings | Mapping[str, Any]] | None = None,
) -> Plan:
    """Rewrite a graph (default: the current one) before its session starts, as GraphModifierHook does.

    This is Rec SDK's name for the function, for programs that use plain sessions. No cache has to be started: tables
    exist as soon as a session uses them. The arguments are those of GraphModifierHook.

    Raises:
        ValueError, RuntimeError, RewriteError: see `rewriter.rewrite`.
    """
    graph, known = full_graph or tf.compat.v1.get_default_graph(), checked_settings(settings)
    return _modify(graph, dump_graph, tables, move_ids, prefetch, every, known)[0]


@uncollected()
def _modify(
    graph: tf.Graph,
    dump: bool,
    tables: Any,
    ids: bool,
    prefetch: bool,
    every: int,
    settings: Mapping[str, TableSettings],
) -> tuple[Plan, PipelinePlan]:
    require_variables(graph, settings)
    _write(graph, "before", dump)
    plan, view = rewrite_and_view(graph, tables, every=every, settings=settings)
    pipeline = move_ids(graph, view=view, prefetch=prefetch) if ids else PipelinePlan()
    _tell(plan, pipeline)
    _write(graph, "after", dump)
    return plan, pipeline


def _tell(plan: Plan, pipeline: PipelinePlan) -> None:
    """Log the result; what stays is a warning, each reason once."""
    for line in [*stay_lines(plan.refusals), *plan.notes]:
        _log.warning("%s", line)
    for line in [*map(table_line, plan.tables), *growth_lines(plan.tables), *pipeline.summary().splitlines()]:
        _log.info("%s", line)


def _write(graph: tf.Graph, when: str, wanted: bool) -> None:
    if wanted:
        tf.io.write_graph(graph, "export_graph", f"{when}.pbtxt")


class GraphModifierHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Replaces embedding variables with tables, without source changes; see `rewriter.rewrite`, `rewriter.move_ids`."""

    def __init__(
        self,
        dump_graph: bool = False,
        modify_graph: bool = True,
        tables: Any = "auto",
        move_ids: bool = True,
        report: str | None = None,
        verify: int = 0,
        prefetch: bool = True,
        every: int = 1,
        settings: Mapping[str, TableSettings | Mapping[str, Any]] | None = None,
    ) -> None:
        """Configure the rewrite.

        Args:
            dump_graph: write the graph to `./export_graph` as pbtxt, before and after the rewrite.
            modify_graph: False leaves the graph unchanged.
            tables: "auto", or a list of names of the variables to replace.
            move_ids: whether datasets compute the ids of lookups; False leaves that computation in the graph.
            report: path of a .json file that records what was done; `migrate report html` renders it as a page.
            verify: prove the rewrite with the first N steps that look up rows (0: no proof). Inputs of these steps are
                recorded in memory. Both graphs then run on them from fresh initial values in separate sessions, and
                the training session is not disturbed. If training ends earlier, the steps recorded so far are used.
                See `rewriter.prove`.
            prefetch: whether datasets read rows ahead for tables that have storage tiers below memory.
            every: how many steps may share the value of a term of the loss over a whole variable (see `rewrite`).
            settings: how tables hold rows, by names of variables (see `rewrite`).

        Raises:
            ValueError: `tables` is neither "auto" nor names, `report` cannot be written, `every` is less than 1, or
                `settings` have a wrong field, or let a table train otherwise than its variable, which `verify` would
                have to find equal.
        """
        self._report = check_record_path(report) if report else None
        self._dump, self._modify, self._tables, self._move_ids = dump_graph, modify_graph, tables, move_ids
        self._verify, self._prefetch, self._every = verify, prefetch, _validation.integer("every", every, 1)
        check_tables(tables)
        self._settings = checked_settings(settings)
        require_provable(self._settings, verify)
        self._recorder: Recorder | None = None
        #: The plan that was applied to the graph of the last session.
        self.plan: Plan | None = None
        #: The plan that was applied to its datasets.
        self.pipeline = PipelinePlan()

    def begin(self) -> None:
        """Rewrite the current graph, which must not be finalized."""
        if self._modify:
            graph = tf.compat.v1.get_default_graph()
            self._recorder = Recorder(graph, self._verify) if self._verify else None
            how = (self._dump, self._tables, self._move_ids, self._prefetch, self._every, self._settings)
            self.plan, self.pipeline = _modify(graph, *how)
            if self._report:
                write_record(self._report, self.plan, self.pipeline)
            if self._recorder:
                self._recorder.rewritten(self.plan, self.pipeline)

    @property
    def proof(self) -> Proof | None:
        """The result of `verify` for the last session's graph; None before it is known, or if no proof was possible."""
        return self._recorder.proof if self._recorder else None

    def before_run(self, run_context: Any) -> Any:
        """Refuse feeds of tensors that moved ids are computed from: the step takes the ids from the dataset.

        Raises:
            ValueError: such a tensor is fed; the message names it.
        """
        asked = run_context.original_args
        if self.pipeline.moved:
            self.pipeline.require_unfed(asked.feed_dict)
        fetches = self._recorder.before_run(asked.fetches, asked.feed_dict) if self._recorder else {}
        return tf.compat.v1.train.SessionRunArgs(fetches) if fetches else None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Record the run for the proof.

        Raises:
            RewriteError: the rewritten graph computes different values.
        """
        if self._recorder:
            with self._reported(self._recorder):
                self._recorder.after_run(run_values.results)

    def end(self, session: Any) -> None:
        """Run the proof on the recorded steps if there are fewer than `verify` asked for.

        Raises:
            RewriteError: the rewritten graph computes different values.
        """
        if self._recorder:
            with self._reported(self._recorder):
                self._recorder.end()

    @contextlib.contextmanager
    def _reported(self, recorder: Recorder) -> Iterator[None]:
        """Add the proof, whether it passes or fails, to the report."""
        before = recorder.proof
        try:
            yield
        finally:
            if self._report and self.plan and recorder.proof is not before:
                write_record(self._report, self.plan, self.pipeline, recorder.proof)
