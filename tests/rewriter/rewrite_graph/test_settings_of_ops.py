"""Every setting of every op that a table replaces is kept, refused, or in the written list of those without effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from rewriter import rewrite
from rewriter.analysis.candidates import LOOKUPS, VARIABLES
from rewriter.analysis.unfit import KEPT, NO_EFFECT, strange_setting
from rewriter.graph.view import GraphView
from rewriter.patterns.fused import FUSED
from rewriter.plan.planner import make_plan

v1 = tf.compat.v1
ROWS, DIM = 10, 4
_OTHERS = ("ResourceScatterAdd", "ResourceScatterSub", "ScatterAdd", "ScatterSub", "AssignSubVariableOp", "AssignSub")
REPLACED = (*VARIABLES, *LOOKUPS, *FUSED, *_OTHERS, "AssignVariableOp", "Assign", "ReadVariableOp", "Identity")
_REFUSED = {"multiply_linear_by_lr"}
_LATER = {"bad_indices_policy"}  # TensorFlow 2.15 does not have it; it may give zeros for ids out of range


def _settings() -> Iterator[tuple[str, Any]]:
    for kind in REPLACED:
        definition = op_def_registry.get(kind)
        if definition is not None:
            yield from ((kind, one) for one in definition.attr if one.type not in ("type", "list(type)"))


def _other(setting: Any) -> Any:
    """Return another value than the default."""
    value = v1.AttrValue()
    value.CopyFrom(setting.default_value)
    if setting.type == "bool":
        value.b = not value.b
    elif setting.type == "int":
        value.i += 1
    elif setting.type == "string":
        value.s = b"other"
    elif setting.type == "list(string)":
        value.list.s.append(b"other")
    return value


def test_every_setting_of_every_replaced_op_is_kept_refused_or_known_to_have_no_effect() -> None:
    refused, met = set(), set()
    for kind, setting in _settings():
        met.add(setting.name)
        definition = v1.GraphDef()
        node = definition.node.add(name="op", op=kind)
        node.attr[setting.name].CopyFrom(_other(setting))
        if strange_setting(GraphView(definition), "op"):
            refused.add(setting.name)
        else:
            assert setting.name in KEPT or setting.name in NO_EFFECT
    assert refused == _REFUSED | (_LATER & met)
    assert met > NO_EFFECT.keys() - {"out_idx"}


def _trained(graph: tf.Graph, use_resource: bool = True) -> Any:
    table = v1.get_variable("user", [ROWS, DIM], use_resource=use_resource)
    rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]), name="of")
    v1.train.FtrlOptimizer(0.1).minimize(tf.reduce_sum(rows**2))
    return graph.as_graph_def(add_shapes=True)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("setting", ["multiply_linear_by_lr", "of_the_future"])
def test_a_setting_that_no_table_has_is_refused(graph: tf.Graph, setting: str, use_resource: bool) -> None:
    definition = _trained(graph, use_resource)
    (step,) = [node for node in definition.node if node.op.endswith("SparseApplyFtrl")]
    assert [one.name for one in make_plan(GraphView(definition)).tables] == ["user"]
    step.attr[setting].b = True
    plan = make_plan(GraphView(definition))
    assert plan.tables == ()
    assert (
        f"SparseApplyFtrl `{step.name}` has {setting}=True, which a table does not support" in plan.refusals[0].reason
    )


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_two_ops_of_one_variable_are_refused(graph: tf.Graph, use_resource: bool) -> None:
    with tf.Graph().as_default() as other:
        definition = _trained(other, use_resource)
    for scope in ("one", "two"):
        tf.import_graph_def(definition, name=scope)
    plan = rewrite(graph, dry_run=True)
    shared = next(node for node in definition.node if node.name == "user").attr["shared_name"].s
    if shared:
        assert plan.tables == ()
        assert "has the same shared_name: import the graph only once" in plan.refusals[0].reason
    else:  # each is a variable of its own, by its own name
        assert [one.name for one in plan.tables] == ["one/user", "two/user"]
