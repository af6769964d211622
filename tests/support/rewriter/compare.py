"""Trains a model of one's own with and without the rewriter and compares what it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rewriter import GraphModifierHook, rewrite
from rewriter.plan.plan import Plan

v1 = tf.compat.v1
ROWS, DIM, BATCH, STEPS = 60, 4, 16, 20

#: Builds a model and returns its loss and train op; it may be given the inputs below as features.
Build = Callable[[Mapping[str, Any], Any], tuple[Any, Any]]


@dataclass
class Inputs:
    """The placeholders of a graph and what is fed to them."""

    features: dict[str, Any]
    labels: Any

    @classmethod
    def make(cls) -> Inputs:
        """Make a dense feature `ids` [BATCH, 3], and sparse ones `tags`, `more` and `weights` with empty examples."""
        features = {
            "ids": v1.placeholder(tf.int64, [None, 3], "ids"),
            "tags": v1.sparse_placeholder(tf.int64, [None, None], "tags"),
            "more": v1.sparse_placeholder(tf.int64, [None, None], "more"),
            "weights": v1.sparse_placeholder(tf.float32, [None, None], "tag_weights"),
        }
        return cls(features, v1.placeholder(tf.float32, [None, 1], "labels"))

    def feeds(self, steps: int = STEPS) -> Iterator[dict[Any, Any]]:
        """Return what to feed at each step: many duplicates, and rows that come seldom."""
        random = np.random.default_rng(7)
        for _ in range(steps):
            tags, weights = _sparse(random)
            yield {
                self.features["ids"]: (ROWS * random.random((BATCH, 3)) ** 3).astype(np.int64),
                self.features["tags"]: tags,
                self.features["weights"]: weights,
                self.features["more"]: _sparse(random)[0],
                self.labels: random.normal(size=(BATCH, 1)),
            }


def _sparse(random: np.random.Generator) -> tuple[Any, Any]:
    counts = random.integers(0, 5, BATCH)
    counts[[0, -1]] = 1, 2
    indices = np.array([(row, column) for row, count in enumerate(counts) for column in range(count)], np.int64)
    values = (ROWS * random.random(len(indices)) ** 3).astype(np.int64)
    weights = random.uniform(0.5, 2.0, len(indices)).astype(np.float32)
    shape = np.array([BATCH, 5], np.int64)
    return v1.SparseTensorValue(indices, values, shape), v1.SparseTensorValue(indices, weights, shape)


def losses(build: Build, moved: bool, steps: int = STEPS) -> tuple[NDArray[np.float32], Plan | None]:
    """Train in a MonitoredSession; the hook is all the difference that `moved` makes."""
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        inputs = Inputs.make()
        loss, step = build(inputs.features, inputs.labels)
        hook = GraphModifierHook()
        with v1.train.MonitoredSession(hooks=[hook] if moved else []) as session:
            found = [session.run([loss, step], feed)[0] for feed in inputs.feeds(steps)]
    return np.array(found), hook.plan


def both(build: Callable[[Any, Any], tuple[Any, Any]], steps: int = STEPS) -> tuple[list[Any], list[Any], Plan]:
    """Return what a model computes in each step, without and with the rewrite, and the plan.

    `build` is given `ids` and labels, and returns the tensors that are compared and what else is run with them.
    """
    found: list[list[Any]] = []
    for moved in (False, True):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            v1.set_random_seed(3)
            inputs = Inputs.make()
            fetches, step = build(inputs.features["ids"], inputs.labels)
            plan = rewrite(graph, dry_run=not moved)
            session.run(v1.global_variables_initializer())
            found.append([session.run([fetches, step], feed)[0] for feed in inputs.feeds(steps)])
    return found[0], found[1], plan


def assert_same(build: Build, *tables: str, steps: int = STEPS) -> Plan:
    """Check that exactly `tables` moved and that every loss is what it was; return the plan."""
    stock, _ = losses(build, moved=False, steps=steps)
    moved, plan = losses(build, moved=True, steps=steps)
    assert plan is not None
    assert sorted(table.name for table in plan.tables) == sorted(tables), plan.summary()
    assert abs(stock[:10].mean() - stock[-10:].mean()) > 1e-3, "the model learns nothing"
    assert np.abs(stock - moved).max() <= 1e-5 * np.abs(stock).max()
    return plan


def head(hidden: Any, labels: Any, optimizer: Any) -> tuple[Any, Any]:
    """Return loss and train op of a model whose last hidden layer is `hidden` [batch, width]."""
    loss = loss_of(hidden, labels)
    return loss, optimizer.minimize(loss, v1.train.get_or_create_global_step())


def loss_of(hidden: Any, labels: Any) -> Any:
    """Return the loss of a linear model on `hidden` [batch, width]."""
    weights = v1.get_variable("head", [hidden.shape[-1], 1], initializer=v1.random_normal_initializer(stddev=0.3))
    return tf.reduce_mean(tf.square(tf.tanh(hidden) @ weights - labels))


def variable(name: str = "user", use_resource: bool = True, **further: Any) -> Any:
    """Return a variable [ROWS, DIM]."""
    starts = v1.random_normal_initializer(stddev=0.3)
    return v1.get_variable(name, [ROWS, DIM], initializer=starts, use_resource=use_resource, **further)


def step_after(loss: Any, optimizer: Any) -> Any:
    """Return the training step of a loss, which is computed first.

    Without the wait, stock TensorFlow may read a variable for the loss before its update or after it.
    """
    with tf.control_dependencies([loss]):
        pairs = [(tf.identity(gradient), trained) for gradient, trained in optimizer.compute_gradients(loss)]
    return optimizer.apply_gradients(pairs)
