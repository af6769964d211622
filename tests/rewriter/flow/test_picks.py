"""No table goes unjudged: rows of a variable are found to be picked whatever is made of it before, by whatever op."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from rewriter import rewrite
from rewriter._tf_private import writes_in_place
from rewriter.flow import Picks
from rewriter.flow.arguments import SHAPING
from rewriter.graph.view import GraphView

v1 = tf.compat.v1
ROWS, DIM = 20, 4
Make = Callable[[Any, Any], Any]


def _padded_with_ones(table: Any, ids: Any) -> Any:
    return tf.gather(tf.concat([tf.ones([1, DIM]), table[1:]], 0), ids)


def _scattered(table: Any, ids: Any) -> Any:
    return tf.gather(tf.tensor_scatter_nd_update(table, [[0]], tf.zeros([1, DIM])), ids)


def _in_a_loop(table: Any, ids: Any) -> Any:
    start = [0, tf.zeros([5, DIM])]
    return tf.while_loop(lambda i, _: i < 3, lambda i, _: (i + 1, tf.gather(table * 2.0, tf.reshape(ids, [5]))), start)[
        1
    ]


def _in_a_loop_of_tensorflow_1(table: Any, ids: Any) -> Any:
    v1.disable_control_flow_v2()
    try:
        return _in_a_loop(table, ids)
    finally:
        v1.enable_control_flow_v2()


def _in_a_function(table: Any, ids: Any) -> Any:
    return tf.function(lambda of: tf.gather(tf.pad(table, [[1, 0], [0, 0]]), of))(ids)


def _chosen(table: Any, ids: Any) -> Any:
    either = tf.cond(v1.placeholder(tf.bool, []), lambda: table * 1.0, lambda: tf.zeros([ROWS, DIM]))
    return tf.gather(either, ids)


def _chosen_otherwise(table: Any, ids: Any) -> Any:
    v1.disable_control_flow_v2()
    try:
        either = tf.cond(v1.placeholder(tf.bool, []), lambda: tf.zeros([ROWS, DIM]), lambda: table * 1.0)
    finally:
        v1.enable_control_flow_v2()
    return tf.gather(either, ids)


def _dropped_out(table: Any, ids: Any) -> Any:
    return tf.gather(v1.nn.dropout(table, keep_prob=v1.placeholder(tf.float32, [])), ids)


def _with_a_fed_mask(table: Any, ids: Any) -> Any:
    return tf.gather(tf.where(v1.placeholder(tf.bool, [ROWS, DIM]), table, tf.zeros([ROWS, DIM])), ids)


def _partitioned(table: Any, ids: Any) -> Any:
    return tf.dynamic_partition(table * 1.0, tf.reshape(tf.cast(ids, tf.int32), [ROWS]), 2)[0]


def _by_equal_ids(table: Any, ids: Any) -> Any:
    return tf.cast(tf.equal(ids[:, None], tf.range(ROWS, dtype=tf.int64)), tf.float32) @ table


LOOKED_UP: dict[str, Make] = {
    "padded_with_ones": _padded_with_ones,
    "scattered": _scattered,
    "in_a_loop": _in_a_loop,
    "in_a_loop_of_tensorflow_1": _in_a_loop_of_tensorflow_1,
    "in_a_function": _in_a_function,
    "chosen": _chosen,
    "chosen_otherwise": _chosen_otherwise,
    "dropped_out": _dropped_out,
    "with_a_fed_mask": _with_a_fed_mask,
    "partitioned": _partitioned,
    "by_equal_ids": _by_equal_ids,
    "one_hot": lambda table, ids: tf.one_hot(ids, ROWS) @ table,
    "sum_of_one_hots": lambda table, ids: tf.reduce_sum(tf.one_hot(tf.reshape(ids, [-1, 2]), ROWS), 1) @ table,
    "one_hot_of_sequences": lambda table, ids: tf.tensordot(tf.one_hot(tf.reshape(ids, [-1, 2]), ROWS), table, 1),
    "one_hot_times": lambda table, ids: tf.reduce_sum(tf.one_hot(ids, ROWS)[:, :, None] * table[None], 1),
    "gather_nd_of_elements": lambda table, ids: tf.gather_nd(table, tf.stack([ids, ids], 1)),
    "gather_nd_of_what_is_made": lambda table, ids: tf.gather_nd(table * 1.0, ids[:, None]),
    "normalized": lambda table, ids: tf.gather(tf.nn.l2_normalize(table, 1), ids),
    "projected": lambda table, ids: tf.gather(tf.matmul(table, tf.ones([DIM, 2])), ids),
    "one_row": lambda table, ids: table[tf.cast(ids[0], tf.int32)],
    "a_slice": lambda table, ids: tf.slice(table, [tf.cast(ids[0], tf.int32), 0], [1, DIM]),
    "cast": lambda table, ids: tf.gather(tf.cast(table, tf.float16), ids),
    "transposed": lambda table, ids: tf.gather(tf.transpose(table), ids, axis=1),
    "flat": lambda table, ids: tf.gather(tf.reshape(table, [-1]), ids),
    "by_elements_of_arrays": lambda table, ids: tf.map_fn(lambda i: (table * 2.0)[i], ids, tf.float32),
}


#: Those that work row by row, so that the variable becomes a table.
BY_ROWS = (
    *("padded_with_ones", "dropped_out", "with_a_fed_mask", "gather_nd_of_what_is_made", "normalized", "projected"),
    "cast",
)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("made", LOOKED_UP)
def test_a_table_that_is_no_plain_lookup_is_refused_or_moves_by_rows(
    graph: tf.Graph, made: str, use_resource: bool
) -> None:
    table = v1.get_variable("user", [ROWS, DIM], use_resource=use_resource)
    weights = v1.get_variable("weights", [DIM, DIM], use_resource=use_resource)
    ids = v1.placeholder(tf.int64, [None], "ids")
    rows = LOOKED_UP[made](table, ids)
    if rows.shape.rank == 2 and rows.dtype == tf.float32 and rows.shape[1] == DIM:
        rows = rows @ weights
    loss = tf.reduce_sum(rows**2)
    if made not in ("flat",):
        v1.train.AdagradOptimizer(0.1).minimize(loss)
    plan = rewrite(graph, dry_run=True)
    assert [table.name for table in plan.tables] == (["user"] if made in BY_ROWS else [])
    if made in BY_ROWS:
        return
    (refusal,) = plan.refusals
    assert refusal.table == "user"
    assert "user" in refusal.path[0]


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
