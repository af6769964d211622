"""A Saver in a file is run to copy the rows: one that does more than restore and save is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from rewriter.offline.saver_ops import check_saver

v1 = tf.compat.v1


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
