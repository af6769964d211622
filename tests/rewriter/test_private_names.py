"""Fails loudly when a TensorFlow lacks the private names, or the behaviour, that rewriter/_tf_private.py relies on."""

from __future__ import annotations

import contextlib

import tensorflow as tf

from rewriter import _tf_private


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
