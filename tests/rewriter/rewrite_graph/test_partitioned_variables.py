"""Partitioned variables become one table, whose keys are the ids: losses of the stock model, checkpoints of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.graph.view import GraphView
from rewriter.plan.explain import explain
from rewriter.plan.region import REMOVED
from rewriter.proof import prove
from tests.support.rewriter.compare import BATCH, DIM, Inputs, assert_same, head, loss_of
from tests.support.rewriter.models import OPTIMIZERS

v1 = tf.compat.v1
# No multiple of 3, 4 or 5: the first parts are longer.
ROWS = 62


def _partitioned(parts: int, use_resource: bool = True, partitioner: Any = None) -> Any:
    starts = v1.random_normal_initializer(stddev=0.3)
    with v1.variable_scope("model", partitioner=partitioner or v1.fixed_size_partitioner(parts)):
        return v1.get_variable("user", [ROWS, DIM], initializer=starts, use_resource=use_resource)


def _listed(parts: int, use_resource: bool = True, rows: int = ROWS) -> list[Any]:
    starts = v1.random_normal_initializer(stddev=0.3)
    sizes = [rows // parts + (part < rows % parts) for part in range(parts)]
    return [
        v1.get_variable(f"shard{part}", [size, DIM], initializer=starts, use_resource=use_resource)
        for part, size in enumerate(sizes)
    ]


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.one_case
def test_every_optimizer_trains_the_one_table(optimizer: str, use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        rows = v1.nn.embedding_lookup(_partitioned(3, use_resource), features["ids"], "mod")
        return head(_flat(rows), labels, OPTIMIZERS[optimizer]())

    (table,) = assert_same(build, "model/user", steps=100).tables
    assert not table.updates[0].pieces, "the gradient of the whole lookup was not found"


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.one_case
def test_a_list_of_variables_is_one_table_by_the_name_of_the_first(strategy: str, use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        rows = v1.nn.embedding_lookup(_listed(3, use_resource), features["ids"], strategy)
        return head(_flat(rows), labels, v1.train.AdagradOptimizer(0.1))

    (table,) = assert_same(build, "shard0").tables
    assert [part.name for part in table.parts] == ["shard0", "shard1", "shard2"]


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.one_case
def test_gradients_that_are_changed_part_by_part_are_put_together(strategy: str) -> None:
    def build(features: Any, labels: Any) -> Any:
        table = _partitioned(3)
        rows = [v1.nn.embedding_lookup(table, ids, strategy) for ids in (features["ids"], features["ids"] // 2)]
        loss = loss_of(_flat(rows[0]) + _flat(rows[1]), labels)
        optimizer = v1.train.AdamOptimizer(0.01)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 0.1)
        step = v1.train.get_or_create_global_step()
        return loss, optimizer.apply_gradients(zip(clipped, variables, strict=True), step)

    (table,) = assert_same(build, "model/user").tables
    assert len(table.updates[0].pieces) == 3


def test_parts_that_are_not_trained_and_new_ids(graph: tf.Graph) -> None:
    ids = v1.placeholder(tf.int64, [None])
    rows = v1.nn.embedding_lookup(_partitioned(3), ids, "div")
    plan = rewrite(graph)
    assert str(plan.tables[0].new_rows) == "normal(0, 0.3)"
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        new = session.run(rows, {ids: np.arange(ROWS, ROWS + 5000)})
    assert new.std() == pytest.approx(0.3, rel=0.05)


def _run(
    path: Path, first: int, last: int, form: str, strategy: str, optimizer: str, moved: bool, before: bool = True
) -> list[float]:
    """Train steps `first` to `last` from the checkpoint of step `first` to that of `last`."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        forms = {"parts": _partitioned, "list": _listed, "whole": lambda parts: _partitioned(1)}
        rows = v1.nn.embedding_lookup(forms[form](3), inputs.features["ids"], strategy)
        loss, step = head(_flat(rows), inputs.labels, OPTIMIZERS[optimizer]())
        saver = v1.train.Saver() if before else None
        if moved:
            assert len(rewrite(graph).tables) == 1
        saver = saver or v1.train.Saver()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            if first:
                saver.restore(session, str(path / str(first)))
            found = [session.run([loss, step], feed)[0] for feed in list(inputs.feeds(last))[first:]]
            saver.save(session, str(path / str(last)))
    return [float(one) for one in found]


@pytest.mark.parametrize("before", [True, False], ids=["saver before", "saver after"])
@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("form", ["parts", "list"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "ftrl"])
@pytest.mark.one_case
def test_training_goes_on_from_stock_and_from_the_table(
    optimizer: str, form: str, strategy: str, before: bool, tmp_path: Path
) -> None:
    model = (form, strategy, optimizer)
    stock = _run(tmp_path, 0, 30, *model, False)
    parts = _run(tmp_path, 0, 10, *model, False)
    parts += _run(tmp_path, 10, 20, *model, True, before)
    names = dict(tf.train.list_variables(str(tmp_path / "20")))
    name = {"parts": "model/user", "list": "shard0"}[form]
    assert names[f"{name}-values"] == [ROWS, DIM]
    assert names[name] == []
    assert not [one for one in names if "part_" in one or "shard1" in one]
    parts += _run(tmp_path, 20, 30, *model, True, not before)
    assert parts == pytest.approx(stock, rel=1e-5)


@pytest.mark.parametrize("forms", [("whole", "parts"), ("parts", "whole")], ids=["whole", "parts"])
@pytest.mark.one_case
def test_a_checkpoint_of_another_number_of_parts_is_read(forms: tuple[str, str], tmp_path: Path) -> None:
    first, then = forms
    _run(tmp_path, 0, 10, first, "div", "adam", False)
    stock = _run(tmp_path, 10, 20, then, "div", "adam", False)
    assert _run(tmp_path, 10, 20, then, "div", "adam", True) == pytest.approx(stock, rel=1e-5)


def _other_lengths() -> Any:
    starts = v1.random_normal_initializer(stddev=0.3)
    return [v1.get_variable(f"shard{size}", [size, DIM], initializer=starts) for size in (40, 22)]


def _one_part_alone() -> Any:
    table = _partitioned(2)
    v1.nn.embedding_lookup(next(iter(table)), [1, 2], name="alone")
    return table


def _in_two_ways() -> Any:
    table = _partitioned(2)
    v1.nn.embedding_lookup(table, [1, 2], "div")
    return table


@pytest.mark.parametrize(
    ("make", "names", "reason"),
    [
        (_other_lengths, ["shard40", "shard22"], "its parts do not have the lengths that a partitioner makes"),
        (_one_part_alone, ["model/user/part_0", "model/user/part_1"], "looks ids up in one part alone"),
        (_in_two_ways, ["model/user/part_0", "model/user/part_1"], "its lookups split ids in different ways"),
    ],
    ids=["lengths", "alone", "two ways"],
)
@pytest.mark.one_case
def test_parts_that_do_not_fit_are_tables_of_their_own(make: Any, names: Any, reason: str) -> None:
    def build(features: Any, labels: Any) -> Any:
        rows = v1.nn.embedding_lookup(make(), features["ids"] % 40, "mod")
        return head(_flat(rows), labels, v1.train.AdagradOptimizer(0.1))

    plan = assert_same(build, *names)
    assert plan.summary().count(reason) == 2


@pytest.mark.parametrize("names", [["model/user"], ["model/user/part_1"]])
def test_a_name_of_the_whole_or_of_a_part_moves_all_parts(graph: tf.Graph, names: list[str]) -> None:
    v1.nn.embedding_lookup(_partitioned(3), v1.placeholder(tf.int64, [BATCH]))
    assert "`model/user` [62, 4] becomes a table for 3 parts (mod)" in explain(GraphView.of(graph), "model/user/part_1")
    assert [table.name for table in rewrite(graph, names).tables] == ["model/user"]


def test_a_saver_of_one_part_is_a_reason(graph: tf.Graph) -> None:
    table = _partitioned(3)
    v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [BATCH]))
    v1.train.Saver([next(iter(table))])
    (refusal,) = rewrite(graph).refusals
    assert refusal.table == "model/user"
    assert "`save/SaveV2` saves or restores it without its part `model/user/part_1`" in str(refusal)


@pytest.mark.parametrize("make", [_partitioned, _listed], ids=["parts", "list"])
def test_a_second_rewrite_finds_nothing_left(graph: tf.Graph, make: Any) -> None:
    rows = v1.nn.embedding_lookup(make(3), v1.placeholder(tf.int64, [BATCH]))
    v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
    assert len(rewrite(graph).tables) == 1
    again = rewrite(graph)
    assert (again.tables, again.refusals) == ((), ())


@pytest.mark.parametrize("clipped", [False, True], ids=["whole gradient", "gradients of parts"])
@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.one_case
def test_the_proof_holds_and_every_part_is_drawn(strategy: str, clipped: bool) -> None:
    made: list[Inputs] = []

    def build() -> Any:
        made.append(Inputs.make())
        rows = v1.nn.embedding_lookup(_partitioned(3), made[-1].features["ids"], strategy)
        loss, optimizer = loss_of(_flat(rows), made[-1].labels), v1.train.AdamOptimizer(0.01)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        given = tf.clip_by_global_norm(gradients, 0.1)[0] if clipped else gradients
        return loss, optimizer.apply_gradients(zip(given, variables, strict=True))

    proof = prove(build, lambda: made[0].feeds(4), 4)
    assert proof.ok, proof.summary()
    assert {"touched rows", "slots of touched rows", "all rows at the end"} <= {one.kind for one in proof.compared}
    with tf.Graph().as_default() as graph:
        build()
        (region,) = rewrite(graph).regions
    assert {f"model/user/part_{part}" for part in range(3)} <= set(region.ops(REMOVED))
