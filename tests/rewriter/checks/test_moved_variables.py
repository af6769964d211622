"""The post-conditions on devices, colocation, collections and fetches: each finds the fault that it is for."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from rewriter import _tf_private, rewrite
from rewriter.apply.live import apply_plan
from rewriter.checks.invariants import RewriteError, check
from rewriter.checks.moved_variables import check_collections, check_readers, collections_of
from rewriter.graph.view import GraphView
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan
from tests.support.rewriter.models import build

v1 = tf.compat.v1


def _applied(graph: tf.Graph, **settings: Any) -> tuple[GraphView, Plan, dict[str, list[Any]]]:
    build(**settings)
    before, held = GraphView.of(graph), collections_of(graph)
    plan = make_plan(before)
    apply_plan(graph, plan)
    return before, plan, held


def _op_of(plan: Plan, graph: tf.Graph) -> Any:
    return graph.get_operation_by_name(plan.inputs[-1].use.op)


def test_an_edited_op_of_another_device_is_found(graph: tf.Graph) -> None:
    before, plan, _ = _applied(graph)
    _op_of(plan, graph)._set_device("/device:CPU:7")
    with pytest.raises(RewriteError, match="changed in its device, colocation or attributes"):
        check(before, GraphView.of(graph), plan)


def test_a_group_that_is_not_there_is_found(graph: tf.Graph) -> None:
    before, plan, _ = _applied(graph)
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
    before, plan, _ = _applied(graph)
    wait = next(one for one in plan.controls if set(before.controls(one.op)) - set(one.old))
    op = graph.get_operation_by_name(wait.op)
    lost = min(set(before.controls(wait.op)) - set(wait.old))
    _tf_private.replace_controls(op, [one for one in op.control_inputs if one.name != lost])
    with pytest.raises(RewriteError, match=f"`{wait.op}` no longer waits for `{lost}`"):
        check(before, GraphView.of(graph), plan)


def test_a_variable_that_is_left_in_a_collection_is_found(graph: tf.Graph) -> None:
    _, plan, held = _applied(graph)
    graph.add_to_collection("mine", next(one for one in held["variables"] if one.op.name == "model/user"))
    with pytest.raises(RewriteError, match="the collection `mine` still lists `model/user`"):
        check_collections(held, collections_of(graph), plan)


@pytest.mark.parametrize(
    "harm", [lambda items: items.pop(0), lambda items: items.reverse(), lambda items: items.clear()]
)
def test_an_item_that_a_collection_lost_is_found(graph: tf.Graph, harm: Any) -> None:
    for number in range(3):
        graph.add_to_collection("mine", number)
    _, plan, held = _applied(graph)
    harm(graph.get_collection_ref("mine"))
    with pytest.raises(RewriteError, match="the collection `mine` lost or reordered an item"):
        check_collections(held, collections_of(graph), plan)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_a_reader_that_does_not_say_that_the_variable_is_gone_is_found(graph: tf.Graph, use_resource: bool) -> None:
    before, plan, _ = _applied(graph, use_resource=use_resource)
    name = "model/user/Read/ReadVariableOp" if use_resource else "model/user"
    _tf_private.replace_controls(graph.get_operation_by_name(name), [])
    with pytest.raises(RewriteError, match=f"`{name}` reads `model/user`, which became a table, but does not raise"):
        check_readers(before, GraphView.of(graph), plan)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@pytest.mark.one_case
def test_what_reads_a_table_whole_says_what_to_do_and_all_else_is_fetched(optimizer: str, use_resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        ids, labels, *_ = build(optimizer, use_resource)
        initialize = v1.global_variables_initializer()
        ops = graph.get_operations()
        gone = ("model/user", *(one.op.name for one in v1.global_variables() if "model/user/" in one.op.name))
        plan = rewrite(graph)
        refused = []
        with v1.Session() as session:
            for op in ops:
                if not op.outputs or op.outputs[0].dtype in (tf.resource, tf.variant) or op.type == "Assert":
                    continue
                session.run(initialize)
                try:
                    session.run(op.outputs[0], {ids: [[1, 2, 3, 4, 5]], labels: [[0.5]]})
                except tf.errors.InvalidArgumentError as error:
                    assert "the variable `model/user` has become a table: fetch" in error.message or (
                        "reads a variable that has become a table: fetch `" in error.message
                    ), error
                    refused.append(op.name)
        writers = {op for update in plan.tables[0].updates for op in update.ops}
        reads = ("/read", "/Read/ReadVariableOp", "/Assign", "embedding_lookup")
        others = [one for one in refused if one not in (*gone, *writers) and not one.endswith(reads)]
        assert all("update_model/user" in one for one in others), others
        assert refused
