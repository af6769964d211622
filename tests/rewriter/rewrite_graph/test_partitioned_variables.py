"""Partitioned variables become one table, whose keys are the ids: losses of the stock model, checkpoints of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.graph.view import GraphView
from rewriter.offline.multi_graph import judge_meta_graphs
from rewriter.plan.planner import explain
from rewriter.plan.region import REMOVED
from rewriter.proof import prove
from tests.support.rewriter.compare import BATCH, DIM, Inputs, assert_same, head, loss_of

v1 = tf.compat.v1
# No multiple of 3, 4 or 5: the first parts are longer.
ROWS = 62


def _partitioned(parts: int) -> Any:
    starts = v1.random_normal_initializer(stddev=0.3)
    with v1.variable_scope("model", partitioner=v1.fixed_size_partitioner(parts)):
        return v1.get_variable("user", [ROWS, DIM], initializer=starts, use_resource=True)


def _listed(parts: int) -> list[Any]:
    starts = v1.random_normal_initializer(stddev=0.3)
    sizes = [ROWS // parts + (part < ROWS % parts) for part in range(parts)]
    return [
        v1.get_variable(f"shard{part}", [size, DIM], initializer=starts, use_resource=True)
        for part, size in enumerate(sizes)
    ]


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


def test_parts_that_are_not_trained_and_new_ids(graph: tf.Graph) -> None:
    ids = v1.placeholder(tf.int64, [None])
    rows = v1.nn.embedding_lookup(_partitioned(3), ids, "div")
    plan = rewrite(graph)
    assert str(plan.tables[0].new_rows) == "normal(0, 0.3)"
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        new = session.run(rows, {ids: np.arange(ROWS, ROWS + 5000)})
    assert new.std() == pytest.approx(0.3, rel=0.05)


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
        (_other_lengths, ["shard40", "shard22"], "its parts do not have the numbers of rows that a partitioner makes"),
        (_one_part_alone, ["model/user/part_0", "model/user/part_1"], "looks ids up in one of its parts alone"),
        (_in_two_ways, ["model/user/part_0", "model/user/part_1"], "its lookups split ids over its parts differently"),
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


def test_a_name_of_the_whole_is_that_of_parts_in_graphs_of_a_file(graph: tf.Graph) -> None:
    v1.nn.embedding_lookup(_partitioned(3), v1.placeholder(tf.int64, [BATCH]))
    files = {tags: v1.train.export_meta_graph() for tags in ("serve", "train")}
    plans = judge_meta_graphs(files, ["model/user"])
    assert [[table.name for table in plan.tables] for plan in plans.values()] == [["model/user"]] * 2
    with pytest.raises(ValueError, match="no graph has a variable `model/item`"):
        judge_meta_graphs(files, ["model/item"])
