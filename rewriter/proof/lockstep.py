"""One step of both graphs: first everything that can be compared before a write, then the step itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from rewriter.graph.reasons import reason_of
from rewriter.proof.paired_graphs import PairedGraphs
from rewriter.proof.recording import Step
from rewriter.proof.watch import Pair, Watched

__all__ = ["Valued", "run_before", "run_step"]

#: A pair, with its values in the original and in the rewritten graph.
Valued = tuple[Pair, Any, Any]


def run_before(graphs: PairedGraphs, step: Step, watched: Watched) -> list[Valued]:
    """Compute the values of a step that do not depend on its writes.

    Raises:
        ValueError: the original fails.
        tf.errors.OpError: the rewritten graph fails.
    """
    one = _original(graphs, [], step, [pair.original for pair in watched.before])
    other = graphs.moved.run([], step.feeds, [str(pair.moved) for pair in watched.before])
    return _valued(watched.before, one, other)


def run_step(graphs: PairedGraphs, step: Step, watched: Watched) -> tuple[list[Valued], dict[str, Any]]:
    """Run a step, the rewritten graph with the original's gradients; also return the ids of lookups.

    Raises:
        ValueError: the original fails.
        tf.errors.OpError: the rewritten graph fails.
    """
    ids = {pair.item: str(pair.original) for pair in watched.before if pair.kind == "ids"}
    wanted = [*(pair.original for pair in watched.within), *watched.forced, *ids.values()]
    one = _original(graphs, step.fetches, step, wanted)
    feeds = {**step.feeds, **{name: one[name] for name in watched.forced}}
    other = graphs.moved.run(step.fetches, feeds, [str(pair.moved) for pair in watched.within])
    return _valued(watched.within, one, other), {item: one[name] for item, name in ids.items()}


def _original(graphs: PairedGraphs, fetches: Sequence[str], step: Step, wanted: Iterable[Any]) -> dict[str, Any]:
    try:
        return graphs.original.run(fetches, step.feeds, map(str, wanted))
    except tf.errors.OpError as error:
        raise ValueError(f"a recorded step of the original cannot be run again: {reason_of(error)}") from error


def _valued(pairs: Sequence[Pair], one: dict[str, Any], other: dict[str, Any]) -> list[Valued]:
    values = ((pair, one[str(pair.original)], other[str(pair.moved)]) for pair in pairs)
    return [(pair, pair.of_table(first), second) for pair, first, second in values]
