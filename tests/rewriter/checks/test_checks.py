"""Faults of a rewritten graph that its checks find, and a rewrite that is taken back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import tensorflow as tf

from rewriter import _tf_private, rewrite
from rewriter.apply.live import apply_plan
from rewriter.checks.invariants import RewriteError, check
from rewriter.checks.moved_variables import check_collections, check_readers, collections_of
from rewriter.facts import StaticAnswer
from rewriter.graph.view import GraphView, Use
from rewriter.plan.plan import InputEdit, Plan
from rewriter.plan.planner import make_plan
from tests.support.rewriter.models import build

v1 = tf.compat.v1


def _applied(graph: tf.Graph) -> tuple[GraphView, Plan]:
    build()
    before = GraphView.of(graph)
    plan = make_plan(before)
    apply_plan(graph, plan)
    return before, plan


def test_an_edge_that_is_left_is_found(graph: tf.Graph) -> None:
    before, plan = _applied(graph)
    use = plan.inputs[-1].use
    _tf_private.update_input(
        graph.get_operation_by_name(use.op), use.input, graph.get_tensor_by_name(plan.inputs[-1].old)
    )
    with pytest.raises(RewriteError, match=f"`{use.op}` still reads"):
        check(before, GraphView.of(graph), plan)


def test_a_control_edge_that_is_left_is_found(graph: tf.Graph) -> None:
    before, plan = _applied(graph)
    wait = next(one for one in plan.controls if one.old)
    _tf_private.replace_controls(graph.get_operation_by_name(wait.op), [graph.get_operation_by_name(wait.old[0])])
    with pytest.raises(RewriteError, match=f"`{wait.op}` still waits for"):
        check(before, GraphView.of(graph), plan)


def test_a_change_that_no_edit_asked_for_is_found(graph: tf.Graph) -> None:
    before, plan = _applied(graph)
    loss = graph.get_operation_by_name("Mean")
    _tf_private.replace_controls(loss, [graph.get_operation_by_name("ids")])
    with pytest.raises(RewriteError, match="`Mean` changed, but the plan has no such edit"):
        check(before, GraphView.of(graph), plan)


def test_a_cycle_is_found(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], "x")
    first = tf.identity(x, "first")
    second = tf.identity(first, "second")
    before = GraphView.of(graph)
    _tf_private.update_input(first.op, 0, second)
    edit = InputEdit(Use("first", 0), "x:0", "second")
    with pytest.raises(RewriteError, match="would depend on itself"):
        check(before, GraphView.of(graph), Plan((), (), (edit,), ()))


def test_a_while_loop_is_no_cycle(graph: tf.Graph) -> None:
    v1.disable_control_flow_v2()
    try:
        start = tf.identity(tf.constant(0), "start")
        v1.while_loop(lambda i: i < 3, lambda i: i + 1, [start])
        other = tf.constant(1, name="other")
    finally:
        v1.enable_control_flow_v2()
    before = GraphView.of(graph)
    assert before.of_type("NextIteration")
    _tf_private.update_input(start.op, 0, other)
    check(before, GraphView.of(graph), Plan((), (), (InputEdit(Use("start", 0), "Const:0", "other"),), ()))


def test_a_rewrite_that_fails_is_taken_back(graph: tf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    build()
    before = {node.name: node for node in graph.as_graph_def().node}
    collections = {name: list(graph.get_collection(name)) for name in graph.collections}

    def fail(*_: Any) -> None:
        raise RewriteError("no")

    monkeypatch.setattr("rewriter.rewrite_graph.check", fail)
    with pytest.raises(RewriteError, match="no"):
        rewrite(graph)
    after = {node.name: node for node in graph.as_graph_def().node}
    assert all(after[name] == node for name, node in before.items())
    assert {name: list(graph.get_collection(name)) for name in collections} == collections


def test_a_part_of_another_type_is_refused(graph: tf.Graph) -> None:
    ids, *_ = build()
    tf.identity(ids, "same")
    plan = make_plan(GraphView.of(graph))
    (table,) = plan.tables
    wrong = dataclasses.replace(table, answers=(StaticAnswer("same", "shape", (300, 4)),))
    edits = (*plan.inputs, InputEdit(Use("Tanh", 0), "Reshape:0", "model/user/shape/same"))
    before = {name: list(graph.get_collection(name)) for name in graph.collections}
    with pytest.raises(RewriteError, match="`Tanh` reads float32 at 0 and would read int64"):
        apply_plan(graph, dataclasses.replace(plan, tables=(wrong,), inputs=edits))
    assert {name: list(graph.get_collection(name)) for name in before} == before


def test_a_dry_run_changes_nothing(graph: tf.Graph) -> None:
    build()
    before = graph.as_graph_def()
    plan = rewrite(graph, dry_run=True)
    assert [table.name for table in plan.tables] == ["model/user"]
    assert "`model/user` [300, 4] becomes a table: 1 lookup (" in plan.summary()
    assert graph.as_graph_def() == before


def _moved_variables_applied(graph: tf.Graph, **settings: Any) -> tuple[GraphView, Plan, dict[str, list[Any]]]:
    build(**settings)
    before, held = GraphView.of(graph), collections_of(graph)
    plan = make_plan(before)
    apply_plan(graph, plan)
    return before, plan, held


def _op_of(plan: Plan, graph: tf.Graph) -> Any:
    return graph.get_operation_by_name(plan.inputs[-1].use.op)


def test_an_edited_op_of_another_device_is_found(graph: tf.Graph) -> None:
    before, plan, _ = _moved_variables_applied(graph)
    _op_of(plan, graph)._set_device("/device:CPU:7")
    with pytest.raises(RewriteError, match="changed in its device, colocation or attributes"):
        check(before, GraphView.of(graph), plan)


def test_a_group_that_is_not_there_is_found(graph: tf.Graph) -> None:
    before, plan, _ = _moved_variables_applied(graph)
    tf.no_op("new")._set_attr("_class", tf.compat.v1.AttrValue(list={"s": [b"loc:@nowhere"]}))
    with pytest.raises(RewriteError, match="`new` is colocated with `nowhere`, which does not exist"):
        check(before, GraphView.of(graph), plan)


def test_another_input_of_an_edited_op_is_found(graph: tf.Graph) -> None:
    build("adam")
    tables = v1.get_collection("variables")
    total = tf.add(tf.raw_ops.Shape(input=tables[0].value()), tf.constant([1, 1]), name="total")
    before = GraphView.of(graph)
    plan = make_plan(before)
    apply_plan(graph, plan)
    assert [edit.use.input for edit in plan.inputs if edit.use.op == "total"] == [0]
    check(before, GraphView.of(graph), plan)
    _tf_private.update_input(total.op, 1, tf.constant([2, 2]))
    with pytest.raises(RewriteError, match=r"the plan has no edit for input 1 of `total`, `Const.*`"):
        check(before, GraphView.of(graph), plan)


def test_a_wait_that_is_lost_is_found(graph: tf.Graph) -> None:
    before, plan, _ = _moved_variables_applied(graph)
    wait = next(one for one in plan.controls if set(before.controls(one.op)) - set(one.old))
    op = graph.get_operation_by_name(wait.op)
    lost = min(set(before.controls(wait.op)) - set(wait.old))
    _tf_private.replace_controls(op, [one for one in op.control_inputs if one.name != lost])
    with pytest.raises(RewriteError, match=f"`{wait.op}` no longer waits for `{lost}`"):
        check(before, GraphView.of(graph), plan)


def test_a_variable_that_is_left_in_a_collection_is_found(graph: tf.Graph) -> None:
    _, plan, held = _moved_variables_applied(graph)
    graph.add_to_collection("mine", next(one for one in held["variables"] if one.op.name == "model/user"))
    with pytest.raises(RewriteError, match="the collection `mine` still lists `model/user`"):
        check_collections(held, collections_of(graph), plan)


@pytest.mark.parametrize(
    "harm", [lambda items: items.pop(0), lambda items: items.reverse(), lambda items: items.clear()]
)
def test_an_item_that_a_collection_lost_is_found(graph: tf.Graph, harm: Any) -> None:
    for number in range(3):
        graph.add_to_collection("mine", number)
    _, plan, held = _moved_variables_applied(graph)
    harm(graph.get_collection_ref("mine"))
    with pytest.raises(RewriteError, match="the collection `mine` lost or reordered an item"):
        check_collections(held, collections_of(graph), plan)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_a_reader_that_does_not_say_that_the_variable_is_gone_is_found(graph: tf.Graph, use_resource: bool) -> None:
    before, plan, _ = _moved_variables_applied(graph, use_resource=use_resource)
    name = "model/user/Read/ReadVariableOp" if use_resource else "model/user"
    _tf_private.replace_controls(graph.get_operation_by_name(name), [])
    with pytest.raises(
        RewriteError, match=f"`{name}` reads `model/user`, which became a table, but does not fail when it runs"
    ):
        check_readers(before, GraphView.of(graph), plan)
