"""Runs a model before and after its conversion: outputs, losses and rows over three training steps must agree.

What is converted for another SDK runs over its façade.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tensorflow

from tests.support.source.converting import converted
from tests.support.table_rows import load, values

tf = tensorflow.compat.v1
STEPS = 3
_NONE: AbstractContextManager[None] = nullcontext()
HEAD = """import tensorflow.compat.v1 as tf

def build(feeds):
    ids = tf.placeholder(tf.int64, [None])
    pairs = tf.placeholder(tf.int32, [None, 3])
    sparse = tf.sparse_placeholder(tf.int64, [None, 5])
    weights = tf.sparse_placeholder(tf.float32, [None, 5])
    wide = tf.sparse_placeholder(tf.float32, [6, 20])
    feeds.update(ids=ids, pairs=pairs, sparse=sparse, weights=weights, wide=wide)
    W = tf.get_variable("w", [20, 4], initializer=tf.random_normal_initializer(seed=4))
    b = tf.get_variable("b", [20], initializer=tf.random_uniform_initializer(-1, 1, seed=5))
    kernel = tf.get_variable("kernel", [4, 3], initializer=tf.random_normal_initializer(seed=6))
"""
TAIL = """
    loss = tf.reduce_mean(tf.tanh(tf.tensordot(out, kernel, 1)) ** 2) + 0.1 * tf.reduce_sum(out ** 2)
    train_op = {optimizer}.minimize(loss)
    return out, loss, train_op
"""
OPTIMIZERS = {
    "sgd": "tf.train.GradientDescentOptimizer(0.3)",
    "adagrad": "tf.train.AdagradOptimizer(0.3)",
    "adam": "tf.train.AdamOptimizer(0.05)",
    "momentum": "tf.train.MomentumOptimizer(0.1, 0.9)",
}


@dataclass(frozen=True)
class Run:
    """What three steps showed: outputs and losses of each, and the rows at the end by variable or table."""

    outputs: list[Any]
    losses: list[float]
    rows: dict[str, Any]
    start: dict[str, Any]


def model(body: str, optimizer: str = "sgd") -> str:
    """Return a module whose `build` computes `out` by `body`."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return HEAD + lines + TAIL.format(optimizer=OPTIMIZERS[optimizer])


def batch(step: int) -> dict[str, Any]:
    """Return a seeded batch: ids repeat, sparse rows 2 and 5 of 6 are empty, as is the last."""
    random = np.random.RandomState(step)
    indices = [[r, c] for r in (0, 1, 3, 4) for c in range(random.randint(1, 5))]
    values = random.randint(20, size=len(indices))
    weights = random.uniform(0.5, 2, size=len(indices)).astype(np.float32)
    columns = [sorted(random.choice(20, 3, replace=False)) for _ in range(4)]
    places = [[r, c] for r, chosen in zip((0, 1, 3, 4), columns, strict=True) for c in chosen]
    return {
        "ids": random.randint(20, size=8),
        "pairs": random.randint(20, size=(6, 3)),
        "sparse": tf.SparseTensorValue(indices, values, [6, 5]),
        "weights": tf.SparseTensorValue(indices, weights, [6, 5]),
        "wide": tf.SparseTensorValue(places, random.normal(size=len(places)).astype(np.float32), [6, 20]),
    }


def run(text: str, start: dict[str, Any] | None = None) -> Run:
    """Train three steps; `start` gives all initial values by variable name."""
    from runtime.table.create import tables

    with tf.Graph().as_default(), tf.Session() as session:
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        feeds: dict[str, Any] = {}
        fetches = space["build"](feeds)
        session.run(tf.global_variables_initializer())
        made = {table.table_name: table for table in tables()}
        anchors = {id(table.variable) for table in made.values()}
        variables = {v.op.name: v for v in tf.trainable_variables() if id(v) not in anchors}
        load(session, start or {}, made, variables)
        begin = session.run(variables)
        results = [session.run(fetches, {feeds[k]: v for k, v in batch(s).items()}) for s in range(STEPS)]
        rows = values(session, made, variables)
        return Run([r[0] for r in results], [float(r[1]) for r in results], rows, begin)


def compare(
    text: str,
    target: str = "runtime",
    facade: AbstractContextManager[Any] = _NONE,
    *,
    assume: bool = False,
    moved: tuple[str, ...] = ("w",),
) -> None:
    """Convert `text` and show that it computes the same, step by step, over a façade where one is given."""
    result = converted(text, assume=assume, target=target)
    made = {table.name for table in result.tables if table.verdict.value == "applied"}
    assert made == set(moved), [(table.name, table.reasons) for table in result.tables]
    want = run(text)
    with facade:
        got = run(result.converted, want.start)
    assert len({round(loss, 5) for loss in want.losses}) == STEPS, "the losses must move, or it says nothing"
    for mine, stock in zip(got.outputs, want.outputs, strict=True):
        assert mine.shape == stock.shape
        np.testing.assert_allclose(mine, stock, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got.losses, want.losses, rtol=1e-5)
    for name, stock in want.rows.items():
        np.testing.assert_allclose(got.rows[name].reshape(stock.shape), stock, rtol=1e-4, atol=1e-6, err_msg=name)
        assert not np.array_equal(stock, want.start[name]) or name not in {*moved, "kernel"}
