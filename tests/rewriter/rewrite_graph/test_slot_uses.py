"""Who else reads or writes the slots of a variable: it is followed, or keeps the variable by a reason that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.compare import DIM, ROWS, Inputs, loss_of, variable
from tests.support.rewriter.models import OPTIMIZERS

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
    "another number is assigned": (lambda slot, step, _: (step, _op(v1.assign(slot, _zeros() + 0.5))), "Assign"),
    "it is read": (lambda slot, step, _: (step, tf.reduce_sum(slot)), "Sum"),
    "a read of it is awaited": (
        lambda slot, step, _: (step, _after(slot.read_value().op, lambda: tf.constant(1.0))),
        "Const",
    ),
    "a summary": (lambda slot, step, _: (step, v1.summary.histogram("slot", slot)), "HistogramSummary"),
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


def _losses(use: Use, moved: bool, use_resource: bool, optimizer: str = "momentum") -> tuple[Any, Any]:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        table, on = variable(use_resource=use_resource), v1.placeholder_with_default(True, [])
        loss = loss_of(tf.reshape(v1.nn.embedding_lookup(table, inputs.features["ids"]), [-1, 3 * DIM]), inputs.labels)
        trainer = OPTIMIZERS[optimizer]()
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
