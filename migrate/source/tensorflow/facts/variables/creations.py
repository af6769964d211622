"""Helpers of the creation rules: unsupported options, the shape, initial-value ops and partitions.

A partitioned variable becomes one table if all lookups read the same row for an id. The initial values must not depend
on the partition either. With `mod`, the default in v1, an id i reads row i // n of partition i % n; with `div`,
partitions hold consecutive ranges of ids.
"""

from __future__ import annotations

from typing import Any, cast

import libcst as cst

from migrate.source.flow import Constant
from migrate.source.tensorflow.base.arguments import (
    bind,
    by_keyword,
    dropped,
    is_none,
    literal,
    method_of,
    number,
    without,
)
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.initializers import FANS, OPS, VARIANCE_SCALING
from migrate.source.tensorflow.base.known_shapes import repeatable, shape_of
from migrate.source.tensorflow.base.model import Creation, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import Shape, is_float32
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.variable_scopes import PARAMETERS, callers_option

#: Options that change what the variable is and have no counterpart in a table, with the keys of their refusals.
FOREIGN = {
    "collections": "own-collections",
    "custom_getter": "custom-getter",
    "constraint": "constraint",
    "caching_device": "caching-device",
    "variable_def": "protocol-buffer",
    "expected_shape": "expected-shape",
    "synchronization": "distributed",
    "aggregation": "distributed",
    "shape": "declared-shape",
}
#: The parameters of `tf.constant`.
CONSTANT = ("value", "dtype", "shape", "name", "verify_shape")
#: What makes or reads variables; the first rows of a table are there before them or after, as it happens.
READERS = {"Variable", "get_variable", "gather", "gather_nd", "nn.embedding_lookup", "nn.embedding_lookup_sparse"}
#: Options that change how a variable is created and stored, but neither its rows nor their training.
HOW = {"import_scope", "use_resource", "validate_shape"}


def refuse(creation: Creation, node: cst.CSTNode, key: str, **words: Any) -> None:
    """Record that the variable cannot become a table, with the texts of the row `key` of its rule."""
    creation.blockers.append(blocker(node, creation.rule, key, **words))


def refuse_options(creation: Creation, file: File, bound: dict[str, cst.Arg]) -> None:
    """Refuse options without a counterpart and other types, and read whether the variable is trained."""
    for name, key in FOREIGN.items():
        if name in bound and not is_none(bound[name]) and not (name == "shape" and creation.rule == "tf-get-variable"):
            refuse(creation, bound[name], key, name=name)
    if not is_float32(file.names, bound.get("dtype")):
        refuse(creation, bound["dtype"], "other-type")
    if gone := HOW & {*dropped(bound, ())}:
        creation.notes.append(without(gone))
    trainable = bound.get("trainable")
    if trainable is not None and not is_none(trainable) and _truth(file, trainable.value) is not True:
        creation.trainable = trainable.value


def _truth(file: File, node: cst.BaseExpression) -> bool | None:
    """Return what an option is, as written or at all calls of the function it is a parameter of; None if not known."""
    values = [literal(node)]
    if values == [...]:
        possible = flow_of(file).values(node)
        values = [literal(one.node) if isinstance(one, Constant) else ... for one in possible]
    only = values[0] if values and all(one is values[0] for one in values) else None
    return only if isinstance(only, bool) else None


def read_shape(creation: Creation, file: File, node: cst.BaseExpression | None) -> Shape | None:
    """Read the shape into `creation`; refuse it and return None unless it is `[rows, dim]` or `[rows]`."""
    shape = shape_of(file, node) if node is not None else None
    if not isinstance(shape, Shape):
        where = node if node is not None else creation.call
        refuse(creation, where, "other-rank" if shape is not None else "unread-shape", shape=shape)
        return None
    return _taken(creation, file, shape)


def _taken(creation: Creation, file: File, written: Shape) -> Shape | None:
    shape = repeatable(file, written)
    if shape is None:
        refuse(creation, written.rows, "computed-shape")
        return None
    creation.rows, creation.dim = shape.rows, shape.columns
    creation.rank = 1 if shape.columns is None else 2
    creation.rows_text, creation.dim_text = shape.rows_text, shape.columns_text
    return shape


def read_initial_op(creation: Creation, file: File, node: cst.BaseExpression) -> None:
    """Read shape and initial values from `tf.zeros([V, D])` or `initializer([V, D])`; anything else is a matrix."""
    value = resolve(file.tree, node)
    shape_node = _shape_argument(file, value) if isinstance(value, cst.Call) else None
    name = file.names.of(value.func) if isinstance(value, cst.Call) else None
    drawn = name in OPS
    shaped = shape_node is not None and name is None and isinstance(shape_of(file, shape_node), Shape)
    sized = shape_node is not None and (drawn or shaped)
    if sized and value is node and not _holds_values(file, value):
        shape = read_shape(creation, file, shape_node)
        if shape is not None:
            creation.initializer = file.initializers.op(value, shape)
        if shape is not None and creation.initializer is None:
            refuse(creation, node, "unknown-values")
    elif isinstance(value, cst.Lambda) or _reads_variables(file, node):
        refuse(creation, node, "unknown-values")
    elif in_parts(creation, file):
        refuse(creation, node, "matrix-parts")
    elif _is_other_type(creation, file, value):
        refuse(creation, node, "other-type")
    else:
        _read_matrix(creation, file, node, value)


def _holds_values(file: File, value: cst.BaseExpression) -> bool:
    """True for `tf.constant` of anything but a number that is written there."""
    bound = bind(value, CONSTANT) if isinstance(value, cst.Call) and file.names.of(value.func) == "constant" else None
    return bound is not None and "value" in bound and number(bound["value"].value) is None


def _reads_variables(file: File, node: cst.BaseExpression) -> bool:
    """True if an initial value reads a variable that may not have its own yet, but for `initialized_value()`."""

    def parts(part: cst.CSTNode) -> list[cst.CSTNode]:
        if isinstance(part, cst.Call) and method_of(part) == "initialized_value":
            return []
        return [*part.children, *([resolve(file.tree, part)] if isinstance(part, (cst.Name, cst.Attribute)) else [])]

    every = reached(cast(cst.CSTNode, node), parts)
    return any(isinstance(one, cst.Call) and file.names.of(one.func) in READERS for one in every)


def in_parts(creation: Creation, file: File) -> bool:
    """True if a partitioner may spread the rows, so that an id reads another row than that of its number."""
    if creation.naming.unique:
        return False
    outer = callers_option(file, creation.call, "partitioner")
    return outer is not None or is_partitioned(file, creation)


def _is_other_type(creation: Creation, file: File, value: cst.BaseExpression) -> bool:
    """True if neither the variable nor its matrix is float32, as the call that makes the matrix says."""
    if not isinstance(value, cst.Call) or by_keyword(creation.call, "dtype") is not None:
        return False
    written = by_keyword(value, "dtype")
    position = 1 if file.names.of(value.func) == "cast" else 0 if method_of(value) == "astype" else len(value.args)
    if written is None and position < len(value.args):
        written = value.args[position]
    return not is_float32(file.names, written)


def _read_matrix(creation: Creation, file: File, node: cst.BaseExpression, value: cst.BaseExpression) -> None:
    """Take an expression as the matrix of the first rows; its type and width are assumed where they are not written."""
    creation.first_rows.matrix, creation.rank = node, 2
    name = file.names.of(value.func) if isinstance(value, cst.Call) else None
    bound = bind(value, OPS[name][1]) if name in OPS and isinstance(value, cst.Call) else None
    shape = shape_of(file, bound["shape"].value) if bound and "shape" in bound else None
    if bound is None or not isinstance(shape, Shape) or shape.columns is None or not _is_float32(file, bound, name):
        refuse(creation, node, "matrix", shown=file.tree.excerpt(node))
    elif value is node:
        _taken(creation, file, shape)


def _is_float32(file: File, bound: dict[str, cst.Arg], name: str | None) -> bool:
    """True if the value of an op is float32; that of `tf.constant` depends on its argument unless it is written."""
    return is_float32(file.names, bound.get("dtype")) and (name != "constant" or "dtype" in bound)


def _shape_argument(file: File, call: cst.Call) -> cst.BaseExpression | None:
    name = file.names.of(call.func)
    parameters = OPS[name][1] if name in OPS else ("shape", "dtype", "partition_info")
    bound = bind(call, parameters)
    shape = (bound.get("shape") or bound.get("dims")) if bound else None
    return shape.value if shape else None


DROPPED = "the partitioner is dropped: a table is not split by row ranges"
OTHER_ORDER = "by `mod`, the default in v1, rows of an old checkpoint are not in the order of their ids"
#: Place of the partitioner among the arguments of `tf.get_variable`.
_PLACE = 8
#: Initializers whose fan is that of one partition; other v1 initializers use the fan of the whole variable.
OF_PARTS = {"xavier_initializer", "contrib_variance_scaling_initializer"}


def is_partitioned(file: File, creation: Creation) -> bool:
    """True if the variable, or any scope of the file, has a partitioner; scopes act on columns, too."""
    if creation.naming.unique:
        return bool(creation.target_function) and _is_partitioned_by_scope(file)
    own = any(_is_partitioner(arg, position) for position, arg in enumerate(creation.call.args))
    return own or _is_partitioned_by_scope(file)


def _is_partitioned_by_scope(file: File) -> bool:
    scopes = (bind(call, PARAMETERS) or {} for call, _ in file.calls("variable_scope"))
    partitioned = any("partitioner" in bound and not is_none(bound["partitioner"]) for bound in scopes)
    return partitioned or "set_partitioner" in file.tree.attributes


def _is_partitioner(arg: cst.Arg, place: int) -> bool:
    named = arg.keyword.value == "partitioner" if arg.keyword is not None else place == _PLACE
    return named and not is_none(arg)


def check_parts(file: File, table: Table) -> None:
    """Block a partitioned variable whose lookups differ in the row that they read for an id."""
    if not table.lookups or not is_partitioned(file, table.creation):
        return
    ways = sorted({lookup.strategy for lookup in table.lookups})
    table.creation.notes += [DROPPED] if ways == ["div"] else [DROPPED, OTHER_ORDER]
    if len(ways) > 1:
        node, rule = table.lookups[0].call, table.lookups[0].rule
        named = " and ".join("the default" if way == "default" else f"`{way}`" for way in ways)
        table.blockers.append(blocker(node, rule, "parts-differ", named=named))


def takes_fan_of_part(file: File, value: cst.BaseExpression) -> bool:
    """True for an initializer whose bound, in a partitioned variable, depends on the shape of one partition."""
    name = file.names.of(value.func if isinstance(value, cst.Call) else value) or ""
    return name in OF_PARTS or (name.startswith("keras.") and name in {*FANS, *VARIANCE_SCALING})
