"""Runs a model as it is, and converted for another SDK over its façade: losses and rows must agree, step by step."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tensorflow

import runtime
from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from migrate.targets import check_switches
from migrate.targets.switches import read_switches
from tests.support.table_rows import load, values

tf = tensorflow.compat.v1
STEPS = 4
HEAD = """import tensorflow.compat.v1 as tf

def build(batch):
    ids, pairs, sparse = batch["ids"], batch["pairs"], batch["sparse"]
    W = tf.get_variable("w", [20, 4], initializer=tf.random_normal_initializer(seed=4))
    b = tf.get_variable("b", [20], initializer=tf.random_uniform_initializer(-1, 1, seed=5))
    kernel = tf.get_variable("kernel", [4, 3], initializer=tf.random_normal_initializer(seed=6))
"""
TAIL = """
    loss = tf.reduce_mean(tf.tanh(tf.tensordot(out, kernel, 1)) ** 2) + 0.1 * tf.reduce_sum(out ** 2)
    {step}
    return loss, train_op
"""
MINIMIZE = "train_op = {optimizer}.minimize(loss)"
OPTIMIZERS = {
    "sgd": "tf.train.GradientDescentOptimizer(0.3)",
    "adagrad": "tf.train.AdagradOptimizer(0.3)",
    "adam": "tf.train.AdamOptimizer(0.05)",
    "momentum": "tf.train.MomentumOptimizer(0.1, 0.9)",
    "lazy_adam": "tf.contrib.opt.LazyAdamOptimizer(0.05)",
    "ftrl": "tf.train.FtrlOptimizer(0.3)",
}


@dataclass(frozen=True)
class Run:
    """What the steps showed: the losses, the rows at the end and the values at the start, by name."""

    losses: list[float]
    rows: dict[str, Any]
    start: dict[str, Any]


def model(body: str, optimizer: str = "sgd", step: str = MINIMIZE) -> str:
    """Return a module whose `build` computes `out` by `body`."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return HEAD + lines + TAIL.format(step=step.format(optimizer=OPTIMIZERS.get(optimizer, optimizer)))


def convert(text: str, target: str, assume: bool = False, **switches: object) -> SourceResult:
    """Convert with all the production checks; switches are given by their names with `_`."""
    asked = read_switches({name.replace("_", "-"): value for name, value in switches.items()})
    check_switches(target, asked)
    options = Options(target=target, switches=asked, assume=assume)
    result = convert_text("model.py", text, options, {})
    assert not [f for f in result.findings if f.state is State.FAILED], result.findings
    return result


def words(result: SourceResult) -> str:
    """All words of the findings, for searching."""
    return "\n".join(f"{f.state.value}: {f.message}: {f.reason}; {f.action}; {f.assumptions}" for f in result.findings)


def _batches() -> Any:
    """Return a seeded dataset: ids repeat, rows 2 and 5 of 6 of the sparse ids are empty."""
    random = np.random.RandomState(3)
    dataset = tf.data.Dataset.from_tensor_slices(
        {
            "ids": random.randint(20, size=(STEPS, 8)),
            "pairs": random.randint(20, size=(STEPS, 6, 3)).astype(np.int32),
            "values": random.randint(20, size=(STEPS, 8)),
        }
    )

    def with_sparse(batch: Any) -> Any:
        places = [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [3, 0], [4, 0], [4, 1]]
        batch["sparse"] = tf.SparseTensor(tf.constant(places, tf.int64), batch.pop("values"), [6, 5])
        return batch

    return dataset.map(with_sparse).prefetch(1)


def run(text: str, start: dict[str, Any] | None = None) -> Run:
    """Train on the batches; `start` gives all initial values by variable name."""
    with tf.Graph().as_default(), tf.Session() as session:
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        loss, train_op = space["build"](tf.data.make_one_shot_iterator(_batches()).get_next())
        session.run(tf.global_variables_initializer())
        made = {table.table_name: table for table in runtime.tables()}
        anchors = {id(table.variable) for table in made.values()}
        variables = {v.op.name: v for v in tf.trainable_variables() if id(v) not in anchors}
        load(session, start or {}, made, variables)
        begin = session.run(variables)
        losses = [float(session.run([loss, train_op])[0]) for _ in range(STEPS)]
        return Run(losses, values(session, made, variables), begin)


def compare(
    text: str, target: str, facade: AbstractContextManager[Any], moved: tuple[str, ...] = ("w",), assume: bool = False
) -> SourceResult:
    """Convert `text` and show that it computes the same over the façade."""
    result = convert(text, target, assume)
    made = {table.name for table in result.tables if table.verdict is State.APPLIED}
    assert made == set(moved), words(result)
    want = run(text)
    with facade:
        got = run(result.converted, want.start)
    assert len({round(loss, 5) for loss in want.losses}) == STEPS, "the losses must move, or it says nothing"
    np.testing.assert_allclose(got.losses, want.losses, rtol=1e-5)
    for name, stock in want.rows.items():
        np.testing.assert_allclose(got.rows[name].reshape(stock.shape), stock, rtol=1e-4, atol=1e-6, err_msg=name)
        assert not np.array_equal(stock, want.start[name]) or name not in {*moved, "kernel"}
    return result
