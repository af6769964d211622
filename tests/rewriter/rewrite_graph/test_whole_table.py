"""Reads of a whole variable, and terms over it: the rewritten graph has the loss and the rows of the original."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from tests.support.rewriter.compare import DIM, ROWS, Inputs, assert_same, both, head, loss_of, step_after, variable

v1 = tf.compat.v1
_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.05, 0.9),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.01, momentum=0.5),
    "centered": lambda: v1.train.RMSPropOptimizer(0.01, centered=True),
    "adam": lambda: v1.train.AdamOptimizer(0.02),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
    "adadelta": lambda: v1.train.AdadeltaOptimizer(1.0),
    "proximal": lambda: v1.train.ProximalAdagradOptimizer(0.1, 0.1, 0.001, 0.01),
    "proximal descent": lambda: v1.train.ProximalGradientDescentOptimizer(0.05, 0.001, 0.01),
    "dual": lambda: v1.train.AdagradDAOptimizer(0.1, v1.train.get_or_create_global_step(), 0.1, 0.001, 0.01),
}
_TERMS: dict[str, Callable[[Any], Any]] = {
    "l2_loss": lambda table: 0.01 * tf.nn.l2_loss(table),
    "product": lambda table: 0.01 * tf.reduce_sum(table * table),
    "abs": lambda table: 0.001 * tf.reduce_sum(tf.abs(table)),
}


def _model(
    term: Callable[[Any], Any], optimizer: Callable[[], Any], use_resource: bool
) -> Callable[[Any, Any], tuple[Any, Any]]:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table = variable(use_resource=use_resource)
        rows = v1.nn.embedding_lookup(table, features["ids"])
        loss = loss_of(tf.reshape(rows, [-1, 3 * DIM]), labels) + term(table)
        return loss, step_after(loss, optimizer())

    return build


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
@pytest.mark.one_case
def test_every_optimizer(optimizer: str, use_resource: bool) -> None:
    assert_same(_model(_TERMS["l2_loss"], _OPTIMIZERS[optimizer], use_resource), "user")


def test_parts_that_terms_alone_train() -> None:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        parts, other = variable(partitioner=v1.fixed_size_partitioner(2)), variable("item")
        kept = tf.stop_gradient(v1.nn.embedding_lookup(parts, features["ids"], partition_strategy="div"))
        rows = tf.reshape(kept + v1.nn.embedding_lookup(other, features["ids"]), [-1, 3 * DIM])
        loss = loss_of(rows, labels) + 0.1 * tf.add_n([tf.nn.l2_loss(part) for part in parts])
        return loss, step_after(loss, v1.train.AdamOptimizer(0.01))

    assert_same(build, "item", "user/part_0", "user/part_1")


def test_parts_with_terms_stay() -> None:
    with tf.Graph().as_default() as graph:
        table = variable(partitioner=v1.fixed_size_partitioner(2))
        rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]), partition_strategy="div")
        loss = tf.reduce_sum(rows**2) + 0.01 * tf.add_n([tf.nn.l2_loss(part) for part in table])
        v1.train.AdagradOptimizer(0.1).minimize(loss)
        plan = rewrite(graph)
    assert not plan.tables
    assert "the loss has a term over its part `user/part_0`" in plan.refusals[0].reason, plan.summary()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda gradient: tf.clip_by_value(gradient, -1.0, 1.0), "is neither the gradient of a lookup nor a number"),
        (lambda gradient: tf.where(gradient > 0, gradient, 0 * gradient), "is neither the gradient of a lookup"),
    ],
)
def test_a_changed_gradient_keeps_the_variable(change: Callable[[Any], Any], says: str) -> None:
    with tf.Graph().as_default() as graph:
        inputs = Inputs.make()
        table = variable()
        rows = tf.reshape(v1.nn.embedding_lookup(table, inputs.features["ids"]), [-1, 3 * DIM])
        optimizer = v1.train.AdagradOptimizer(0.1)
        gradients = optimizer.compute_gradients(loss_of(rows, inputs.labels) + tf.nn.l2_loss(table))
        optimizer.apply_gradients([(change(gradient), trained) for gradient, trained in gradients])
        plan = rewrite(graph)
    assert not plan.tables
    assert re.search(says, plan.refusals[0].reason), plan.summary()


def test_steps_that_share_the_value_of_a_term() -> None:
    """The next steps have the term of an earlier one in their loss; the rows are those of stock."""

    def trained(every: int) -> tuple[list[float], Any]:
        with tf.Graph().as_default():
            v1.set_random_seed(3)
            inputs = Inputs.make()
            loss, step = _model(tf.nn.l2_loss, _OPTIMIZERS["sgd"], True)(inputs.features, inputs.labels)
            rows = tf.identity(v1.nn.embedding_lookup(v1.global_variables()[0], tf.range(5)))
            start = v1.global_variables_initializer()
            rewrite(every=every)
            with v1.Session() as session:
                session.run(start)
                losses = [session.run([loss, step], feed)[0] for feed in inputs.feeds(6)]
                return losses, session.run(rows)

    (exact, rows), (shared, same) = trained(1), trained(3)
    assert shared[0] == pytest.approx(exact[0], rel=1e-6)
    assert max(one / other for one, other in zip(shared, exact, strict=True)) > 1.1
    np.testing.assert_allclose(same, rows, rtol=1e-6)


def test_every_is_a_positive_number() -> None:
    with pytest.raises(ValueError, match="every"):
        GraphModifierHook(every=0)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="every"):
        rewrite(every=0)


@pytest.mark.parametrize("term", ["l2_loss", "product", "abs"])
@pytest.mark.parametrize("inside", [True, False], ids=["gradients wait", "their copies wait"])
def test_a_step_that_waits_for_the_loss_does_so_where_a_term_alone_trains(term: str, inside: bool) -> None:
    """No gradient of a lookup orders them: only the wait does, at the first constant of the gradient or at its end."""
    with tf.Graph().as_default() as graph:
        table = variable()
        rows = tf.stop_gradient(v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None])))
        loss = 0.5 * (tf.reduce_sum(rows) + _TERMS[term](table))
        optimizer = v1.train.MomentumOptimizer(0.05, 0.9)
        if inside:
            step_after(loss, optimizer)
        else:
            pairs = optimizer.compute_gradients(loss)
            with tf.control_dependencies([loss]):
                optimizer.apply_gradients([(tf.identity(gradient), one) for gradient, one in pairs])
        assert rewrite(graph).tables
        ops = [op for op in graph.get_operations() if "/whole/" not in op.name]  # what a session fetches of it
        lookups, updates = ([op for op in ops if op.type == kind] for kind in _ORDERED)
    assert len(lookups) == len(updates) == 1
    assert lookups[0] in _before(updates[0])


_ORDERED = ("RecLookup", "RecApply")


def _before(op: Any) -> set[Any]:
    found, pending = set(), [op]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += [*one.control_inputs, *(given.op for given in one.inputs)]
    return found


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("read_first", [True, False])
def test_control_edges_order_reads_and_steps_as_before(use_resource: bool, read_first: bool) -> None:
    """A value that is read before the step is that of before; one that is read after it has its update."""

    def build(ids: Any, labels: Any) -> tuple[Any, Any]:
        table = variable(use_resource=use_resource)
        rows = v1.nn.embedding_lookup(table, ids)
        before = tf.reduce_sum(table.read_value(), 1)
        with tf.control_dependencies([before] if read_first else []):
            _, step = head(tf.reshape(rows, [-1, 3 * DIM]), labels, v1.train.AdagradOptimizer(0.5))
        with tf.control_dependencies([step]):
            after = tf.reduce_sum(table.read_value(), 1)
        return [before, after] if read_first else [after], step

    stock, moved, plan = both(build, steps=4)
    assert plan.tables
    np.testing.assert_allclose(moved, stock, rtol=1e-5, atol=1e-6)


def test_an_evaluation_graph_scores_all_rows(graph: tf.Graph) -> None:
    table = variable()
    rows = v1.nn.embedding_lookup(table, [1, 2])
    scores = tf.matmul(rows, table, transpose_b=True)
    tf.matmul(rows, table, transpose_b=True)
    (moved,) = rewrite(graph).tables
    assert {read.op for read in moved.reads} == {"MatMul", "MatMul_1"}
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        one, other = session.run([scores, rows])
        assert one.shape == (2, ROWS)
        np.testing.assert_allclose(one[:, 1:3], other @ other.T, rtol=1e-5)


def _full_softmax(table: Any, rows: Any, labels: Any) -> Any:
    logits = tf.matmul(rows[:, 0], table, transpose_b=True)
    return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _held_constant(table: Any, rows: Any, labels: Any) -> Any:
    return tf.reduce_sum(tf.matmul(rows[:, 0], tf.stop_gradient(table), transpose_b=True) ** 2)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("loss", [_full_softmax, _held_constant])
def test_what_the_loss_depends_on_keeps_the_variable(
    graph: tf.Graph, loss: Callable[..., Any], use_resource: bool
) -> None:
    inputs = Inputs.make()
    table = variable(use_resource=use_resource)
    rows = v1.nn.embedding_lookup(table, inputs.features["ids"])
    more = loss(table, rows, inputs.features["ids"][:, 1])
    v1.train.AdagradOptimizer(0.1).minimize(loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels) + more)
    (refusal,) = rewrite(graph).refusals
    assert re.match("(MatMul|StopGradient) `.*` uses the whole variable", refusal.reason), refusal


@pytest.mark.parametrize("write", [v1.scatter_update, v1.scatter_nd_update], ids=["scatter", "scatter_nd"])
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_what_writes_to_it_keeps_the_variable(graph: tf.Graph, write: Any, use_resource: bool) -> None:
    table = variable(use_resource=use_resource)
    v1.nn.embedding_lookup(table, [1])
    write(table, [[1]] if write is v1.scatter_nd_update else [1], tf.zeros([1, DIM]))
    assert not rewrite(graph).tables
