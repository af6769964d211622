"""Rewritten graphs that were broken on purpose: the proof fails, and names the op, the table and the line."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tensorflow as tf

from rewriter import _tf_private, move_ids, rewrite
from rewriter.proof import prove_graphs, record
from runtime import native
from tests.support.rewriter.faults import DIM, STEPS, line, op_of_table, proof_of, read

v1 = tf.compat.v1


def _input(table: str, kind: str, number: int, make: Any) -> Any:
    """Return what lets an input of the table's first op of a type read what `make` makes of it."""
    return lambda graph: read(op_of_table(graph, table, kind), number, make)


def _op_input(op: str, number: int, make: Any) -> Any:
    return lambda graph: read(graph.get_operation_by_name(op), number, make)


def _other_ids(graph: tf.Graph) -> None:
    read(op_of_table(graph, "user", "RecLookupOrInsert"), 2, lambda _: graph.get_tensor_by_name("items:0"))


def _swapped(graph: tf.Graph) -> None:
    one, two = (op_of_table(graph, table, "RecLookupOrInsert") for table in ("user", "item"))
    handles = one.inputs[0], two.inputs[0]
    _tf_private.update_input(one, 0, handles[1])
    _tf_private.update_input(two, 0, handles[0])


def _rows_of_another(graph: tf.Graph) -> None:
    rows = op_of_table(graph, "item", "RecLookupOrInsert").outputs[0]
    read(graph.get_operation_by_name("of_users/Identity"), 0, lambda _: rows)


def _dropped(graph: tf.Graph) -> None:
    update = op_of_table(graph, "item", "RecApply")
    for op in graph.get_operations():
        if update in op.control_inputs:
            _tf_private.replace_controls(op, [one for one in op.control_inputs if one is not update])


def _dense_dropped(graph: tf.Graph) -> None:
    train = graph.get_operation_by_name("Adagrad/update")
    _tf_private.replace_controls(train, [one for one in train.control_inputs if one.name != DENSE])


def _stray_row(graph: tf.Graph) -> None:
    update = op_of_table(graph, "user", "RecApply")
    with tf.control_dependencies([update]):
        other = native.ops().rec_table_upsert(update.inputs[0], tf.constant([39], tf.int64), tf.ones([1, DIM]))
    train = graph.get_operation_by_name("Adagrad/update")
    _tf_private.replace_controls(train, [*train.control_inputs, other])


def _later(rate: tf.Tensor) -> tf.Tensor:
    """Make the rate twice as large from the second step on, on the state that the first left."""
    return rate * (1.0 + tf.minimum(tf.cast(v1.train.get_global_step(), tf.float32), 1.0))


def _other_slots(graph: tf.Graph) -> None:
    starts = v1.AttrValue(list=v1.AttrValue.ListValue(f=[0.2]))
    op_of_table(graph, "user", "RecApply")._set_attr("starts", starts)


DENSE = "Adagrad/update_weights/ResourceApplyAdagrad"
USER, ITEM = (f"Adagrad/update_{table}/ResourceSparseApplyAdagrad:0" for table in ("user", "item"))
#: what is broken: how, and the kind, step, tensor, table, line and reason that the proof tells
FAULTS: dict[str, tuple[Any, str, int, str, str, str, str]] = {
    "a lookup of other ids": (
        *(_other_ids, "ids", 1, "of_users:0", "user", "users"),
        "it reads `items:0` and must read `users:0`",
    ),
    "another rate": (
        *(_input("user", "Pack", 0, lambda rate: rate * 1.01), "touched rows", 1, USER, "user", "train"),
        "hyperparameter 0 (`Adagrad/learning_rate:0`) of adagrad: it is 0.101 instead of 0.1",
    ),
    "another rate later": (
        *(_input("item", "Pack", 0, _later), "touched rows", 2, ITEM, "item", "train"),
        "it is 0.2 instead of 0.1",
    ),
    "two tables are swapped": (
        *(_swapped, "rows looked up", 1, "of_users:0", "user", "users"),
        "reads the table `item`",
    ),
    "rows of another table": (
        *(_rows_of_another, "losses", 1, "of_users/Identity:0", "user", "users"),
        "and must read `recmigrate/user/",
    ),
    "an update is dropped": (_dropped, "touched rows", 1, ITEM, "item", "train", "does not run `recmigrate/item/"),
    "a row starts otherwise": (
        _input("user", "RecTableUpsert", 2, lambda rows: tf.tensor_scatter_nd_add(rows, [[7, 2]], [0.001])),
        *("initial values", 0, "user/Initializer/random_normal:0", "user", "", "at [7, 2]"),
    ),
    "a dense variable starts otherwise": (
        *(_op_input("weights/Assign", 1, lambda values: values * 1.01), "initial values", 0, "", "", "", ""),
    ),
    "a dense update is dropped": (
        *(_dense_dropped, "dense variables", 1, "", "", "", f"the step of the rewritten graph does not run `{DENSE}`"),
    ),
    "scaled gradients": (
        *(_input("user", "RecApply", 2, lambda values: values * 2.0), "gradients of rows", 1, USER, "user", "train"),
        "and must read `gradients/",
    ),
    "an update of other rows": (
        *(_input("user", "RecApply", 1, lambda keys: (keys + 1) % 39), "updated ids", 1, USER, "user", "train", ""),
    ),
    "a row that nobody looks up": (_stray_row, "all rows at the end", STEPS, USER, "user", "", ""),
    "the dense part": (
        *(_op_input("scores", 0, lambda hidden: hidden * 1.001), "losses", 1, "scores:0", "user", "scores"),
        "and must read `hidden:0`",
    ),
    "another dense rate": (
        *(_op_input(DENSE, 2, lambda rate: rate * 2.0), "dense variables", 1, f"{DENSE}:0", "user", "train", ""),
    ),
    "the graph fails": (
        *(_input("user", "RecApply", 0, lambda handle: handle + 10**6), "the run", 1, USER[:-2], "user", "train"),
        "the rewritten graph fails at `recmigrate/user/",
    ),
    "slots start otherwise": (_other_slots, "touched rows", 1, USER, "user", "train", ""),
}


@pytest.mark.each_case
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_where_it_begins_is_told(fault: str) -> None:
    break_it, kind, step, tensor, table, marker, reason = FAULTS[fault]
    proof = proof_of(break_it)
    found = proof.difference
    assert found is not None and not proof.ok
    assert (found.kind, found.step) == (kind, step), found
    assert tensor in ("", found.tensor) and table in ("", found.table) and reason in found.reason, found
    assert not marker or found.source == line(marker), found
    assert str(found) in proof.summary()
    assert json.loads(proof.to_json(), parse_constant=pytest.fail)["ok"] is False


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
    assert found.reason.startswith(
        "it is now computed in the dataset, as `recmigrate/ids/IteratorGetNext:1`: it is 0 at [0]"
    )
    assert "proof/test_faults.py" in str(found.source)


def _is_fifty(node: Any) -> bool:
    return bool(tf.make_ndarray(node.attr["value"].tensor).item() == 50)
