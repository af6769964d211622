"""`prove` and `prove_graphs`: prove that a rewritten graph computes what the original computes.

`Recorder` takes the first steps of a session that trains the rewritten graph, and proves it with them.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rewriter.checks.invariants import RewriteError
from rewriter.graph.reasons import reason_of
from rewriter.graph.source_trace import source_of
from rewriter.graph.view import GraphView
from rewriter.pipeline import PipelinePlan
from rewriter.pipeline import move_ids as move_ids_of
from rewriter.plan.plan import Plan
from rewriter.proof.blame import blame, describe
from rewriter.proof.comparing import Comparison
from rewriter.proof.paired_graphs import LOOKUPS, PairedGraphs
from rewriter.proof.recording import Recording, Sources, Step, fed_values, fetch_names, needed, op_of
from rewriter.proof.replay import Side
from rewriter.proof.result import Proof
from rewriter.rewrite_graph import rewrite

__all__ = ["TOLERANCE", "Recorder", "prove", "prove_graphs", "record"]

#: Greatest difference of floats that counts as equal, relative to the greatest magnitude in the tensor.
TOLERANCE = 1e-5

Feeds = Iterable[Mapping[Any, Any]]


def prove(
    build: Callable[[], Any],
    feeds: Feeds | Callable[[], Feeds] = (),
    steps: int = 10,
    tables: Any = "auto",
    tolerance: float = TOLERANCE,
    move_ids: bool = True,
) -> Proof:
    """Rewrite the model that `build` creates, and compare it with the original step by step.

    Args:
        build: creates the model in the current v1 graph and returns what a step fetches, such as loss and train op.
        feeds: a feed_dict for each step, by names or tensors, or a function that returns them once the model is built.
            Not needed if an iterator feeds the model.
        steps: number of steps to run; fewer if `feeds` has fewer.
        tables: see `rewriter.rewrite`.
        tolerance: of floats, relative to the greatest magnitude in the tensor.
        move_ids: let datasets compute the ids, as GraphModifierHook does; their results are compared as well.

    Raises:
        ValueError: no variable is replaced, nothing is fetched, or the model itself does not run.
    """
    with tf.Graph().as_default() as graph:
        fetches = fetch_names(graph, build())
        fed = [fed_values(one) for one in itertools.islice(feeds() if callable(feeds) else feeds, steps)]
        losses = [one.name for one in graph.get_collection(tf.compat.v1.GraphKeys.LOSSES)]
        original = graph.as_graph_def()
        plan = rewrite(graph, tables)
        pipeline = move_ids_of(graph) if move_ids else None
        moved = graph.as_graph_def()
        recording = record(original, moved, fetches, fed or [{}] * steps)
        return prove_graphs(original, moved, plan, recording, pipeline, graph, losses, tolerance)


def record(original: Any, moved: Any, fetches: Iterable[str], feeds: Sequence[dict[str, Any]]) -> Recording:
    """Return the steps given by `fetches` and `feeds`, with elements from the iterators of the rewritten GraphDef.

    If datasets compute ids, the recording has their results and the elements, which the original reads.

    Raises:
        ValueError: nothing is fetched, or the input cannot be read.
    """
    fetches = tuple(fetches)
    if not fetches:
        raise ValueError("a step fetches nothing: let `build` return the loss and the train op")
    side = Side(moved)
    fed = feeds[0] if feeds else {}
    sources = Sources(GraphView(original)), Sources(side.view)
    names = dict.fromkeys(name for one in sources for name in one.of(fetches, fed))
    if not names:
        return Recording(tuple(Step(fetches, one) for one in feeds))
    try:
        side.start({})
        side.fill_iterators()
        recorded = [{**one, **side.run([], one, names)} for one in feeds]
    except tf.errors.OutOfRangeError:
        raise ValueError(
            f"the input ends before {len(feeds)} steps are recorded: give verify a smaller number, or more input"
        ) from None
    except tf.errors.OpError as error:
        raise ValueError(f"the input cannot be read: {reason_of(error)}") from error
    finally:
        side.close()
    return Recording(tuple(Step(fetches, one) for one in recorded))


def prove_graphs(
    original: Any,
    moved: Any,
    plan: Plan,
    recording: Recording,
    pipeline: PipelinePlan | None = None,
    live: tf.Graph | None = None,
    losses: Collection[str] = (),
    tolerance: float = TOLERANCE,
) -> Proof:
    """Compare two GraphDefs, the second made from the first by `plan`, over the steps of a recording.

    Both start from the same initial values and get the same feeds, in sessions of their own. Ids of replaced lookups,
    initial values and all integers must be equal, floats up to `tolerance`. Memory: both models and the recording.

    Args:
        original: the GraphDef before the rewrite.
        moved: the GraphDef after it.
        plan: what the rewrite did.
        recording: what the steps fetch, and their inputs.
        pipeline: what moved into datasets.
        live: the graph that user code built, to report lines of it.
        losses: tensors to compare besides the floats that the steps fetch and those that gradients are taken of.
        tolerance: of floats, relative to the greatest magnitude that the tensor had so far.

    Raises:
        ValueError: no variable was replaced, or the original graph does not run.
    """
    if not plan.tables:
        reasons = "; ".join(map(str, plan.refusals)) or "no variable of the graph is looked up"
        raise ValueError(f"no variable was replaced, so there is nothing to prove: {reasons}")
    graphs = PairedGraphs(original, moved, plan, pipeline)
    comparison = Comparison(graphs, recording, tolerance, losses)
    deviation = comparison.run()
    difference = None
    if deviation is not None:
        tensor, reason = blame(graphs, recording, deviation, comparison.watch, tolerance)
        difference = describe(graphs, deviation, tensor, reason, lambda op: _source(live, op))
    others = sum(not one.looks_up for one in recording.steps) if deviation is None else 0
    steps = len(recording.steps) - others if deviation is None else deviation.step
    names = tuple(table.name for table in plan.tables)
    return Proof(steps, names, tolerance, comparison.tally.compared(), difference, tuple(comparison.notes), others)


def _source(live: tf.Graph | None, op: str) -> str | None:
    try:
        return None if live is None else source_of(live.get_operation_by_name(op))
    except KeyError:
        return None


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
