"""The region cut around a table: exactly the ops that nothing runs any more, and the parts that take their place."""

from __future__ import annotations

import subprocess
import sys

import tensorflow as tf

from rewriter import rewrite
from rewriter.plan.region import ADDED, KEPT, REMOVED, Region
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


def test_every_op_is_in_one_box_and_arrows_are_between_boxes(graph: tf.Graph) -> None:
    trace_models.whole_model()
    for region in rewrite(graph, dry_run=True).regions:
        ops = [op for box in region.boxes for op in box.ops]
        assert len(ops) == len(set(ops))
        for arrow in region.arrows:
            assert arrow.start != arrow.end
            states = {region.boxes[arrow.start].state, region.boxes[arrow.end].state}
            assert states in ({KEPT}, {KEPT, arrow.state}, {arrow.state}), arrow


def test_regions_and_drawings_need_no_tensorflow() -> None:
    code = "import rewriter.drawing.svg, sys; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
