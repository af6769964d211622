"""SavedModels, meta graphs with tables by rows, and their Savers, rewritten without the program."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from rewriter.graph.files import graphs_of, read_message
from rewriter.offline.multi_graph import judge_meta_graphs, rewrite_meta_graphs
from rewriter.offline.rewriting import judge_meta_graph, rewrite_meta_graph
from rewriter.offline.saved_model import check_saver, write_saved_model
from rewriter.proof.in_files import prove_meta_graph
from tests.support import forking
from tests.support.rewriter import offline_run
from tests.support.rewriter.compare import DIM, head, variable

v1 = tf.compat.v1
_IDS = np.array([[3, 0, 59], [7, 7, 1]])


def _model(use_resource: bool = True) -> tuple[Any, Any, Any]:
    """Return ids, scores and the hidden layer."""
    v1.set_random_seed(3)
    ids = v1.placeholder(tf.int64, [None, 3], "ids")
    hidden = tf.reshape(v1.nn.embedding_lookup(variable("user", use_resource), ids), [-1, 12])
    return ids, tf.reduce_sum(tf.tanh(hidden), 1, name="scores"), hidden


def _train(session: Any, hidden: Any, ids: Any, optimizer: Any) -> Any:
    loss, step = head(hidden, tf.ones([2, 1]), optimizer)
    v1.add_to_collection("train", step)
    v1.add_to_collection("train", loss)
    session.run(v1.global_variables_initializer())
    for _ in range(5):
        session.run(step, {ids: _IDS})


def _export(path: Path, optimizer: Callable[[], Any] | None = None, use_resource: bool = True, whole: str = "") -> Path:
    """Export a graph tagged `serve`, and with an optimizer another, tagged `train`; `whole` names one to spoil."""
    builder = v1.saved_model.Builder(str(path / "source"))
    tags = ["train", "serve"] if optimizer else ["serve"]
    for number, tag in enumerate(tags):
        with tf.Graph().as_default(), v1.Session() as session:
            words = path / "words.txt"
            words.write_text("a\nb\n")
            ids, scores, hidden = _model(use_resource)
            asset = tf.constant(str(words), name="asset")
            v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
            text = tf.io.read_file(asset, name="text")
            if whole == tag:
                spoiled = next(one for one in v1.global_variables() if one.op.name == "user")
                v1.assign(spoiled, tf.gather(spoiled, [0], axis=1) + tf.zeros(spoiled.shape))
            if optimizer and tag == "train":
                _train(session, hidden, ids, optimizer())
            else:
                session.run(v1.global_variables_initializer())
            signature = v1.saved_model.predict_signature_def({"ids": ids}, {"scores": scores, "text": text})
            settings: dict[str, Any] = {
                "signature_def_map": {"serving_default": signature},
                "main_op": v1.tables_initializer(),
                "assets_collection": [asset],
            }
            if number == 0:
                builder.add_meta_graph_and_variables(session, [tag], **settings)
            else:
                builder.add_meta_graph([tag], **settings)
    builder.save()
    return path / "source"


def _rewrite(source: Path, tables: Any = "auto") -> Path:
    model = read_message(source)
    target = source.with_name("target")
    target.mkdir()
    write_saved_model(model, rewrite_meta_graphs(graphs_of(model), tables), source, target)
    return target


def _signature(path: Path, tag: str = "serve", steps: int = 0) -> tuple[NDArray[np.float32], bytes, list[float]]:
    """Return what the signature gives, its text, and the losses of further steps."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        meta = v1.saved_model.load(session, [tag], str(path))
        signature = meta.signature_def["serving_default"]
        outputs = {key: info.name for key, info in signature.outputs.items()}
        given = {signature.inputs["ids"].name: _IDS}
        found: Mapping[str, Any] = session.run(outputs, given)
        losses = [session.run(graph.get_collection("train"), given)[1] for _ in range(steps)]
    return found["scores"], found["text"], losses


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_a_signature_gives_what_it_gave_without_the_source(use_resource: bool, tmp_path: Path) -> None:
    source = _export(tmp_path, use_resource=use_resource)
    before = _signature(source)
    target = _rewrite(source)
    shutil.rmtree(source)
    after = _signature(target)
    np.testing.assert_array_equal(after[0], before[0])
    assert after[1] == b"a\nb\n"
    names = dict(tf.train.list_variables(str(target / "variables" / "variables")))
    assert names["user"] == []
    assert names["user-values"] == [60, 4]
    assert sorted(path.name for path in target.iterdir()) == ["assets", "saved_model.pb", "variables"]
    assert sorted(path.suffix for path in (target / "variables").iterdir()) == [".data-00000-of-00001", ".index"]


def test_what_stays_in_one_graph_stays_in_all(tmp_path: Path) -> None:
    source = _export(tmp_path, lambda: v1.train.AdagradOptimizer(0.1), whole="serve")
    graphs = graphs_of(read_message(source))
    done = rewrite_meta_graphs(graphs)
    reasons = {tags: [str(one) for one in plan.plan.refusals] for tags, plan in done.items()}
    assert "`user` is not replaced in the graph `serve`, which reads the same checkpoint" in reasons["train"][0]
    assert "GatherV2" in reasons["serve"][0]
    assert not any(one.plan.tables for one in done.values())
    assert {tags: [str(one) for one in plan.refusals] for tags, plan in judge_meta_graphs(graphs).items()} == reasons


def test_a_name_that_no_graph_has_is_refused(tmp_path: Path) -> None:
    graphs = graphs_of(read_message(_export(tmp_path, lambda: v1.train.AdagradOptimizer(0.1))))
    with pytest.raises(ValueError, match="no graph has a variable `usr`"):
        judge_meta_graphs(graphs, ["usr"])


def test_a_signature_that_gives_the_variable_keeps_it(tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        ids, scores, _ = _model()
        (table,) = v1.global_variables()
        session.run(table.initializer)
        outputs = {"scores": scores, "all": tf.identity(table)}
        v1.saved_model.simple_save(session, str(tmp_path / "source"), {"ids": ids}, outputs)
    (plan,) = judge_meta_graphs(graphs_of(read_message(tmp_path / "source"))).values()
    (refusal,) = plan.refusals
    assert "the signature `serving_default` exposes the whole variable by `Identity" in str(refusal)


def test_a_saved_model_without_variables_is_refused(tmp_path: Path) -> None:
    source = _export(tmp_path)
    shutil.rmtree(source / "variables")
    with pytest.raises(ValueError, match=r"has no variables/variables\.index, so the rows of `user` are unknown"):
        _rewrite(source)


def test_one_of_tensorflow_2_is_refused(tmp_path: Path) -> None:
    module = tf.Module()
    with tf.init_scope():
        module.table = tf.Variable(tf.ones([4, 2]))
        module.look = tf.function(
            lambda ids: tf.gather(module.table, ids), input_signature=[tf.TensorSpec([None], tf.int64)]
        )
        tf.saved_model.save(module, str(tmp_path / "source"))
    with pytest.raises(ValueError, match=r"is a SavedModel of TensorFlow 2, whose lookups are in functions"):
        read_message(tmp_path / "source")


WHOLES: dict[str, Callable[[Any], Any]] = {
    "padded": lambda table: tf.concat([tf.zeros([1, DIM]), table[1:]], 0),
    "padded behind": lambda table: tf.concat([table, tf.zeros([3, DIM])], 0),
    "scaled": lambda table: tf.identity(table) * 3.0,
    "normalized": lambda table: tf.nn.l2_normalize(table, 1),
}


def meta_graph(whole: Callable[[Any], Any], use_resource: bool = True) -> Any:
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        ids, labels = v1.placeholder(tf.int64, [None, 3], "ids"), v1.placeholder(tf.float32, [None, 1], "labels")
        rows = v1.nn.embedding_lookup(whole(variable(use_resource=use_resource)), ids, name="rows")
        loss, step = head(tf.reshape(rows, [-1, 3 * DIM]), labels, v1.train.AdagradOptimizer(0.1))
        v1.add_to_collection("losses", loss)
        v1.add_to_collection("train_op", step)
        saver = v1.train.Saver().saver_def
        v1.global_variables_initializer()
        return v1.train.export_meta_graph(saver_def=saver)


def trained(folder: Path, meta: Any) -> list[float]:
    (folder / "graph.meta").write_bytes(meta.SerializeToString())
    done = forking.run(offline_run.__file__, folder / "graph.meta", "-", "10", folder / "end")
    assert done.returncode == 0, done.stderr[-3000:]
    losses: list[float] = json.loads(done.stdout.splitlines()[-1])
    return losses


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("whole", WHOLES)
def test_it_trains_to_the_same_losses(whole: str, use_resource: bool, tmp_path: Path) -> None:
    meta = meta_graph(WHOLES[whole], use_resource)
    done = rewrite_meta_graph(meta)
    assert [table.name for table in done.plan.tables] == ["user"], done.plan.summary()
    assert [table.name for table in judge_meta_graph(meta).tables] == ["user"]
    nodes = {node.name: node.op for node in done.content.graph_def.node}
    assert "user" not in nodes and nodes["rows"] == "Identity"
    assert trained(tmp_path, done.content) == pytest.approx(trained(tmp_path, meta), rel=1e-5)
    proof = prove_meta_graph(meta, done.content, done.plan, 3)
    assert proof.ok, proof.summary()


def _written(path: str) -> tf.Operation:
    return tf.raw_ops.WriteFile(filename=path, contents="x")


def _by_function(path: str) -> tf.Operation:
    return tf.cond(tf.constant(True), lambda: tf.group(_written(path)), tf.no_op)


def _stateless(path: str) -> tf.Operation:
    body = _body(path)
    tf.raw_ops.StatelessIf(cond=True, input=[], Tout=[], then_branch=body, else_branch=body)
    return v1.get_default_graph().get_operations()[-1]


def _body(path: str) -> object:
    def body() -> None:
        tf.io.write_file(path, "x")

    return tf.function(body).get_concrete_function()


def _saved(path: str) -> tf.Operation:
    return tf.raw_ops.SaveV2(prefix=path, tensor_names=["a"], shape_and_slices=[""], tensors=[tf.constant(1)])


def _up(path: str) -> tf.Operation:
    saver = v1.get_default_graph().get_tensor_by_name("save/Const:0")
    return _saved(tf.strings.join([saver, "/../../x"]))


def _python(path: str) -> tf.Operation:
    return tf.numpy_function(lambda: 1, [], tf.int64).op


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.one_case
def test_savers_of_tensorflow_are_run(sharded: bool, resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        v1.get_variable("a", [3], use_resource=resource)
        check_saver(graph, v1.train.Saver(sharded=sharded).as_saver_def(), Path("m"))


@pytest.mark.parametrize(
    ("evil", "says"),
    [
        (_written, "(WriteFile)"),
        (_by_function, "(WriteFile)"),
        (_stateless, "(StatelessIf)"),
        (_python, "PyFunc)"),
        (_saved, "writes elsewhere"),
        (_up, "writes elsewhere"),
    ],
)
@pytest.mark.one_case
def test_others_are_not(evil: Callable[[str], tf.Operation], says: str) -> None:
    with tf.Graph().as_default() as graph:
        v1.get_variable("a", [3])
        saver = v1.train.Saver().as_saver_def()
        op = evil("/tmp/x")
        with tf.control_dependencies([op]):
            saver.restore_op_name = tf.group(graph.get_operation_by_name(saver.restore_op_name)).name
        with pytest.raises(ValueError, match="the Saver of m ") as error:
            check_saver(graph, saver, Path("m"))
        assert says in str(error.value)
        saver.restore_op_name = "gone"
        with pytest.raises(ValueError, match="no op `gone`"):
            check_saver(graph, saver, Path("m"))
