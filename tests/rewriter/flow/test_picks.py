"""No table goes unjudged: rows of a variable are found to be picked, by whatever op and argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import rewriter
from rewriter import rewrite
from rewriter._tf_private import writes_in_place
from rewriter.flow import Picks
from rewriter.flow.picks import SHAPING
from rewriter.graph.view import GraphView
from tests.support.runtime.unread import unread

v1 = tf.compat.v1
ROWS, DIM = 20, 4
Make = Callable[[Any, Any], Any]


def test_the_reason_names_what_picks_and_the_remedy(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [ROWS, DIM])
    tf.gather(tf.cumsum(table, 0, name="padded"), v1.placeholder(tf.int64, [None]), name="of")
    (refusal,) = rewrite(graph).refusals
    assert (
        "uses the whole variable, and GatherV2 `of` selects rows of the result: use tf.nn.embedding_lookup"
        in refusal.reason
    )
    assert refusal.path[0] == "user" and refusal.path[-2:] == ("padded", "of")


def _recurrent(x: Any, lengths: Any) -> Any:
    if hasattr(tf.keras, "Variable"):
        pytest.skip("Keras 3 has no cells for v1 graphs")
    steps = tf.reshape(x, [-1, 3, DIM])
    return v1.nn.dynamic_rnn(v1.nn.rnn_cell.GRUCell(DIM), steps, lengths, dtype=tf.float32)[0][:, -1]


def _attention(x: Any, lengths: Any) -> Any:
    keys = tf.reshape(x, [-1, 3, DIM]) + v1.get_variable("position", [3, DIM])
    query = tf.tile(v1.get_variable("query", [1, DIM])[None], [tf.shape(keys)[0], 1, 1])
    mask = tf.sequence_mask(lengths, 3, tf.float32)[:, None]
    weights = tf.nn.softmax(tf.matmul(query, keys, transpose_b=True) * mask)
    return tf.squeeze(tf.matmul(weights, keys), 1)


def _graph_convolution(x: Any, lengths: Any) -> Any:
    adjacency = tf.sparse.from_dense(tf.eye(6))
    side = tf.sparse.sparse_dense_matmul(adjacency, tf.ones([6, DIM]))
    hidden = side @ v1.get_variable("kernel", [DIM, DIM]) + v1.get_variable("bias", [1, DIM])
    return tf.gather(hidden, lengths)


def _convolved(x: Any, lengths: Any) -> Any:
    hidden = tf.nn.conv1d(tf.reshape(x, [-1, 3, DIM]), v1.get_variable("filters", [2, DIM, DIM]), 1, "SAME")
    return tf.gather_nd(hidden, tf.stack([tf.range(tf.size(lengths)), lengths], 1))


def _mixed_with_one_hots(x: Any, lengths: Any) -> Any:
    inputs = tf.concat([tf.reshape(x, [-1, 3 * DIM]), tf.one_hot(lengths, 5)], 1)
    return tf.gather(inputs @ v1.get_variable("kernel", [3 * DIM + 5, DIM]), lengths)


def _centers(x: Any, lengths: Any) -> Any:
    centers = v1.get_variable("centers", [7, DIM])
    return tf.nn.softmax(tf.matmul(x, centers, transpose_b=True)) @ centers


def _carried_by_a_loop_of_tensorflow_1(x: Any, lengths: Any) -> Any:
    kernel = v1.get_variable("kernel", [DIM, DIM]) * 1.0
    v1.disable_control_flow_v2()
    try:
        return x @ tf.while_loop(lambda i, _: i < 3, lambda i, power: (i + 1, power * 0.5), [0, kernel])[1]
    finally:
        v1.enable_control_flow_v2()


DENSE: dict[str, Make] = {
    "carried_by_a_loop_of_tensorflow_1": _carried_by_a_loop_of_tensorflow_1,
    "recurrent": _recurrent,
    "attention": _attention,
    "graph_convolution": _graph_convolution,
    "convolved": _convolved,
    "mixed_with_one_hots": _mixed_with_one_hots,
    "centers": _centers,
}


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("made", DENSE)
def test_dense_layers_are_no_tables(graph: tf.Graph, made: str, use_resource: bool) -> None:
    v1.get_variable_scope().set_use_resource(use_resource)
    x, lengths = v1.placeholder(tf.float32, [None, DIM], "x"), v1.placeholder(tf.int32, [None], "lengths")
    hidden = DENSE[made](x, lengths)
    kernel = v1.get_variable("last", [DIM, 3], regularizer=tf.keras.regularizers.l2(0.1))
    logits = tf.nn.bias_add(hidden @ kernel, v1.get_variable("last_bias", [3]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(lengths, logits))
    loss += tf.add_n(v1.losses.get_regularization_losses())
    optimizer = v1.train.AdamOptimizer(0.1)
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 1.0)[0], variables, strict=True))
    v1.train.Saver()
    v1.report_uninitialized_variables()
    plan = rewrite(graph, dry_run=True)
    assert (plan.tables, plan.refusals) == ((), ())


_FLOAT, _RESOURCE = tf.float32.as_datatype_enum, tf.resource.as_datatype_enum
_WHOLE = (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum)


def _pairs() -> Iterator[tuple[Any, int, int]]:
    """Yield each op of the registry that gives something, with a value and integers that could pick of it."""
    for name in dir(tf.raw_ops):
        definition = op_def_registry.get(name)
        if definition is None or not definition.output_arg:
            continue
        values, whole = [], []
        for place, one in enumerate(definition.input_arg):
            kinds = {of.name: list(of.allowed_values.list.type) for of in definition.attr}.get(one.type_attr, [])
            if one.type in (_FLOAT, _RESOURCE) or (one.type_attr and (_FLOAT in kinds or not kinds)):
                values.append(place)
            if one.type in _WHOLE or (kinds and set(kinds) <= {*_WHOLE, 4, 5, 6, 9, 17, 22, 23}):
                whole.append(place)
        yield from (
            (definition, value, number) for value in values for number in whole if _apart(definition, value, number)
        )


def _apart(definition: Any, value: int, number: int) -> bool:
    """Whether a value of floats can stand beside the integers: one type for both has none."""
    one, other = definition.input_arg[value], definition.input_arg[number]
    return value != number and (not one.type_attr or one.type_attr != other.type_attr)


def _judged(definition: Any, value: int, number: int) -> bool:
    """Whether a variable that an op is given is found to be picked of by fed integers that it is given."""
    graph = v1.GraphDef()
    for name, kind, held in (("table", "VariableV2", tf.float32), ("ids", "Placeholder", tf.int64)):
        node = graph.node.add(name=name, op=kind)
        node.attr["dtype"].type = held.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tf.TensorShape([ROWS, DIM]).as_proto())
    graph.node.add(name="constant", op="Const")
    node = graph.node.add(name="op", op=definition.name)
    for place, argument in enumerate(definition.input_arg):
        if argument.number_attr:
            node.attr[argument.number_attr].i = 1
        if argument.type_attr and argument.type_attr != definition.input_arg[number].type_attr:
            node.attr[argument.type_attr].type = _FLOAT
        if argument.type_list_attr:
            node.attr[argument.type_list_attr].list.type.append(_FLOAT)
        node.input.append({value: "table", number: "ids"}.get(place, "constant"))
    if definition.input_arg[number].type_attr:
        node.attr[definition.input_arg[number].type_attr].type = tf.int64.as_datatype_enum
    return Picks(GraphView(graph)).of("table") is not None


def test_every_op_of_tensorflow_that_picks_by_integers_is_judged() -> None:
    missed, seen = set(), set[str]()
    for definition, value, number in _pairs():
        name = definition.input_arg[number].name
        seen.add(name)
        if not _judged(definition, value, number) and name not in SHAPING:
            missed.add(definition.name)
    assert {one for one in missed if not writes_in_place(v1.NodeDef(op=one))} == set()
    assert seen > SHAPING


#: What a session gives to all hooks.
_GIVEN = {"coord", "run_context", "run_values", "session"}


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in rewriter.__all__:
        one = getattr(rewriter, name)
        if inspect.isfunction(one):
            yield name, one
        for method, function in vars(one).items() if inspect.isclass(one) else ():
            if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                yield f"{name}.{method}", function


def test_no_argument_is_dropped_without_a_word() -> None:
    functions = dict(_functions())
    assert {"rewrite", "prove", "move_ids", "GraphModifierHook.__init__"} <= functions.keys()
    dropped = {f"{name}({one})" for name, function in functions.items() for one in unread(function) - _GIVEN}
    assert dropped == set()
