"""Steps that a graph composes of reads and writes of rows: losses, rows and slots are those of the variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from rewriter import GraphModifierHook, rewrite
from rewriter.plan.plan import Plan
from runtime.native.update_rules import sets_of
from runtime.table.create import tables
from tests.support.rewriter.compare import DIM, ROWS, Inputs, loss_of, variable
from tests.support.rewriter.row_optimizers import OPTIMIZERS, LazyAdam

v1 = tf.compat.v1
train = v1.train
STEPS = 12

FUSED: dict[str, Callable[[], Any]] = {
    "proximal Adagrad": lambda: train.ProximalAdagradOptimizer(
        0.1, l1_regularization_strength=0.002, l2_regularization_strength=0.01
    ),
    "proximal descent": lambda: train.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.002, l2_regularization_strength=0.01
    ),
    "dual averaging": lambda: train.AdagradDAOptimizer(
        0.1, train.get_or_create_global_step(), l1_regularization_strength=0.002, l2_regularization_strength=0.01
    ),
}


def _trained(
    optimizers: Sequence[Any], moved: bool, use_resource: bool, path: str = "", first: int = 0, steps: int = STEPS
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]], Plan | None]:
    """Train by turns; return losses, and rows and slots at the end by their names.

    From the checkpoint at `path` if there is one; it is written at the end if there is none.
    """
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        user = variable(use_resource=use_resource)
        rows = v1.nn.embedding_lookup(user, inputs.features["ids"])
        losses = [loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels), tf.reduce_mean(tf.abs(rows - 0.5))]
        turns = [_step(one(), of) for one, of in zip(optimizers, losses, strict=False)]
        saver = train.Saver()
        plan = rewrite(graph) if moved else None
        assert plan is None or ([table.name for table in plan.tables], plan.refusals) == (["user"], ()), plan.summary()
        session.run(v1.global_variables_initializer())
        old = train.latest_checkpoint(str(Path(path).parent)) if path else None
        if old:
            saver.restore(session, old)
        feeds = list(inputs.feeds(first + steps))[first:]
        found = [session.run([losses, turns[n % len(turns)]], feed)[0] for n, feed in enumerate(feeds)]
        if path and not old:
            saver.save(session, path)
        return np.array(found), _state(session, graph, user, plan), plan


def _step(optimizer: Any, loss: Any) -> Any:
    """Return the step of a loss; a decay would else run before or after the lookups, as it comes."""
    with tf.control_dependencies([loss]):
        pairs = [(tf.identity(one), of) for one, of in optimizer.compute_gradients(loss) if one is not None]
    return optimizer.apply_gradients(pairs, train.get_or_create_global_step())


def _state(session: Any, graph: tf.Graph, user: Any, plan: Plan | None) -> dict[str, NDArray[np.float32]]:
    if plan is None:
        alike = [one for one in v1.global_variables() if one.shape == user.shape]
        return {one.op.name: session.run(one) for one in alike}
    (table,) = tables(graph)
    keys, values, slots, meta = session.run(table.snapshot())
    order = np.argsort(keys)
    assert list(keys[order]) == list(range(ROWS))
    optimizers = plan.tables[0].optimizers
    order_of_sets = [number for number, _ in sets_of(int(meta[4]))] if len(optimizers) > 1 else range(len(optimizers))
    names = ["user", *(slot for number in order_of_sets for slot in optimizers[number].slots)]
    return dict(zip(names, np.split(np.concatenate([values, slots], 1)[order], len(names), axis=1), strict=True))


def _assert_equal(optimizers: Sequence[Any], use_resource: bool) -> Plan:
    losses, state, _ = _trained(optimizers, False, use_resource)
    moved, rows, plan = _trained(optimizers, True, use_resource)
    np.testing.assert_allclose(moved, losses, rtol=1e-5, atol=1e-7)
    assert sorted(rows) == sorted(state)
    for name, expected in state.items():
        np.testing.assert_allclose(rows[name], expected, rtol=1e-5, atol=1e-7, err_msg=name)
    assert plan is not None
    return plan


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("name", [*OPTIMIZERS, *FUSED])
def test_rows_and_slots_are_those_of_the_variable(name: str, use_resource: bool) -> None:
    _assert_equal([(OPTIMIZERS | FUSED)[name]], use_resource)


PAIRS: dict[str, tuple[Any, Any]] = {
    "two lazy Adams": (lambda: LazyAdam(0.02), lambda: LazyAdam(0.05)),
    "Adam and lazy Adam": (lambda: train.AdamOptimizer(0.02), OPTIMIZERS["lazy Adam"]),
    "lazy AdamW and Adagrad": (OPTIMIZERS["lazy AdamW"], lambda: train.AdagradOptimizer(0.1)),
    "AdamW and squares": (OPTIMIZERS["AdamW"], OPTIMIZERS["squares of rows"]),
}


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_two_optimizers_have_slots_of_their_own(pair: tuple[Any, Any], use_resource: bool) -> None:
    plan = _assert_equal(pair, use_resource)
    assert len(plan.tables[0].optimizers) == 2


@pytest.mark.parametrize("name", ["lazy Adam, added", "squares of rows", "trust ratio of rows"])
def test_a_proof_finds_no_difference(name: str) -> None:
    hook = GraphModifierHook(verify=4)
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        inputs = Inputs.make()
        rows = v1.nn.embedding_lookup(variable(), inputs.features["ids"])
        loss = loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels)
        step = OPTIMIZERS[name]().minimize(loss, train.get_or_create_global_step())
        with train.MonitoredSession(hooks=[hook]) as session:
            for feed in inputs.feeds(6):
                session.run([loss, step], feed)
    assert hook.proof is not None and hook.proof.ok, hook.proof


def _center(rows: Any, user: Any, ids: Any) -> Any:
    return v1.scatter_sub(user, ids, 0.1 * (rows - 0.5))


def _padding(rows: Any, user: Any, ids: Any) -> Any:
    return v1.scatter_update(user, [0], tf.zeros([1, DIM]))


def _one_number(rows: Any, user: Any, ids: Any) -> Any:
    return v1.scatter_add(user, 7, tf.fill([DIM], 0.01))


def _nested(rows: Any, user: Any, ids: Any) -> Any:
    return v1.scatter_nd_update(user, tf.expand_dims(ids, 1), tf.clip_by_norm(rows, 0.3, axes=[1]))


def _written_beside(use: Any, moved: bool, use_resource: bool) -> list[Any]:
    """Train with Adagrad, then write rows; return losses and rows by step."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        user = variable(use_resource=use_resource)
        rows = v1.nn.embedding_lookup(user, inputs.features["ids"])
        loss = loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels)
        ids = inputs.features["ids"][:, 0]
        with tf.control_dependencies([_step(train.AdagradOptimizer(0.1), loss)]):
            step = tf.group(use(tf.gather(user, ids), user, ids))
        if moved:
            assert [table.name for table in rewrite(graph).tables] == ["user"]
        session.run(v1.global_variables_initializer())
        return [session.run([loss, rows, step], feed)[0] for feed in inputs.feeds(STEPS)]


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("use", [_center, _padding, _one_number, _nested])
def test_writes_beside_an_optimizer(use: Any, use_resource: bool) -> None:
    stock, moved = (_written_beside(use, moved, use_resource) for moved in (False, True))
    np.testing.assert_allclose(moved, stock, rtol=1e-5)


def test_a_write_that_only_the_program_runs_keeps_the_variable() -> None:
    with tf.Graph().as_default() as graph:
        user = variable()
        v1.nn.embedding_lookup(user, v1.placeholder(tf.int64, [None]))
        v1.scatter_update(user, [0], tf.zeros([1, DIM]), name="padding")
        (refusal,) = rewrite(graph).refusals
    assert "no op waits for `padding`" in refusal.reason and "tf.group" in refusal.reason


def test_a_term_over_all_rows_beside_a_write_keeps_the_variable() -> None:
    with tf.Graph().as_default() as graph:
        user = variable()
        rows = v1.nn.embedding_lookup(user, v1.placeholder(tf.int64, [None]))
        step = train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows) + tf.nn.l2_loss(user))
        with tf.control_dependencies([step]):
            tf.group(v1.scatter_update(user, [0], tf.zeros([1, DIM])))
        (refusal,) = rewrite(graph).refusals
    assert "a term over all rows depends on what is written before" in refusal.reason
