"""How long the rewriter takes over large v1 graphs, TensorFlow's own export counted apart.

python -m benchmarks.rewrite_graph [--ops 20000,200000] [--tables 20]
"""

from __future__ import annotations

import argparse
import functools
import resource
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar
from unittest import mock

from benchmarks.common import markdown_table

Result = TypeVar("Result")
FIELDS, DIM = 4, 8
#: Of the rewriter's own time.
PARTS = ("analyse", "trace", "apply", "check", "ids")


def build(ops: int, tables: int) -> Any:
    """Return a v1 graph of about `ops` ops: lookups of `tables` variables, trained by Adagrad; ids come as strings."""
    import numpy as np
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        outputs = []
        columns = {str(number): np.full([10, FIELDS], "7") for number in range(tables)}
        batch = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(columns).batch(5)).get_next()
        for number in range(tables):
            ids = tf.strings.to_number(batch[str(number)], tf.int64)
            table = tf.get_variable(f"table_{number}", [1000, DIM], use_resource=True)
            outputs.append(tf.reduce_sum(tf.nn.embedding_lookup(table, ids)))
        loss = tf.add_n(outputs)
        tf.train.AdagradOptimizer(0.1).minimize(loss)
        value = tf.placeholder(tf.float32, [8, 8])
        while len(graph.get_operations()) < ops:
            value = tf.raw_ops.Tanh(x=tf.raw_ops.AddV2(x=value, y=value))
    return graph


def timed(times: dict[str, float], name: str, body: Callable[[], Result]) -> Result:
    """Run `body` and add its seconds to `times[name]`."""
    start = time.perf_counter()
    result = body()
    times[name] = times.get(name, 0.0) + time.perf_counter() - start
    return result


def measure(ops: int, tables: int) -> dict[str, float]:
    """Return the seconds of each part of one rewrite."""
    from rewriter.checks import check
    from rewriter.graph import GraphView, uncollected
    from rewriter.inlining import unlocked_by_inlining
    from rewriter.live import apply_plan
    from rewriter.origins import with_sources
    from rewriter.pipeline import move_ids
    from rewriter.pipeline.computed import Computed
    from rewriter.plan import make_plan
    from rewriter.trace import sources_of

    graph = build(ops, tables)
    times: dict[str, float] = {}
    applied = Computed.applied

    def traced(function: Computed, variant: Any, element: Any) -> Any:
        return timed(times, "function", lambda: applied(function, variant, element))

    with uncollected(), mock.patch.object(Computed, "applied", traced):
        definition = timed(times, "export", lambda: graph.as_graph_def(add_shapes=True))
        view = timed(times, "analyse", lambda: GraphView(definition))
        timed(times, "analyse", lambda: unlocked_by_inlining(view, "auto", []))
        plan = timed(times, "analyse", lambda: make_plan(view))
        if len(plan.tables) != tables:
            raise SystemExit(f"{len(plan.tables)} of {tables} tables move: {plan.summary()}")
        plan = timed(times, "trace", lambda: with_sources(plan, functools.partial(sources_of, graph)))
        timed(times, "apply", lambda: apply_plan(graph, plan))
        rewritten = timed(times, "export", lambda: graph.as_graph_def(add_shapes=True))
        after = timed(times, "check", lambda: GraphView(rewritten))
        timed(times, "check", lambda: check(view, after, plan))
        ids = timed(times, "ids", lambda: move_ids(graph, view=after))
        if len(ids.moved) != tables:
            raise SystemExit(f"ids of {len(ids.moved)} of {tables} lookups move: {ids.summary()}")
        again: dict[str, float] = {}
        timed(again, "export", lambda: graph.as_graph_def(add_shapes=True))
    # Moving ids exports the graph once more, to check it, and imports ops into the function that a dataset maps.
    times["ids"] -= again["export"] + times["function"]
    times["export"] += again["export"] + times["function"]
    times["ours"] = sum(times[name] for name in PARTS)
    return {"ops": len(view.nodes), **times}


def main(arguments: list[str]) -> int:
    """Print a table; ratios to TensorFlow's exports and imports, which any rewrite needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default="20000,200000", help="numbers of ops")
    parser.add_argument("--tables", type=int, default=20)
    options = parser.parse_args(arguments)
    rows: list[list[Any]] = []
    for ops in map(int, options.ops.split(",")):
        got = measure(ops, options.tables)
        parts = [got[name] for name in (*PARTS, "ours", "export")]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        rows.append([f"{int(got['ops']):,}", *parts, got["ours"] / got["export"], f"{peak:,.0f}"])
    head = (
        "ops",
        *(f"{part} s" for part in PARTS),
        "together s",
        "TensorFlow's exports and import s",
        "÷",
        "peak MiB",
    )
    print(markdown_table(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
