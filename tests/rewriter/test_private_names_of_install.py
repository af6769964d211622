"""Fails loudly where a TensorFlow calls other private names than those that `rewriter.install` replaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from rewriter import _tf_private_files, _tf_private_sessions
from rewriter.installation.checkpoints import Checkpoints
from rewriter.installation.graphs import Graphs
from rewriter.installation.options import Options

v1 = tf.compat.v1
NAMES = (
    "BaseSession.run",
    "BaseSession.close",
    "BaseSession.partial_run_setup",
    "BaseSession.partial_run",
    "BaseSession.make_callable",
    "BaseSession._make_callable_from_options",
    "_ElementFetchMapper.__init__",
    "Graph.finalize",
    "gradients_util._GradientsHelper",
    "_SessionConverterData.__init__",
    "_FunctionConverterData.__init__",
    "variables.variables_initializer",
    "saveable_object_util.op_list_to_dict",
    "saveable_object_util.saveable_objects_for_op",
    "CheckpointReader.get_tensor",
    "CheckpointReader.get_variable_to_shape_map",
    "CheckpointReader.get_variable_to_dtype_map",
    "CheckpointReader.has_tensor",
    "io_ops.restore_v2",
    "gen_checkpoint_ops.load_and_remap_matrix",
    "meta_graph.export_scoped_meta_graph",
    "SavedModelBuilder.add_meta_graph",
    "SavedModelBuilder.add_meta_graph_and_variables",
    "Saver.export_meta_graph",
)


class Counted(_tf_private_sessions.Wraps):
    """Notes which functions are replaced, and which of these are called."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced, self.called = set[str](), set[str]()

    def wrap(self, owner: Any, name: str, around: Any) -> None:
        full = f"{owner.__name__.rpartition('.')[2]}.{name}"
        self.replaced.add(full)

        def counted(original: Any, *arguments: Any, **named: Any) -> Any:
            self.called.add(full)
            return around(original, *arguments, **named)

        super().wrap(owner, name, counted)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    counted, graphs = Counted(), Graphs(Options((), 0, None, 1, False, False, True, {}))
    _tf_private_sessions.watch_sessions(counted, graphs)
    _tf_private_sessions.watch_graphs(counted, graphs)
    _tf_private_files.watch_savers(counted, graphs)
    _tf_private_files.watch_readers(counted, Checkpoints())
    try:
        convert_variables_to_constants_v2(tf.function(tf.identity).get_concrete_function(tf.TensorSpec([])))
        with tf.Graph().as_default():
            _use_all(tmp_path_factory.mktemp("files"))
        yield counted
    finally:
        counted.end()


def _use_all(folder: Path) -> None:
    (folder / "words").write_text("a\nb\nc")
    w, fed = v1.get_variable("w", initializer=np.ones([3, 2], np.float32)), v1.placeholder(tf.float32, [])
    total = tf.identity(tf.reduce_sum(w) * fed, name="total")
    tf.gradients(total, w)
    saver, init = v1.train.Saver(), v1.global_variables_initializer()
    with v1.Session() as session:
        session.run(init)
        path = saver.save(session, str(folder / "model"))
        session.make_callable(total, [fed])
        session._make_callable_from_options(_options(total, fed))
        session.partial_run(session.partial_run_setup([total], [fed]), total, {fed: 1.0})
        v1.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["total"])
        builder = v1.saved_model.Builder(str(folder / "export"))
        builder.add_meta_graph_and_variables(session, ["serve"])
        builder.add_meta_graph(["train"])
    session.close()
    reader = tf.train.load_checkpoint(path)
    assert reader.has_tensor("w") and reader.get_tensor("w").shape == (3, 2)
    assert reader.get_variable_to_shape_map().keys() == reader.get_variable_to_dtype_map().keys()
    with tf.Graph().as_default():
        v1.get_variable("w", [3, 2])
        v1.train.init_from_checkpoint(path, {"w": "w"})
        words = v1.train.VocabInfo(str(folder / "words"), 3, 0, str(folder / "words"))
        v1.train.warm_start(path, "w", {"w": words})
        v1.train.Scaffold().finalize()
        v1.get_default_graph().finalize()


def _options(total: tf.Tensor, fed: tf.Tensor) -> Any:
    return config_pb2.CallableOptions(fetch=[total.name], feed=[fed.name])


def test_all_that_is_replaced_is_listed(counted: Counted) -> None:
    assert counted.replaced == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_tensorflow_calls_it(counted: Counted, name: str) -> None:
    assert name in counted.called


def test_a_remapped_matrix_takes_values_for_new_cells_in_order(tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
        arguments: dict[str, Any] = {
            "row_remapping": np.array([2, -1, 0], np.int64),
            "col_remapping": np.array([1, -1], np.int64),
            "initializing_values": np.array([50, 51, 52, 53], np.float32),
            "num_rows": 3,
            "num_cols": 2,
        }
        path = v1.train.Saver([v1.get_variable("m", initializer=matrix)])
        session.run(v1.global_variables_initializer())
        prefix = path.save(session, str(tmp_path / "m"))
        stock = tf.raw_ops.LoadAndRemapMatrix(ckpt_path=prefix, old_tensor_name="m", **arguments)
        ours = _tf_private_files._remapped(tf.constant(matrix), **arguments)
        np.testing.assert_array_equal(*session.run([stock, ours]))


@pytest.mark.parametrize("text", ["", "4 3 1,2:-", "4 3 0,4:1,2"])
def test_a_part_of_a_tensor_is_what_restoring_reads(text: str, tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
        saver = v1.train.Saver([v1.get_variable("m", initializer=matrix)])
        session.run(v1.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "m"))
        (stock,) = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["m"], shape_and_slices=[text], dtypes=[tf.float32])
        np.testing.assert_array_equal(session.run(stock), matrix[_tf_private_files.ranges_of(text)])
