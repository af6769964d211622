"""Records the first steps of a session that trains a rewritten graph, and proves the rewrite with them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rewriter.checks.invariants import RewriteError
from rewriter.graph.view import GraphView
from rewriter.pipeline import PipelinePlan
from rewriter.plan.plan import Plan
from rewriter.proof.paired_graphs import LOOKUPS
from rewriter.proof.proving import prove_graphs
from rewriter.proof.reach import needed, op_of
from rewriter.proof.recording import Recording, Sources, Step, fed_values, fetch_names
from rewriter.proof.result import Proof

__all__ = ["Recorder"]

_log = logging.getLogger("rewriter")


class Recorder:
    """Implements `verify` of GraphModifierHook: created before the rewrite, then called at each run.

    It adds fetches to those of the user and feeds nothing, so the session computes the same values. Recorded inputs and
    both GraphDefs are kept until the proof.
    """

    def __init__(self, graph: tf.Graph, steps: int) -> None:
        """Keep a copy of the current graph."""
        self._graph, self._wanted = graph, steps
        self._original = graph.as_graph_def()
        self._losses = [one.name for one in graph.get_collection(tf.compat.v1.GraphKeys.LOSSES)]
        self._steps: list[Step] = []
        self._recorded = 0
        self._open: tuple[tuple[str, ...], dict[str, Any], bool] | None = None
        self._plan: Plan | None = None
        self._finished = False
        #: The proof, once there is one.
        self.proof: Proof | None = None

    def rewritten(self, plan: Plan, pipeline: PipelinePlan) -> None:
        """Take the plans that were applied to the graph."""
        self._plan, self._pipeline = plan, pipeline
        self._moved = self._graph.as_graph_def()
        self._view = GraphView(self._moved)
        self._sources = Sources(GraphView(self._original)), Sources(self._view)
        self._lookups = set(self._view.of_type(*LOOKUPS))
        if not plan.tables:
            self._give_up("no variable was replaced")

    def before_run(self, fetches: Any, feeds: Mapping[Any, Any] | None) -> dict[str, str]:
        """Return what to fetch besides the user's `fetches`, by name."""
        self._open = None
        if self._finished:
            return {}
        try:
            names, fed = fetch_names(self._graph, fetches), fed_values(feeds)
            wanted = {one: one for sources in self._sources for one in sources.of(names, fed)}
        except ValueError as error:
            self._give_up(str(error))
            return {}
        known = [one for one in names if op_of(one) in self._view]
        counts = not self._lookups.isdisjoint(needed(self._view, known, fed))
        self._open = names, fed, counts
        return wanted

    def after_run(self, fetched: Mapping[str, Any] | None) -> None:
        """Keep a run, and run the proof once there are enough.

        Raises:
            RewriteError: the rewritten graph computes different values.
        """
        if self._open is None or self._finished:
            return
        names, fed, counts = self._open
        self._steps.append(Step(names, {**fed, **(fetched or {})}, counts))
        self._recorded += counts
        if self._recorded == self._wanted:
            self._prove()

    def end(self) -> None:
        """Run the proof on the steps recorded so far.

        Raises:
            RewriteError: the rewritten graph computes different values.
        """
        if not self._finished and self._recorded:
            self._prove()
        elif not self._finished:
            self._give_up("no step looked up a row")

    def _prove(self) -> None:
        assert self._plan is not None
        self._finished = True
        recording, self._steps = Recording(tuple(self._steps)), []
        try:
            proof = prove_graphs(
                self._original, self._moved, self._plan, recording, self._pipeline, self._graph, self._losses
            )
        except ValueError as error:
            self._give_up(str(error))
            return
        self.proof = proof
        for line in proof.summary().splitlines():
            _log.info("%s", line)
        if not proof.ok:
            raise RewriteError(proof.summary())

    def _give_up(self, reason: str) -> None:
        self._finished, self._steps = True, []
        _log.warning("the rewrite could not be proved: %s", reason)
