"""Private names of TensorFlow that the rewriter uses do what it takes them to do."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from rewriter import _tf_private, _tf_private_files, _tf_private_sessions
from rewriter.after_import import after_import
from rewriter.installation.checkpoints import Checkpoints
from rewriter.installation.graphs import Graphs
from rewriter.installation.options import Options


def test_an_input_of_a_live_graph_can_be_moved(graph: tf.Graph) -> None:
    x, y = tf.constant(1.0), tf.constant(2.0)
    total = tf.add(x, x)
    _tf_private.update_input(total.op, 1, y)
    with tf.compat.v1.Session() as session:
        assert session.run(total) == 3.0


def test_control_edges_can_be_replaced(graph: tf.Graph) -> None:
    first, second = tf.no_op(), tf.no_op()
    with tf.control_dependencies([first]):
        last = tf.no_op()
    _tf_private.replace_controls(last, [second])
    assert last.control_inputs == [second]


def test_ops_can_wait_for_others_and_leave_them_as_they_are(graph: tf.Graph) -> None:
    first = tf.no_op()
    before = first.node_def
    with _tf_private.waiting_for([first]):
        last = tf.no_op()
    assert last.control_inputs == [first] and first.node_def == before


def test_ops_can_be_built_beside_one_in_a_branch(graph: tf.Graph) -> None:
    tf.compat.v1.disable_control_flow_v2()
    try:
        inside: list[tf.Tensor] = []

        def branch() -> tf.Tensor:
            inside.append(tf.identity(1.0))
            return inside[0]

        tf.cond(tf.compat.v1.placeholder(tf.bool, []), branch, lambda: 0.0)
    finally:
        tf.compat.v1.enable_control_flow_v2()
    with _tf_private.control_flow_of(inside[0].op):
        beside = tf.identity(2.0)
    assert beside.op._get_control_flow_context() is inside[0].op._get_control_flow_context() is not None


def test_functions_tell_what_they_capture_and_who_calls_them(graph: tf.Graph) -> None:
    given = tf.constant(1.0)
    inside: list[tf.Tensor] = []

    def branch() -> tf.Tensor:
        inside.append(tf.identity(given))
        return inside[-1] * inside[-1]

    chosen = tf.cond(tf.compat.v1.placeholder(tf.bool, []), branch, lambda: 0.0)
    called = tf.function(branch)()
    tf.gradients([chosen, called], given)
    for one in inside:
        assert _tf_private.captured_from(one.op.inputs[0], graph) is given
        assert _tf_private.captured_from(one, graph) is None
        callers = [op for op in given.consumers() if _tf_private.calls(op, one.graph)]
        assert [op.type for op in callers] in (["If"], ["StatelessIf"], ["PartitionedCall"])


def test_a_function_has_a_body(graph: tf.Graph) -> None:
    tf.function(lambda x: tf.tanh(x) + 1.0)(tf.constant(1.0))
    function = graph.as_graph_def().library.function[0]
    body, names = _tf_private.body_of(function)
    assert {"Tanh", "Placeholder"} <= {node.op for node in body.node}
    (result,) = function.ret.values()
    assert names[result].partition(":")[0] in {node.name for node in body.node}


def test_an_op_can_call_another_function(graph: tf.Graph) -> None:
    one = tf.data.Dataset.from_tensors(1)
    doubled, tripled = one.map(lambda x: x * 2), one.map(lambda x: x * 3)
    other = tripled._variant_tensor.op.get_attr("f").name
    before = _tf_private.call(doubled._variant_tensor.op, "f", other)
    assert before != other == doubled._variant_tensor.op.get_attr("f").name
    iterator = tf.compat.v1.data.make_initializable_iterator(doubled)
    element = iterator.get_next()
    with tf.compat.v1.Session() as session:
        session.run(iterator.initializer)
        assert session.run(element) == 3


def test_functions_of_branches_can_be_numbered_beyond_others(graph: tf.Graph) -> None:
    _tf_private.number_functions_beyond(5000)
    tf.cond(tf.compat.v1.placeholder(tf.bool, []), lambda: 1.0, lambda: 2.0)
    names = [one.signature.name for one in graph.as_graph_def().library.function]
    assert names
    assert all(int(name.rpartition("_")[2]) > 5000 for name in names)


def test_iterators_leave_the_structure_of_their_elements(graph: tf.Graph) -> None:
    data = tf.data.Dataset.range(4).map(lambda one: {"dense": one, "sparse": tf.sparse.from_dense([one])})
    iterator = tf.compat.v1.data.make_initializable_iterator(data)
    getter = iterator.get_next()["dense"].op
    spec = _tf_private.element_spec(graph, getter.inputs[0].op.name)
    assert spec == iterator.element_spec
    element = _tf_private.element_of_tensors(spec, getter.outputs)
    assert isinstance(element["sparse"], tf.SparseTensor) and element["dense"].op is getter
    assert _tf_private.element_spec(graph, "other") is None


def test_hooks_find_iterators_in_a_collection(graph: tf.Graph) -> None:
    first, second = (tf.compat.v1.data.make_initializable_iterator(tf.data.Dataset.range(n)) for n in (1, 2))
    old, new, other = (one.get_next().op.inputs[0] for one in (first, second, first))
    assert graph.get_collection("iterators") == [old, new] == [other, new]
    with contextlib.ExitStack() as undo:
        _tf_private.replace_iterators(graph, {old.op.name: new}, undo)
        assert graph.get_collection("iterators") == [new, new]
    assert graph.get_collection("iterators") == [old, new]


def test_python_tells_of_an_op_before_it_builds_it(graph: tf.Graph) -> None:
    seen: list[tuple[str, str, list[tf.Tensor]]] = []
    x = tf.constant(1.0)
    _tf_private.watch_inputs(graph, lambda kind, name, inputs: seen.append((kind, name, list(inputs))))
    tf.tanh(x, name="outer")
    tf.cond(x > 0.0, lambda: tf.square(x), lambda: 0.0, name="chosen")
    assert seen[0][:2] == ("Tanh", "outer") and seen[0][2][0] is x
    assert any(one is x for kind, _, inputs in seen if kind in ("If", "StatelessIf") for one in inputs)


def test_a_partitioned_variable_is_its_parts(graph: tf.Graph) -> None:
    one = tf.compat.v1.get_variable("one", [4])
    several = tf.compat.v1.get_variable("several", [4], partitioner=tf.compat.v1.fixed_size_partitioner(2))
    assert _tf_private.parts_of(one) == [one] and _tf_private.parts_of("other") == []
    assert [part.op.name for part in _tf_private.parts_of(several)] == ["several/part_0", "several/part_1"]


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


def test_it_is_called_once_the_import_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("awaited_one", "awaited_two"):
        (tmp_path / f"{name}.py").write_text("value = 1\nvalue = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before, heard = list(sys.meta_path), list[int]()
    after_import("awaited_one", lambda module: heard.append(module.value))
    after_import("awaited_two", lambda module: heard.append(3))()
    importlib.import_module("awaited_two")
    assert heard == []
    importlib.import_module("awaited_one")
    after_import("awaited_one", lambda module: heard.append(module.value + 2))
    assert heard == [2, 4] and sys.meta_path == before
