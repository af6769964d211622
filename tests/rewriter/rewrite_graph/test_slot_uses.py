"""Who else reads or writes slots of a variable, starts them anew, or composes steps of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from rewriter import GraphModifierHook, rewrite
from rewriter.plan.plan import Plan
from runtime.native.update_rules import sets_of
from runtime.table.create import tables
from tests.support.rewriter.compare import DIM, ROWS, Inputs, head, loss_of, variable
from tests.support.rewriter.models import OPTIMIZERS
from tests.support.rewriter.row_optimizers import OPTIMIZERS as ROW_OPTIMIZERS
from tests.support.rewriter.row_optimizers import LazyAdam

v1 = tf.compat.v1
#: Given a slot, the training step and a placeholder, returns the training step and what is run after every fifth.
Use = Callable[[Any, Any, Any], tuple[Any, Any]]


def _after(step: Any, build: Callable[[], Any]) -> Any:
    with tf.control_dependencies([step]):
        return build()


def _zeros() -> Any:
    return tf.zeros([ROWS, DIM])


def _op(given: Any) -> Any:
    return getattr(given, "op", given)


#: Uses that a table follows.
SERVED: dict[str, Use] = {
    "an assignment run by itself": lambda slot, step, _: (step, _op(v1.assign(slot, _zeros()))),
    "its value": lambda slot, step, _: (step, v1.assign(slot, _zeros())),
    "the initializer": lambda slot, step, _: (step, slot.initializer),
    "a group in a group": lambda slot, step, _: (step, tf.group(tf.group(slot.initializer), tf.no_op())),
    "after the step": lambda slot, step, _: (_after(step, lambda: _op(v1.assign(slot, _zeros()))), tf.no_op()),
    "in a branch": lambda slot, step, on: (step, _branch(on, slot)),
}
#: Uses that keep the variable, with the type of the op that the reason names.
KEPT: dict[str, tuple[Use, str]] = {
    "rows of it are set": (
        lambda slot, step, _: (step, _op(v1.scatter_update(slot, tf.range(5), tf.ones([5, DIM])))),
        "ScatterUpdate",
    ),
    "it is halved": (lambda slot, step, _: (step, _op(v1.assign(slot, slot * 0.5))), "Assign"),
    "it is read": (lambda slot, step, _: (step, tf.reduce_sum(slot)), "Sum"),
    "a read of it is awaited": (
        lambda slot, step, _: (step, _after(slot.read_value().op, lambda: tf.constant(1.0))),
        "Const",
    ),
    "a branch of v2": (
        lambda slot, step, on: (step, v1.cond(on, lambda: tf.reduce_sum(slot), lambda: tf.constant(0.0))),
        "",  # the type is `If`, or that of the read before it
    ),
    "a function": (lambda slot, step, _: (step, tf.function(lambda: tf.reduce_sum(slot))()), "PartitionedCall"),
}


def _start(slot: Any) -> Any:
    with tf.control_dependencies([_op(v1.assign(slot, _zeros()))]):
        return tf.constant(1)


def _branch(on: Any, slot: Any) -> Any:
    v1.disable_control_flow_v2()
    try:
        return v1.cond(on, lambda: _start(slot), lambda: tf.constant(0))
    finally:
        v1.enable_control_flow_v2()


def _full(name: str, value: float) -> Any:
    return v1.get_variable(name, [ROWS, DIM], initializer=v1.constant_initializer(value), use_resource=True)


def _losses(use: Use, moved: bool, use_resource: bool) -> tuple[Any, Any]:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        table, on = variable(use_resource=use_resource), v1.placeholder_with_default(True, [])
        loss = loss_of(tf.reshape(v1.nn.embedding_lookup(table, inputs.features["ids"]), [-1, 3 * DIM]), inputs.labels)
        trainer = OPTIMIZERS["momentum"]()
        step = trainer.minimize(loss)
        step, then = use(trainer.get_slot(table, trainer.get_slot_names()[0]), step, on)
        start = v1.global_variables_initializer()
        plan = rewrite(graph) if moved else None
        session.run(start)
        found = []
        for number, feed in enumerate(inputs.feeds(15)):
            found.append(session.run([loss, step], feed)[0])
            if number % 5 == 4:
                session.run(then, {on: number % 2 == 0})
        return np.array(found), plan


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("use", SERVED.values(), ids=SERVED)
def test_what_starts_a_slot_again_starts_that_of_the_table(use: Use, use_resource: bool) -> None:
    (stock, _), (moved, plan) = (_losses(use, one, use_resource) for one in (False, True))
    assert [table.name for table in plan.tables] == ["user"], plan.summary()
    np.testing.assert_allclose(moved, stock, rtol=1e-5)
    plain, _ = _losses(lambda slot, step, _: (step, tf.no_op()), False, use_resource)
    assert np.abs(plain - stock).max() > 1e-3, "the program would not notice"


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize(("use", "kind"), KEPT.values(), ids=KEPT)
def test_what_else_uses_a_slot_keeps_the_variable(use: Use, kind: str, use_resource: bool) -> None:
    (stock, _), (moved, plan) = (_losses(use, one, use_resource) for one in (False, True))
    assert not plan.tables
    (refusal,) = (one for one in plan.refusals if one.table == "user")
    assert "its slot `user/" in refusal.reason and kind in refusal.reason
    np.testing.assert_array_equal(moved, stock)


def test_tables_that_share_a_slot_stay() -> None:
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int64, [None])
        tables = [variable(name) for name in ("user", "item")]
        shared = _full("shared", 0.1)
        loss = sum(tf.reduce_sum(v1.nn.embedding_lookup(one, ids) ** 2) for one in tables)
        for one, gradient in zip(tables, tf.gradients(loss, tables), strict=True):
            indices, number = tf.unique(gradient.indices)
            summed = tf.math.unsorted_segment_sum(gradient.values, number, tf.size(indices))
            tf.raw_ops.ResourceSparseApplyAdagrad(
                var=one.handle, accum=shared.handle, grad=summed, indices=indices, lr=0.1
            )
        plan = rewrite(graph)
    assert not plan.tables
    assert {one.table: "its slot `shared`" in one.reason for one in plan.refusals} == {"user": True, "item": True}


def _losses_with_slots_anew(moved: bool, optimizer: str, ends: tuple[str, ...], use_resource: bool = True) -> Any:
    """Train, start the slots of `user` with these endings anew after ten steps, and go on."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        user = variable(use_resource=use_resource)
        rows = tf.reshape(v1.nn.embedding_lookup(user, inputs.features["ids"], "mod"), [-1, 3 * DIM])
        loss, step = head(rows, inputs.labels, OPTIMIZERS[optimizer]())
        slots = [one for one in v1.global_variables() if one.op.name.startswith("user/") and _ends(one, ends)]
        others = [one for one in v1.global_variables() if not any(one is slot for slot in slots)]
        assert len(slots) == len(ends)
        anew, first = v1.variables_initializer(slots), v1.variables_initializer(others)
        assert not moved or [table.name for table in rewrite(graph).tables] == ["user"]
        session.run([anew, first])
        found = []
        for number, feed in enumerate(inputs.feeds(25)):
            if number == 10:
                session.run(anew)
            found.append(session.run([loss, step], feed)[0])
        return np.array(found)


def _ends(one: Any, ends: tuple[str, ...]) -> bool:
    return one.op.name.endswith(ends)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize(
    ("optimizer", "ends"),
    [
        ("adagrad", ("/Adagrad",)),
        ("adam", ("/Adam", "/Adam_1")),
        ("adam", ("/Adam",)),
        ("adam", ("/Adam_1",)),
        ("rmsprop_centered", ("/RMSProp", "/RMSProp_1", "/RMSProp_2")),
        ("rmsprop_centered", ("/RMSProp_1",)),
        ("ftrl", ("/Ftrl", "/Ftrl_1")),
    ],
)
def test_slots_start_anew(optimizer: str, ends: tuple[str, ...], use_resource: bool) -> None:
    stock, moved = (_losses_with_slots_anew(one, optimizer, ends, use_resource) for one in (False, True))
    np.testing.assert_allclose(moved, stock, rtol=1e-5)


train = v1.train
STEPS = 12


def _trained(
    optimizers: Sequence[Any], moved: bool, use_resource: bool
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]], Plan | None]:
    """Train by turns; return losses, and rows and slots at the end by their names."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        user = variable(use_resource=use_resource)
        rows = v1.nn.embedding_lookup(user, inputs.features["ids"])
        losses = [loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels), tf.reduce_mean(tf.abs(rows - 0.5))]
        turns = [_step(one(), of) for one, of in zip(optimizers, losses, strict=False)]
        plan = rewrite(graph) if moved else None
        assert plan is None or ([table.name for table in plan.tables], plan.refusals) == (["user"], ()), plan.summary()
        session.run(v1.global_variables_initializer())
        found = [session.run([losses, turns[n % len(turns)]], feed)[0] for n, feed in enumerate(inputs.feeds(STEPS))]
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


PAIRS: dict[str, tuple[Any, Any]] = {
    "two lazy Adams": (lambda: LazyAdam(0.02), lambda: LazyAdam(0.05)),
    "Adam and lazy Adam": (lambda: train.AdamOptimizer(0.02), ROW_OPTIMIZERS["lazy Adam"]),
    "lazy AdamW and Adagrad": (ROW_OPTIMIZERS["lazy AdamW"], lambda: train.AdagradOptimizer(0.1)),
    "AdamW and squares": (ROW_OPTIMIZERS["AdamW"], ROW_OPTIMIZERS["squares of rows"]),
}


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_two_optimizers_have_slots_of_their_own(pair: tuple[Any, Any], use_resource: bool) -> None:
    losses, state, _ = _trained(pair, False, use_resource)
    moved, rows, plan = _trained(pair, True, use_resource)
    assert plan is not None and len(plan.tables[0].optimizers) == 2
    np.testing.assert_allclose(moved, losses, rtol=1e-5, atol=1e-7)
    assert sorted(rows) == sorted(state)
    for name, expected in state.items():
        np.testing.assert_allclose(rows[name], expected, rtol=1e-5, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("name", ["lazy Adam, added", "squares of rows", "trust ratio of rows"])
def test_a_proof_finds_no_difference(name: str) -> None:
    hook = GraphModifierHook(verify=4)
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        inputs = Inputs.make()
        rows = v1.nn.embedding_lookup(variable(), inputs.features["ids"])
        loss = loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels)
        step = ROW_OPTIMIZERS[name]().minimize(loss, train.get_or_create_global_step())
        with train.MonitoredSession(hooks=[hook]) as session:
            for feed in inputs.feeds(6):
                session.run([loss, step], feed)
    assert hook.proof is not None and hook.proof.ok, hook.proof


def test_a_write_that_only_the_program_runs_keeps_the_variable() -> None:
    with tf.Graph().as_default() as graph:
        user = variable()
        v1.nn.embedding_lookup(user, v1.placeholder(tf.int64, [None]))
        v1.scatter_update(user, [0], tf.zeros([1, DIM]), name="padding")
        (refusal,) = rewrite(graph).refusals
    assert "no op depends on `padding`" in refusal.reason and "tf.group" in refusal.reason


def test_a_term_over_all_rows_beside_a_write_keeps_the_variable() -> None:
    with tf.Graph().as_default() as graph:
        user = variable()
        rows = v1.nn.embedding_lookup(user, v1.placeholder(tf.int64, [None]))
        step = train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows) + tf.nn.l2_loss(user))
        with tf.control_dependencies([step]):
            tf.group(v1.scatter_update(user, [0], tf.zeros([1, DIM])))
        (refusal,) = rewrite(graph).refusals
    assert "the loss has a term over all rows, so the order of the two matters" in refusal.reason
