"""Graphs in files, rewritten: what is written, what keeps its bytes, and that it trains on to the same losses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import control_flow_pb2

from rewriter.checks.invariants import RewriteError
from rewriter.graph.control_flow import forget_gone
from rewriter.graph.metagraph_names import variable_in
from rewriter.graph.view import GraphView
from rewriter.offline.rewriting import Rewritten, rewrite_graph_def, rewrite_meta_graph
from tests.support import forking
from tests.support.rewriter import offline_run
from tests.support.rewriter.compare import head, variable

v1 = tf.compat.v1
_OPTIMIZERS: Mapping[str, Callable[[], Any]] = {
    "adam": lambda: v1.train.AdamOptimizer(0.01),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
}


def _build(optimizer: str = "adagrad", use_resource: bool = True) -> None:
    """Build a model with inputs `ids` [batch, 3] and `labels` [batch, 1]; loss and train op are in collections."""
    v1.set_random_seed(3)
    ids, labels = v1.placeholder(tf.int64, [None, 3], "ids"), v1.placeholder(tf.float32, [None, 1], "labels")
    table = variable(use_resource=use_resource)
    hidden = tf.reshape(v1.nn.embedding_lookup(table, ids, name="rows"), [-1, 12])
    loss, step = head(hidden, labels, _OPTIMIZERS[optimizer]())
    v1.add_to_collection("losses", loss)
    v1.add_to_collection("train_op", step)


def _meta(build: Callable[[], Any] = _build) -> Any:
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        build()
        built = v1.train.Saver().saver_def
        v1.global_variables_initializer()
        return v1.train.export_meta_graph(saver_def=built)


def _train(meta: Path, checkpoint: Path | str, target: Path) -> list[float]:
    done = forking.run(offline_run.__file__, meta, checkpoint, "15", target)
    assert done.returncode == 0, done.stderr[-3000:]
    losses: list[float] = json.loads(done.stdout.splitlines()[-1])
    return losses


def _write(path: Path, message: Any) -> Path:
    path.write_bytes(message.SerializeToString())
    return path


def _bytes(message: Any) -> bytes:
    return bytes(message.SerializeToString(deterministic=True))


def _assert_kept(source: Any, done: Rewritten) -> None:
    """Check against the source, without the code's own checks, that all that is not edited has its bytes."""
    edits = {edit.use.op for edit in done.plan.inputs} | {wait.op for wait in done.plan.controls}
    allowed = done.pruned.removed | done.pruned.replaced | done.pruned.edited | edits
    now = {node.name: node for node in done.content.graph_def.node}
    for node in source.graph_def.node:
        assert node.name in allowed or _bytes(now[node.name]) == _bytes(node)
    assert not done.pruned.removed & now.keys()
    texts = str(done.content.collection_def) + str(done.content.saver_def) + str(done.content.signature_def)
    for op in done.pruned.removed:
        assert f'"loc:@{op}"' not in str(done.content.graph_def)
        assert f'"{op}"' not in texts
        assert f'"{op}:0"' not in texts


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
@pytest.mark.one_case
def test_a_meta_graph_trains_on_to_the_same_losses(optimizer: str, use_resource: bool, tmp_path: Path) -> None:
    source = _meta(lambda: _build(optimizer, use_resource))
    done = rewrite_meta_graph(source)
    assert [table.name for table in done.plan.tables] == ["user"]
    _assert_kept(source, done)
    stock, moved = _write(tmp_path / "stock.meta", source), _write(tmp_path / "moved.meta", done.content)
    first = _train(stock, "-", tmp_path / "stock")
    whole = first + _train(stock, tmp_path / "stock", tmp_path / "stock2")
    assert _train(moved, "-", tmp_path / "moved") == pytest.approx(first, rel=1e-5)
    assert _train(moved, tmp_path / "stock", tmp_path / "old") == pytest.approx(whole[15:], rel=1e-5)
    assert _train(moved, tmp_path / "moved", tmp_path / "new") == pytest.approx(whole[15:], rel=1e-5)
    assert ["user-values" in dict(tf.train.list_variables(str(tmp_path / one))) for one in ("old", "new")] == [True] * 2


def test_the_variable_and_its_slots_are_gone() -> None:
    source = _meta(lambda: _build("adam"))
    done = rewrite_meta_graph(source)
    left = {node.name for node in done.content.graph_def.node}
    slots = [f"user{part}" for part in ("", "/Adam", "/Adam_1", "/Assign", "/Adam/Assign", "/Read/ReadVariableOp")]
    assert not left & {*slots, "save/SaveV2", "save/RestoreV2", "Adam/update_user/Unique"}
    assert {
        "user/Initializer/random_normal",
        "ids",
        "labels",
        "rows",
        "rows/Identity",
        "save/control_dependency",
    } <= left
    held = done.content.collection_def["trainable_variables"].bytes_list.value
    assert [variable_in(one).variable_name for one in held] == ["head:0", "recmigrate/user:0"]
    assert len(source.collection_def["variables"].bytes_list.value) - 2 == len(
        done.content.collection_def["variables"].bytes_list.value
    )


def _of_branches(table: Any, ids: Any) -> Any:
    return v1.cond(
        tf.reduce_sum(ids) % 2 > 0,
        lambda: v1.nn.embedding_lookup(table, ids),
        lambda: 2 * v1.nn.embedding_lookup(table, ids // 2),
    )


def _of_a_loop(table: Any, ids: Any) -> Any:
    def body(number: Any, total: Any) -> Any:
        return number + 1, total + v1.nn.embedding_lookup(table, ids // number)

    start = tf.zeros([tf.shape(ids)[0], 3, 4])
    return v1.while_loop(lambda number, _: number < 4, body, [tf.constant(1, tf.int64), start])[1]


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("look_up", [_of_branches, _of_a_loop])
def test_branches_and_loops_keep_their_ops_and_lose_the_variable(look_up: Any, use_resource: bool) -> None:
    def build() -> None:
        ids, labels = v1.placeholder(tf.int64, [None, 3], "ids"), v1.placeholder(tf.float32, [None, 1], "labels")
        hidden = tf.reshape(look_up(variable("user", use_resource), ids), [-1, 12])
        loss, step = head(hidden, labels, v1.train.AdamOptimizer(0.01))
        v1.get_collection_ref("losses").extend([loss, step])

    v1.disable_control_flow_v2()
    try:
        source = _meta(build)
        done = rewrite_meta_graph(source)
    finally:
        v1.enable_control_flow_v2()
    assert [table.name for table in done.plan.tables] == ["user"]
    assert "user" not in {node.name for node in done.content.graph_def.node}
    runs = []
    for meta in (source, done.content):
        random = np.random.default_rng(4)
        with tf.Graph().as_default() as graph, v1.Session() as session:
            v1.train.import_meta_graph(meta)
            contexts = {op.name: op._get_control_flow_context() for op in graph.get_operations()}
            assert contexts["ids"] is None
            session.run("init")
            feeds = [
                {"ids:0": random.integers(0, 60, (8, 3)), "labels:0": random.normal(size=(8, 1))} for _ in range(20)
            ]
            runs.append([session.run(v1.get_collection("losses"), feed)[0] for feed in feeds])
    assert runs[0] == pytest.approx(runs[1], rel=1e-5)


def test_what_comes_into_a_branch_leaves_it_under_both_names() -> None:
    context = control_flow_pb2.CondContextDef(context_name="cond/cond_text", pred_name="less:0", pivot_name="pivot:0")
    context.values_def.values.extend(["ids:0", "labels:0", "cond/Switch:1", "cond/Switch_1:1", "cond/gather:0"])
    context.values_def.external_values.update({"ids:0": "cond/Switch:1", "labels:0": "cond/Switch_1:1"})
    meta = v1.MetaGraphDef()
    for name in ("ids", "labels", "less", "pivot", "cond/Switch_1"):
        meta.graph_def.node.add(name=name, op="NoOp")
    meta.collection_def["cond_context"].bytes_list.value.append(context.SerializeToString())
    forget_gone(meta)
    (left,) = meta.collection_def["cond_context"].bytes_list.value
    values = control_flow_pb2.CondContextDef.FromString(left).values_def
    assert list(values.values) == ["labels:0", "cond/Switch_1:1"]
    assert dict(values.external_values) == {"labels:0": "cond/Switch_1:1"}


def test_what_names_a_variable_whole_keeps_it() -> None:
    def build() -> None:
        _build()
        (table,) = (one for one in v1.global_variables() if one.op.name == "user")
        v1.add_to_collection("exported", tf.identity(table, "whole"))

    source = _meta(build)
    done = rewrite_meta_graph(source)
    assert done.content == source
    (refusal,) = done.plan.refusals
    assert (
        str(refusal)
        == "`user` stays a variable: the collection `exported` exposes the whole variable by `whole` (user → whole)"
    )


def test_an_op_that_nobody_knows_is_named() -> None:
    source = _meta()
    source.graph_def.node.add(name="far", op="NoSuchOp")
    with pytest.raises(ValueError, match=r"cannot import the graph: .*NoSuchOp"):
        rewrite_meta_graph(source)


@pytest.mark.parametrize("fault", ["dangling", "changed", "gone", "named"])
def test_a_result_that_is_wrong_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewriter.offline import rewriting

    right = rewriting.prune

    def wrong(graph: Any, *arguments: Any) -> Any:
        done = right(graph, *arguments)
        view = GraphView(graph)
        if fault == "dangling":
            graph.node.remove(view.nodes["rows"])
            view.nodes["Reshape"].input[0] = "rows"
        elif fault == "changed":
            view.nodes["Tanh"].attr["T"].type = tf.float64.as_datatype_enum
        elif fault == "gone":
            (init,) = (node for node in graph.node if node.name == "init")
            graph.node.remove(init)
        else:
            graph.node.remove(view.nodes["labels"])
            return type(done)(done.removed | {"labels"}, done.replaced, done.edited)
        return done

    monkeypatch.setattr("rewriter.offline.rewriting.prune", wrong)
    with pytest.raises(RewriteError):
        rewrite_meta_graph(_meta())


def test_a_function_that_is_an_op_of_itself_is_an_error() -> None:
    """The import of TensorFlow would overflow the stack."""
    definition = tf.compat.v1.GraphDef()
    for name, inner in (("First", "Second"), ("Second", "First"), ("Third", "NoOp")):
        function = definition.library.function.add()
        function.signature.name = name
        function.node_def.add(name="x", op=inner)
    definition.node.add(name="call", op="First")
    with pytest.raises(ValueError, match="the function `First` of the graph calls itself"):
        rewrite_graph_def(definition)
