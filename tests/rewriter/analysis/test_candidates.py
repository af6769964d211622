"""Which variables become tables under one optimizer or more, and what their Savers hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from tests.support.rewriter.compare import DIM, Inputs, loss_of, variable
from tests.support.rewriter.models import batches, build

v1 = tf.compat.v1


def _trained(table: Any, rows: Any) -> Any:
    loss = tf.reduce_sum(tf.matmul(rows, table, transpose_b=True, name="scores"))
    return v1.train.GradientDescentOptimizer(0.1).minimize(loss)


def _along_columns(table: Any, rows: Any) -> Any:
    return tf.gather(table, [0], axis=1, name="columns")


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize(("use", "at"), [(_trained, "scores"), (_along_columns, "columns")])
def test_a_table_that_is_used_whole_stays(
    graph: tf.Graph, use: Callable[[Any, Any], Any], at: str, use_resource: bool
) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=use_resource)
    rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    use(table, rows)
    before = graph.as_graph_def()
    plan = rewrite(graph)
    assert plan.tables == ()
    (refusal,) = plan.refusals
    assert refusal.table == "user"
    assert refusal.path[0] == "user"
    assert refusal.path[-1] == at
    assert graph.as_graph_def() == before


def test_a_variable_that_no_table_could_hold_stays(graph: tf.Graph) -> None:
    v1.nn.embedding_lookup(v1.get_variable("user", [10, 4], tf.float64), v1.placeholder(tf.int64, [None]))
    (refusal,) = rewrite(graph).refusals
    assert "its type is float64, and a table holds float32" in str(refusal)


def test_an_update_that_nobody_knows_is_named(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=True)
    ids = v1.placeholder(tf.int64, [None])
    v1.nn.embedding_lookup(table, ids)
    table.assign_sub(0.1 * table, name="mine")
    (refusal,) = rewrite(graph).refusals
    assert "AssignSubVariableOp `mine` changes all its rows in a way that no optimizer of tables does" in str(refusal)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_an_optimizer_that_tables_do_not_have_is_named(graph: tf.Graph, use_resource: bool) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=use_resource)
    loss = tf.reduce_sum(v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None])) ** 2)
    (gradient,) = tf.gradients(loss, [table])
    kind = tf.raw_ops.ResourceApplyPowerSign if use_resource else tf.raw_ops.ApplyPowerSign
    slot = v1.get_variable("slot", [10, 4], use_resource=use_resource)
    given = [one.handle if use_resource else one._ref() for one in (table, slot)]
    kind(var=given[0], m=given[1], lr=0.1, logbase=1.0, sign_decay=1.0, beta=0.9, grad=tf.convert_to_tensor(gradient))
    (refusal,) = rewrite(graph).refusals
    assert refusal.reason.startswith("PowerSign `")
    assert "and tables do not have this optimizer: train it with SGD, Momentum" in refusal.reason


@pytest.mark.parametrize("tied", [True, False], ids=["tied softmax", "lookups alone"])
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_a_step_that_assigns_all_rows_keeps_the_variable(graph: tf.Graph, use_resource: bool, tied: bool) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=use_resource)
    hidden = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    scores = tf.matmul(hidden, table, transpose_b=True) if tied else hidden
    (gradient,) = tf.gradients(tf.reduce_mean(tf.nn.log_softmax(scores)), [table])
    step = table.assign(table - 0.1 * (tf.convert_to_tensor(gradient) + 0.01 * table))
    plan = rewrite(graph)
    assert not plan.tables
    assert f"`{step.op.name}` assigns all its rows at every step" in plan.refusals[0].reason
    assert "tf.nn.sampled_softmax_loss" in plan.refusals[0].reason


def test_rows_that_are_set_from_the_rows_themselves_are_no_step(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=True)
    v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    v1.assign(table, tf.nn.l2_normalize(table, 1))
    assert rewrite(graph).tables


def test_dense_variables_are_not_mentioned(graph: tf.Graph) -> None:
    tf.matmul(v1.placeholder(tf.float32, [None, 10]), v1.get_variable("weights", [10, 4], use_resource=True))
    plan = rewrite(graph)
    assert (plan.tables, plan.refusals) == ((), ())


def test_a_name_that_is_no_variable_is_an_error(graph: tf.Graph) -> None:
    with pytest.raises(ValueError, match="the graph has no variable `usr`"):
        rewrite(graph, ["usr"])


def test_a_finalized_graph_is_left_alone(graph: tf.Graph) -> None:
    v1.nn.embedding_lookup(v1.get_variable("user", [10, 4]), v1.placeholder(tf.int64, [None]))
    graph.finalize()
    with pytest.raises(
        RuntimeError, match=r"the graph is finalized: call rewriter.rewrite\(\) before the session starts"
    ):
        rewrite(graph)


def test_a_fetched_gather_that_cannot_read_the_table_says_what_to_fetch(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=True)
    gather = tf.gather(table, [1, 2])
    rows = gather + 0.0
    rewrite(graph)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(rows).shape == (2, 4)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="reads a variable that has become a table, and cannot be fetched: fetch `rec",
        ):
            session.run(gather)


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
        "FTRL computes rows from its slots alone",
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


def _plain(path: Path, first: int, last: int, moved: bool, saver_before: bool = True) -> list[float]:
    """Train steps `first` to `last` in a Session, from the checkpoint of step `first` to that of step `last`."""
    with tf.Graph().as_default() as graph:
        ids, labels, loss, step = build("adam")
        saver = v1.train.Saver() if saver_before else None
        initializer = v1.global_variables_initializer() if saver_before else None
        if moved:
            plan = rewrite(graph)
            assert [table.name for table in plan.tables] == ["model/user"]
        saver, initializer = saver or v1.train.Saver(), initializer or v1.global_variables_initializer()
        with v1.Session() as session:
            session.run(initializer)
            if first:
                saver.restore(session, str(path / str(first)))
            losses = [session.run([loss, step], {ids: one, labels: two})[0] for one, two in batches(last)[first:]]
            saver.save(session, str(path / str(last)))
    return [float(one) for one in losses]


def test_savers_built_before_and_after_read_each_others_checkpoints(tmp_path: Path) -> None:
    whole = _plain(tmp_path / "stock", 0, 9, False)
    parts = [*_plain(tmp_path, 0, 3, True), *_plain(tmp_path, 3, 6, True, saver_before=False)]
    assert [*parts, *_plain(tmp_path, 6, 9, True)] == pytest.approx(whole, rel=1e-5)


def test_a_slot_that_is_saved_without_its_variable_is_a_reason(graph: tf.Graph) -> None:
    build()
    (slot,) = (one for one in v1.global_variables() if one.op.name == "model/user/Adagrad")
    v1.train.Saver([slot])
    (refusal,) = rewrite(graph).refusals
    assert "saves or restores its slot `model/user/Adagrad` without the variable" in str(refusal)
