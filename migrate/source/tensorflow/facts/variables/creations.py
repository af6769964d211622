"""What the creation rules share: options that a table cannot have, the shape, initial-value ops."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, dropped, is_none, literal, without
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.initializers import OPS
from migrate.source.tensorflow.base.known_shapes import repeatable, shape_of
from migrate.source.tensorflow.base.model import Blocker, Creation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import Shape

#: Options that change what the variable is; a table has no counterpart.
FOREIGN = {
    "collections": "it is put into collections of its own",
    "custom_getter": "a custom getter rewrites how the variable is made",
    "constraint": "a constraint projects the whole matrix after every update",
    "caching_device": "it has a caching device",
    "variable_def": "it is made from a protocol buffer",
    "expected_shape": "it states an expected shape",
    "synchronization": "it is a distributed variable",
    "aggregation": "it is a distributed variable",
    "shape": "its shape is declared apart from its value",
}
#: Options that change how a variable is made and kept, but neither its rows nor how they are trained.
HOW = {"import_scope", "use_resource", "validate_shape"}
MATRIX = "its initial values may be a matrix, with a row of its own for each id"
IMPORT_ROWS = (
    "keep it dense; or make it with a constant, uniform or normal initializer and bring the rows of the matrix by "
    "`migrate checkpoint` or by `import_rows` of the table"
)


def refuse(creation: Creation, node: cst.CSTNode, reason: str, action: str) -> None:
    """Record why the variable cannot become a table."""
    creation.blockers.append(Blocker(node, creation.rule, "this variable cannot become a table", reason, action))


def refuse_options(creation: Creation, file: File, bound: dict[str, cst.Arg]) -> None:
    """Refuse the options that have no counterpart, and a variable that is not trained."""
    for name, reason in FOREIGN.items():
        if name in bound and not is_none(bound[name]) and not (name == "shape" and creation.rule == "tf-get-variable"):
            refuse(creation, bound[name], reason, f"remove `{name}`, or keep the variable dense")
    if gone := HOW & {*dropped(bound, ())}:
        creation.notes.append(without(gone))
    trainable = bound.get("trainable")
    if trainable is not None and literal(trainable.value) is not True:
        fixed = literal(trainable.value) is False
        reason = "trainable=False: it is never updated" if fixed else "whether it is trainable is decided at run time"
        refuse(creation, trainable, reason, "leave it dense, or make it trainable")


def read_shape(creation: Creation, file: File, node: cst.BaseExpression | None) -> Shape | None:
    """Read the shape into `creation`; refuses and returns None when it is not `[rows, dim]` or `[rows]`."""
    shape = shape_of(file, node) if node is not None else None
    if not isinstance(shape, Shape):
        known = f"its rank is {shape}" if shape is not None else "its shape cannot be read"
        where = node if node is not None else creation.call
        refuse(creation, where, known, "a table needs a shape written as [rows, dim]")
        return None
    return _taken(creation, file, shape)


def read_sizes(creation: Creation, file: File, rows: cst.BaseExpression, dim: cst.BaseExpression) -> Shape | None:
    """Read rows and width that are given apart; refuses and returns None where they cannot be written twice."""
    return _taken(creation, file, Shape(rows, dim, file.tree.source(rows), file.tree.source(dim)))


def _taken(creation: Creation, file: File, given: Shape) -> Shape | None:
    shape = repeatable(file, given)
    if shape is None:
        refuse(creation, given.rows, "its shape calls a function", "assign the sizes to names first")
        return None
    creation.rows, creation.dim = shape.rows, shape.columns
    creation.rank = 1 if shape.columns is None else 2
    creation.rows_text, creation.dim_text = shape.rows_text, shape.columns_text
    return shape


def read_initial_op(creation: Creation, file: File, node: cst.BaseExpression) -> None:
    """Read shape and initial values from `tf.random_normal([V, D], ...)` or `initializer([V, D])`."""
    value = resolve(file.tree, node)
    shape_node = _shape_argument(file, value) if isinstance(value, cst.Call) else None
    drawn = isinstance(value, cst.Call) and file.names.of(value.func) in OPS
    sized = shape_node is not None and (drawn or isinstance(shape_of(file, shape_node), Shape))
    if not sized or value is not node:
        refuse(creation, node, "its initial values are not understood" if drawn else MATRIX, IMPORT_ROWS)
        return
    shape = read_shape(creation, file, shape_node)
    if shape is None:
        return
    creation.initializer = file.initializers.op(value, shape)
    if creation.initializer is None:
        refuse(creation, node, "its initial values are not understood", IMPORT_ROWS)


def _shape_argument(file: File, call: cst.Call) -> cst.BaseExpression | None:
    name = file.names.of(call.func)
    parameters = OPS[name][1] if name in OPS else ("shape", "dtype", "partition_info")
    bound = bind(call, parameters)
    found = (bound.get("shape") or bound.get("dims")) if bound else None
    return found.value if found else None
