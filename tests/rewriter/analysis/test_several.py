"""Variables that several optimizers train: as tables, and what keeps them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from tests.support.rewriter.compare import DIM, Inputs, loss_of, variable

v1 = tf.compat.v1
train = v1.train
PAIRS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "Adam and Adam": lambda: (train.AdamOptimizer(0.05), train.AdamOptimizer(0.02)),
    "two Adagrads": lambda: (train.AdagradOptimizer(0.1), train.AdagradOptimizer(0.5, 0.5)),
    "SGD and Adam": lambda: (train.GradientDescentOptimizer(0.1), train.AdamOptimizer(0.02)),
    "Momentum and RMSProp": lambda: (train.MomentumOptimizer(0.05, 0.9), train.RMSPropOptimizer(0.02)),
}


def _model(inputs: Inputs, optimizers: tuple[Any, ...], **settings: Any) -> tuple[Any, list[Any]]:
    rows = v1.nn.embedding_lookup(variable(**settings), inputs.features["ids"])
    loss = loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels)
    other = tf.reduce_mean(tf.abs(rows - 0.5))
    return [loss, other], [one.minimize(of) for one, of in zip(optimizers, (loss, other), strict=False)]


def _trained(make: Callable[[], tuple[Any, Any]], moved: bool, path: str, first: int, steps: int) -> list[Any]:
    """Train by turns, from the checkpoint at `path` if there is one; write it at the end if there is none."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        losses, turns = _model(inputs, make())
        saver = train.Saver()
        assert not moved or [table.name for table in rewrite(graph).tables] == ["user"]
        session.run(v1.global_variables_initializer())
        old = train.latest_checkpoint(str(Path(path).parent))
        if old:
            saver.restore(session, old)
        found = []
        for number, feed in enumerate(list(inputs.feeds(first + steps))[first:]):
            turn = number % 2 if number > 9 else 1  # the second one first, and alone
            found.append(session.run([losses, turns[turn]], feed)[0])
        if not old:
            saver.save(session, path)
        return found


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
@pytest.mark.one_case
def test_several_optimizers_train_by_turns(make: Callable[[], tuple[Any, Any]], tmp_path: Path) -> None:
    paths = [str(tmp_path / name / "saved") for name in ("stock", "moved")]
    stock, moved = (_trained(make, bool(number), path, 0, 40) for number, path in enumerate(paths))
    np.testing.assert_allclose(moved, stock, rtol=2e-5, atol=1e-6)
    # Each goes on from the checkpoint of the original, the table also from its own.
    stock = _trained(make, False, paths[0], 40, 30)
    for path in paths:
        np.testing.assert_allclose(_trained(make, True, path, 40, 30), stock, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", PAIRS)
def test_a_proof_compares_the_slots_of_both(name: str) -> None:
    hook = GraphModifierHook(verify=6)
    with tf.Graph().as_default():
        inputs = Inputs.make()
        losses, turns = _model(inputs, PAIRS[name]())
        with train.MonitoredSession(hooks=[hook]) as session:
            for number, feed in enumerate(inputs.feeds(8)):
                session.run([losses, turns[1 if number < 3 else 0]], feed)
    assert hook.proof is not None and hook.proof.ok
    (slots,) = (one.items for one in hook.proof.compared if one.kind == "slots of touched rows")
    assert len(slots) == {"two Adagrads": 2, "SGD and Adam": 2, "Momentum and RMSProp": 3}.get(name, 4), slots


KEPT: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any] | None, str]] = {
    "FTRL": (
        (train.AdamOptimizer(), train.FtrlOptimizer(0.1)),
        None,
        "FTRL writes rows from its state alone",
    ),
}


@pytest.mark.parametrize(("optimizers", "then", "why"), KEPT.values(), ids=KEPT)
def test_what_keeps_a_variable(optimizers: tuple[Any, ...], then: Callable[[Any], Any] | None, why: str) -> None:
    with tf.Graph().as_default() as graph:
        _model(Inputs.make(), optimizers)
        if then is not None:
            then(graph)
        plan = rewrite(graph, dry_run=True)
    assert not plan.tables
    assert why in plan.refusals[0].reason, plan.refusals


def test_a_term_over_all_rows_keeps_it() -> None:
    with tf.Graph().as_default() as graph:
        inputs, optimizers = Inputs.make(), PAIRS["Adam and Adam"]()
        (loss, _), _ = _model(inputs, optimizers[:1])
        user = next(one for one in v1.global_variables() if one.op.name == "user")
        optimizers[1].minimize(loss + 0.1 * tf.nn.l2_loss(user))
        plan = rewrite(graph, dry_run=True)
    assert not plan.tables and "a term over all rows" in plan.refusals[0].reason, plan.refusals


def test_a_partitioned_one_stays() -> None:
    with tf.Graph().as_default() as graph:
        inputs = Inputs.make()
        with v1.variable_scope("m", partitioner=v1.fixed_size_partitioner(2)):
            user = v1.get_variable("user", [40, DIM])
        rows = v1.nn.embedding_lookup(user, inputs.features["ids"])
        loss = loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels)
        for one in PAIRS["Adam and Adam"]():
            one.minimize(loss)
        plan = rewrite(graph, dry_run=True)
    assert not plan.tables and "it is partitioned" in plan.refusals[0].reason, plan.refusals
