"""How much CPU time the rewriter takes over large v1 graphs; what TensorFlow itself takes is counted apart.

python -m benchmarks.conversion.rewrite_graph [--ops 20000,200000] [--tables 20,300]
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from benchmarks.common import markdown_table
from benchmarks.sampling import Sampled

Result = TypeVar("Result")
FIELDS, DIM = 4, 8
#: Of the rewriter's own time.
PARTS = ("analyse", "trace", "apply", "check", "ids")


def build(ops: int, tables: int) -> Any:
    """Return a v1 graph of `ops` ops, or of more where the tables need more, with a Saver.

    A layer over the rows of all tables is trained by Adagrad; ids come as strings.
    """
    import numpy as np
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        rows = []
        columns = {str(number): np.full([10, FIELDS], "7") for number in range(tables)}
        batch = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(columns).batch(5)).get_next()
        for number in range(tables):
            ids = tf.strings.to_number(batch[str(number)], tf.int64)
            table = tf.get_variable(f"table_{number}", [1000, DIM], use_resource=True)
            rows.append(tf.reshape(tf.nn.embedding_lookup(table, ids), [-1, FIELDS * DIM]))
        weights = tf.get_variable("weights", [tables * FIELDS * DIM, 1], use_resource=True)
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.concat(rows, 1)) @ weights))
        tf.train.AdagradOptimizer(0.1).minimize(loss)
        tf.global_variables_initializer()
        tf.train.Saver()
        value = tf.placeholder(tf.float32, [8, 8])
        while len(graph.get_operations()) < ops:
            for _ in range(100):
                value = tf.raw_ops.Tanh(x=tf.raw_ops.AddV2(x=value, y=value))
    return graph


def timed(times: dict[str, float], name: str, body: Callable[[], Result]) -> Result:
    """Run `body` and add its own seconds of CPU time to `times[name]`, and those of TensorFlow to others there."""
    sampled = Sampled("rewriter", "runtime")
    with sampled.running():
        result = body()
    exported = sampled.inside.pop("as_graph_def", 0.0)
    for key, seconds in ((name, sampled.own), ("export", exported), ("made", sum(sampled.inside.values()))):
        times[key] = times.get(key, 0.0) + seconds
    return result


def measure(ops: int, tables: int) -> dict[str, float]:
    """Return the seconds of each part of one rewrite, and the peak of memory in MiB."""
    from rewriter.apply.inlining import unlocked_by_inlining
    from rewriter.apply.live import apply_plan
    from rewriter.checks.invariants import check
    from rewriter.graph.source_trace import sources_of
    from rewriter.graph.view import GraphView, uncollected
    from rewriter.pipeline import move_ids
    from rewriter.plan.planner import make_plan
    from rewriter.plan.provenance import with_sources

    graph = build(ops, tables)
    times: dict[str, float] = {}
    with uncollected():
        view = timed(times, "analyse", lambda: GraphView.of(graph))
        timed(times, "analyse", lambda: unlocked_by_inlining(view, "auto", []))
        plan = timed(times, "analyse", lambda: make_plan(view))
        if len(plan.tables) != tables:
            raise SystemExit(f"{len(plan.tables)} of {tables} tables move: {plan.summary()}")
        plan = timed(times, "trace", lambda: with_sources(plan, functools.partial(sources_of, graph)))
        timed(times, "apply", lambda: apply_plan(graph, plan))
        after = timed(times, "check", lambda: GraphView.of(graph))
        timed(times, "check", lambda: check(view, after, plan))
        ids = timed(times, "ids", lambda: move_ids(graph, view=after))
        if len(ids.moved) != tables:
            raise SystemExit(f"ids of {len(ids.moved)} of {tables} lookups move: {ids.summary()}")
    new = (len(after.nodes) - len(view.nodes)) / tables
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"ops": len(view.nodes), "new": new, "peak": peak, "ours": sum(times[name] for name in PARTS), **times}


def main(arguments: list[str]) -> int:
    """Print a table; the ratio is that to TensorFlow's exports and the ops that it makes, which any rewrite needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default="20000,200000", help="numbers of ops")
    parser.add_argument("--tables", default="20", help="numbers of tables")
    options = parser.parse_args(arguments)
    rows: list[list[Any]] = []
    for ops in map(int, options.ops.split(",")):
        for tables in map(int, options.tables.split(",")):
            # Each in a process of its own, for the peak of its memory.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                got = pool.submit(measure, ops, tables).result()
            theirs = got["made"] + got["export"]
            parts = [got[name] for name in (*PARTS, "ours", "made", "export")]
            rows.append(
                [f"{int(got['ops']):,}", f"{tables:,}", *parts, got["ours"] / theirs, got["new"], f"{got['peak']:,.0f}"]
            )
    head = (
        *("ops", "tables"),
        *(f"{part} s" for part in PARTS),
        *("together s", "TensorFlow makes ops s", "exports s", "÷", "new ops per table", "peak MiB"),
    )
    print(markdown_table(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
