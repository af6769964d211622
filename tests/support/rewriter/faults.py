"""A model of two tables, its rewrite, and a proof of the two after the rewritten graph was broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter import _tf_private, rewrite
from rewriter.proof import Proof, prove_graphs, record

v1 = tf.compat.v1
ROWS, DIM, BATCH, STEPS = 40, 4, 16, 6


def build() -> tuple[Any, Any]:
    """Build a model in the current graph; return loss and train op. Tests find its lines by their markers."""
    v1.set_random_seed(5)
    users, items = (v1.placeholder(tf.int64, [None, 3], name) for name in ("users", "items"))
    labels = v1.placeholder(tf.float32, [None, 1], "labels")
    starts = v1.random_normal_initializer(stddev=0.3)
    user, item = (v1.get_variable(name, [ROWS, DIM], initializer=starts) for name in ("user", "item"))
    one = v1.nn.embedding_lookup(user, users, name="of_users")  # line: users
    two = v1.nn.embedding_lookup(item, items, name="of_items")  # line: items
    weights = v1.get_variable("weights", [6 * DIM, 1], initializer=starts)
    hidden = tf.tanh(tf.reshape(tf.concat([one, two], 1), [-1, 6 * DIM]), name="hidden")
    scores = tf.matmul(hidden, weights, name="scores")  # line: scores
    loss = tf.reduce_mean(tf.square(scores - labels), name="loss")
    train = v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())  # line: train
    return loss, train


def feeds(steps: int = STEPS) -> list[dict[str, Any]]:
    """Return what to feed; row 39 is never looked up."""
    random = np.random.default_rng(3)
    return [
        {
            "users:0": random.integers(0, ROWS - 1, (BATCH, 3)),
            "items:0": random.integers(0, ROWS - 1, (BATCH, 3)),
            "labels:0": random.normal(size=(BATCH, 1)),
        }
        for _ in range(steps)
    ]


def proof_of(break_it: Callable[[tf.Graph], None]) -> Proof:
    """Rewrite the model, let `break_it` change the rewritten graph, and compare the two."""
    with tf.Graph().as_default() as graph:
        loss, train = build()
        original = graph.as_graph_def()
        plan = rewrite(graph)
        recording = record(original, graph.as_graph_def(), [loss.name, train.name], feeds())
        assert [table.name for table in plan.tables] == ["user", "item"]
        break_it(graph)
        return prove_graphs(original, graph.as_graph_def(), plan, recording, live=graph)


def op_of_table(graph: tf.Graph, table: str, kind: str) -> tf.Operation:
    """Return the first op of a type that a rewrite made for a table."""
    return next(op for op in graph.get_operations() if op.type == kind and op.name.startswith(f"recmigrate/{table}/"))


def read(op: tf.Operation, number: int, make: Callable[[tf.Tensor], tf.Tensor]) -> None:
    """Let an input of an op read what `make` makes of it."""
    _tf_private.update_input(op, number, make(op.inputs[number]))


def line(marker: str) -> str:
    """Return the place of a marked line of the model, as a proof names it."""
    lines = Path(__file__).read_text().splitlines()
    number = next(i for i, text in enumerate(lines, 1) if text.endswith(f"# line: {marker}"))
    return f"tests/support/rewriter/faults.py:{number} in build"
