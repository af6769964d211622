"""The region cut around a table: exactly the ops that nothing runs any more, and the parts that take their place."""

from __future__ import annotations

import subprocess
import sys

import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.plan.region import ADDED, KEPT, REMOVED, Arrow, Region
from rewriter.plan.region_cut import _BOXES
from tests.support.rewriter import traced as trace_models
from tests.support.rewriter.models import build

v1 = tf.compat.v1


def region_of(graph: tf.Graph, table: str) -> Region:
    (found,) = (region for region in rewrite(graph, dry_run=True).regions if region.table == table)
    return found


def arrows(region: Region, state: str) -> set[tuple[str, str]]:
    """Return the arrows of a state between the first ops of boxes."""
    return {
        (region.boxes[one.start].ops[0], region.boxes[one.end].ops[0]) for one in region.arrows if one.state == state
    }


def test_sgd_on_a_resource_variable(graph: tf.Graph) -> None:
    build("sgd")
    v1.global_variables_initializer()
    region = region_of(graph, "model/user")
    update = "GradientDescent/update_model/user/ResourceScatterAdd"
    dead = ["model/user/IsInitialized/VarIsInitializedOp", "model/user/Read/ReadVariableOp"]
    arithmetic = ["GradientDescent/update_model/user/Neg", "GradientDescent/update_model/user/mul"]
    removed = {op for op in region.ops(REMOVED) if op.split("/")[-1] not in ("Neg", "mul")}
    assert removed == {"model/user", *dead, "embedding_lookup", update, "model/user/Assign"}
    assert set(region.ops(REMOVED)) - removed <= set(arithmetic)
    assert region.ops(ADDED) == (
        "+model/user",
        "+model/user/lookup/0",
        "+model/user/update/0",
        "+model/user/initializer",
    )
    assert {"ids", "embedding_lookup/Identity", "model/user/Initializer/random_normal", "init"} < set(region.ops(KEPT))
    assert arrows(region, ADDED) >= {
        ("ids", "+model/user/lookup/0"),
        ("+model/user/lookup/0", "embedding_lookup/Identity"),
        ("+model/user/initializer", "init"),
    }
    assert arrows(region, REMOVED) >= {("ids", "embedding_lookup"), ("embedding_lookup", "embedding_lookup/Identity")}


def test_the_arithmetic_of_adam_and_its_slots_go_with_it(graph: tf.Graph) -> None:
    trace_models.whole_model()
    region = region_of(graph, "user")
    removed = set(region.ops(REMOVED))
    updating = {op.name for op in graph.get_operations() if op.name.startswith("Adam/update_user/")}
    rate = {"sub/x", "sub", "Sqrt", "mul", "sub_1/x", "sub_1", "truediv"}  # the table's update reads it, too
    assert updating - removed == {f"Adam/update_user/{name}" for name in (*rate, "group_deps")}
    slots = {op.name for op in graph.get_operations() if op.name.startswith("user/Adam")}
    assert slots <= removed
    assert not removed & {"beta1_power", "Adam/update_item/group_deps", "whole", "Placeholder"}
    assert {"save/SaveV2", "save/RestoreV2"} <= removed
    assert {"+saver/save/SaveV2", "+user/restore/save/RestoreV2"} <= set(region.ops(ADDED))
    assert len(region.boxes) <= 24


def test_a_pooled_lookup_stays_and_reads_the_rows(graph: tf.Graph) -> None:
    trace_models.whole_model()
    region = region_of(graph, "item")
    assert "embedding_lookup_sparse" in region.ops(KEPT)
    assert ("+item/lookup/0", "embedding_lookup_sparse") in arrows(region, ADDED)
    assert {("item/read", "embedding_lookup_sparse"), ("Placeholder_2", "embedding_lookup_sparse")} <= arrows(
        region, REMOVED
    )
    assert ("+item", "IsVariableInitialized") in arrows(region, ADDED)


def test_many_lookups_are_folded(graph: tf.Graph) -> None:
    table = v1.get_variable("table", [10, 4], use_resource=True)
    for _ in range(30):
        tf.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    region = region_of(graph, "table")
    lookups = [box for box in region.boxes if box.type == "ResourceGather"]
    assert [len(box.ops) for box in lookups] == [1, 1, 28]
    assert len(lookups) == _BOXES["lookup"]
    assert len(region.boxes) <= 24
    assert sum(len(box.ops) for box in region.boxes if box.type == "sparse_lookup") == 30


def test_every_op_is_in_one_box_and_arrows_are_between_boxes(graph: tf.Graph) -> None:
    trace_models.whole_model()
    for region in rewrite(graph, dry_run=True).regions:
        ops = [op for box in region.boxes for op in box.ops]
        assert len(ops) == len(set(ops))
        for arrow in region.arrows:
            assert arrow.start != arrow.end
            states = {region.boxes[arrow.start].state, region.boxes[arrow.end].state}
            assert states in ({KEPT}, {KEPT, arrow.state}, {arrow.state}), arrow


@pytest.mark.parametrize("kept", ["update/0", "lookup/0", "initializer"])
def test_every_part_is_reached(graph: tf.Graph, kept: str) -> None:
    build("adagrad")
    v1.global_variables_initializer()
    region = region_of(graph, "model/user")
    number = next(i for i, box in enumerate(region.boxes) if box.ops[0] == f"+model/user/{kept}")
    assert any(arrow.end == number and arrow.state == ADDED for arrow in region.arrows)
    assert any(arrow.start == number and arrow.state == ADDED for arrow in region.arrows)
    assert isinstance(region.arrows[0], Arrow)


def test_regions_and_drawings_need_no_tensorflow() -> None:
    code = "import rewriter.drawing.svg, sys; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
