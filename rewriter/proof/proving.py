"""`prove` and `prove_graphs`: prove that a rewritten graph computes what the original computes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rewriter.graph.reasons import reason_of
from rewriter.graph.source_trace import source_of
from rewriter.graph.view import GraphView
from rewriter.pipeline import PipelinePlan
from rewriter.pipeline import move_ids as move_ids_of
from rewriter.plan.plan import Plan
from rewriter.proof.blame import blame, describe
from rewriter.proof.comparing import Comparison
from rewriter.proof.paired_graphs import PairedGraphs
from rewriter.proof.recording import Recording, Sources, Step, fed_values, fetch_names
from rewriter.proof.replay import Side
from rewriter.proof.result import Proof
from rewriter.rewrite_graph import rewrite

__all__ = ["TOLERANCE", "prove", "prove_graphs", "record"]

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
        given = [fed_values(one) for one in itertools.islice(feeds() if callable(feeds) else feeds, steps)]
        losses = [one.name for one in graph.get_collection(tf.compat.v1.GraphKeys.LOSSES)]
        original = graph.as_graph_def()
        plan = rewrite(graph, tables)
        pipeline = move_ids_of(graph) if move_ids else None
        moved = graph.as_graph_def()
        recording = record(original, moved, fetches, given or [{}] * steps)
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
        found = [{**one, **side.run([], one, names)} for one in feeds]
    except tf.errors.OutOfRangeError:
        raise ValueError(
            f"the input ends before {len(feeds)} steps are recorded: give verify a smaller number, or more input"
        ) from None
    except tf.errors.OpError as error:
        raise ValueError(f"the input cannot be read: {reason_of(error)}") from error
    finally:
        side.close()
    return Recording(tuple(Step(fetches, one) for one in found))


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
    found = comparison.run()
    difference = None
    if found is not None:
        tensor, reason = blame(graphs, recording, found, comparison.watch, tolerance)
        difference = describe(graphs, found, tensor, reason, lambda op: _source(live, op))
    others = sum(not one.looks_up for one in recording.steps) if found is None else 0
    steps = len(recording.steps) - others if found is None else found.step
    names = tuple(table.name for table in plan.tables)
    return Proof(steps, names, tolerance, comparison.tally.compared(), difference, tuple(comparison.notes), others)


def _source(live: tf.Graph | None, op: str) -> str | None:
    try:
        return None if live is None else source_of(live.get_operation_by_name(op))
    except KeyError:
        return None
