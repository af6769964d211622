"""Rewritten graphs that were broken on purpose: the proof fails, and names the op, the table and the line."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tensorflow as tf

from rewriter import _tf_private, move_ids, rewrite
from rewriter.proof import Difference, prove_graphs, record
from runtime import native
from tests.support.rewriter.faults import DIM, STEPS, line, op_of_table, proof_of, read

v1 = tf.compat.v1


def _difference(break_it: Any) -> Difference:
    proof = proof_of(break_it)
    assert not proof.ok
    assert proof.difference is not None
    assert str(proof.difference) in proof.summary()
    assert json.loads(proof.to_json(), parse_constant=pytest.fail)["ok"] is False
    return proof.difference


def _is(found: Difference, kind: str, step: int, tensor: str, table: str | None, source: str | None) -> None:
    seen = (found.kind, found.step, found.tensor, found.table, found.source)
    assert seen == (kind, step, tensor, table, source), found


def test_nothing_is_broken() -> None:
    proof = proof_of(lambda graph: None)
    assert proof.ok, proof.summary()
    assert proof.steps == STEPS


def test_a_lookup_that_reads_other_ids() -> None:
    def break_it(graph: tf.Graph) -> None:
        read(op_of_table(graph, "user", "RecLookupOrInsert"), 2, lambda _: graph.get_tensor_by_name("items:0"))

    found = _difference(break_it)
    _is(found, "ids", 1, "of_users:0", "user", line("users"))
    assert found.reason == "it reads `items:0` and must read `users:0`"


def test_ids_that_are_changed_on_the_way() -> None:
    found = _difference(lambda graph: read(op_of_table(graph, "item", "RecLookupOrInsert"), 2, lambda ids: ids // 2))
    _is(found, "ids", 1, "of_items:0", "item", line("items"))
    assert found.reason.endswith("and must read `items:0`")


def test_another_learning_rate() -> None:
    found = _difference(lambda graph: read(op_of_table(graph, "user", "Pack"), 0, lambda rate: rate * 1.01))
    _is(found, "touched rows", 1, "Adagrad/update_user/ResourceSparseApplyAdagrad:0", "user", line("train"))
    assert found.reason == "hyperparameter 0 (`Adagrad/learning_rate:0`) of adagrad: it is 0.101 instead of 0.1"


def test_two_tables_that_are_swapped() -> None:
    def break_it(graph: tf.Graph) -> None:
        one, two = (op_of_table(graph, table, "RecLookupOrInsert") for table in ("user", "item"))
        handles = one.inputs[0], two.inputs[0]
        _tf_private.update_input(one, 0, handles[1])
        _tf_private.update_input(two, 0, handles[0])

    found = _difference(break_it)
    _is(found, "rows looked up", 1, "of_users:0", "user", line("users"))
    assert "reads the table `item`" in found.reason


def test_rows_of_one_table_where_those_of_another_belong() -> None:
    def break_it(graph: tf.Graph) -> None:
        rows = op_of_table(graph, "item", "RecLookupOrInsert").outputs[0]
        read(graph.get_operation_by_name("of_users/Identity"), 0, lambda _: rows)

    found = _difference(break_it)
    _is(found, "losses", 1, "of_users/Identity:0", "user", line("users"))
    assert "and must read `recmigrate/user/" in found.reason


def test_an_update_that_is_dropped() -> None:
    def break_it(graph: tf.Graph) -> None:
        update = op_of_table(graph, "item", "RecApply")
        for op in graph.get_operations():
            if update in op.control_inputs:
                _tf_private.replace_controls(op, [one for one in op.control_inputs if one is not update])

    found = _difference(break_it)
    _is(found, "touched rows", 1, "Adagrad/update_item/ResourceSparseApplyAdagrad:0", "item", line("train"))
    assert "does not run `recmigrate/item/" in found.reason


def test_a_row_that_starts_otherwise() -> None:
    def change(rows: tf.Tensor) -> tf.Tensor:
        return tf.tensor_scatter_nd_add(rows, [[7, 2]], [0.001])

    found = _difference(lambda graph: read(op_of_table(graph, "user", "RecTableUpsert"), 2, change))
    assert (found.kind, found.step, found.table) == ("initial values", 0, "user")
    assert "at [7, 2]" in found.reason
    assert found.tensor == "user/Initializer/random_normal:0"


def test_a_dense_variable_that_starts_otherwise() -> None:
    start = "weights/Assign"
    found = _difference(lambda graph: read(graph.get_operation_by_name(start), 1, lambda values: values * 1.01))
    assert (found.kind, found.step) == ("initial values", 0)


def test_an_update_of_the_dense_part_that_is_dropped() -> None:
    apply = "Adagrad/update_weights/ResourceApplyAdagrad"

    def break_it(graph: tf.Graph) -> None:
        train = graph.get_operation_by_name("Adagrad/update")
        _tf_private.replace_controls(train, [one for one in train.control_inputs if one.name != apply])

    found = _difference(break_it)
    assert found.kind == "dense variables"
    assert found.reason == f"the step of the rewritten graph does not run `{apply}`"


def test_gradients_that_are_scaled() -> None:
    found = _difference(lambda graph: read(op_of_table(graph, "user", "RecApply"), 2, lambda values: values * 2.0))
    _is(found, "gradients of rows", 1, "Adagrad/update_user/ResourceSparseApplyAdagrad:0", "user", line("train"))
    assert "and must read `gradients/" in found.reason


def test_an_update_of_other_rows() -> None:
    found = _difference(lambda graph: read(op_of_table(graph, "user", "RecApply"), 1, lambda keys: (keys + 1) % 39))
    _is(found, "updated ids", 1, "Adagrad/update_user/ResourceSparseApplyAdagrad:0", "user", line("train"))


def test_a_row_that_nobody_looks_up_and_a_step_changes() -> None:
    def break_it(graph: tf.Graph) -> None:
        update = op_of_table(graph, "user", "RecApply")
        with tf.control_dependencies([update]):
            other = native.ops().rec_table_upsert(update.inputs[0], tf.constant([39], tf.int64), tf.ones([1, DIM]))
        train = graph.get_operation_by_name("Adagrad/update")
        _tf_private.replace_controls(train, [*train.control_inputs, other])

    found = _difference(break_it)
    assert (found.kind, found.step, found.table) == ("all rows at the end", STEPS, "user")
    assert found.tensor == "Adagrad/update_user/ResourceSparseApplyAdagrad:0"


def test_a_change_of_the_dense_part() -> None:
    found = _difference(lambda graph: read(graph.get_operation_by_name("scores"), 0, lambda hidden: hidden * 1.001))
    _is(found, "losses", 1, "scores:0", "user", line("scores"))
    assert found.reason.endswith("and must read `hidden:0`")


def test_another_rate_of_the_dense_part() -> None:
    apply = "Adagrad/update_weights/ResourceApplyAdagrad"
    found = _difference(lambda graph: read(graph.get_operation_by_name(apply), 2, lambda rate: rate * 2.0))
    _is(found, "dense variables", 1, f"{apply}:0", "user", line("train"))


def test_a_dataset_that_computes_other_ids() -> None:
    with tf.Graph().as_default() as graph:
        numbers = tf.data.Dataset.range(1000).repeat().batch(8)
        ids = tf.math.floormod(v1.data.make_one_shot_iterator(numbers).get_next(), 50, name="modulo")
        table = v1.get_variable("user", [50, DIM])
        loss = tf.reduce_sum(v1.nn.embedding_lookup(table, ids) ** 2)
        train = v1.train.AdamOptimizer(0.1).minimize(loss)
        original, plan, pipeline = graph.as_graph_def(), rewrite(graph), move_ids(graph)
        assert len(pipeline.moved) == 1
        moved = graph.as_graph_def()
        nodes = [node for one in moved.library.function for node in one.node_def if node.op == "Const"]
        (fifty,) = [node for node in nodes if tf.make_ndarray(node.attr["value"].tensor).size == 1 and _is_fifty(node)]
        for broken in (False, True):
            if broken:
                fifty.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(40, tf.int64))
            recording = record(original, moved, [loss.name, train.name], [{}] * 8)
            proof = prove_graphs(original, moved, plan, recording, pipeline, graph)
            assert proof.ok is not broken, proof.summary()
    found = proof.difference
    assert found is not None
    assert (found.kind, found.step, found.tensor, found.table) == ("ids", 6, "modulo:0", "user")
    assert found.reason.startswith("the dataset computes it as `recmigrate/ids/IteratorGetNext:1`: it is 0 at [0]")
    assert "proof/test_faults.py" in str(found.source)


def _is_fifty(node: Any) -> bool:
    return bool(tf.make_ndarray(node.attr["value"].tensor).item() == 50)


def test_a_fault_that_shows_only_later() -> None:
    """The rate is right in the first step: the fault is found in the second, on the state that the first left."""

    def change(rate: tf.Tensor) -> tf.Tensor:
        step = tf.cast(v1.train.get_global_step(), tf.float32)
        return rate * (1.0 + tf.minimum(step, 1.0))

    found = _difference(lambda graph: read(op_of_table(graph, "item", "Pack"), 0, change))
    assert (found.step, found.kind, found.table) == (2, "touched rows", "item")
    assert "it is 0.2 instead of 0.1" in found.reason


def test_a_rewritten_graph_that_fails() -> None:
    found = _difference(lambda graph: read(op_of_table(graph, "user", "RecApply"), 0, lambda handle: handle + 10**6))
    _is(found, "the run", 1, "Adagrad/update_user/ResourceSparseApplyAdagrad", "user", line("train"))
    assert found.reason.startswith("the rewritten graph fails at `recmigrate/user/")


@pytest.mark.parametrize("starts", [0.2])
def test_slots_that_start_otherwise(starts: float) -> None:
    def break_it(graph: tf.Graph) -> None:
        op_of_table(graph, "user", "RecApply")._set_attr(
            "starts", v1.AttrValue(list=v1.AttrValue.ListValue(f=[starts]))
        )

    found = _difference(break_it)
    _is(found, "touched rows", 1, "Adagrad/update_user/ResourceSparseApplyAdagrad:0", "user", line("train"))
