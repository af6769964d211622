"""Shapes and sizes that the value flow analysis determines."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import Constant, as_written, only_reads
from migrate.source.flow import is_none as is_none_value
from migrate.source.tensorflow.base.arguments import literal, number
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import Shape
from migrate.targets.runtime import TARGET as RUNTIME


def shape_of(file: File, node: cst.BaseExpression) -> Shape | int | None:
    """Return the shape that `node` denotes; its rank if that is not 1 or 2; None if it cannot be determined."""
    listed = node if isinstance(node, (cst.List, cst.Tuple)) else as_written(file.names.flow, node)
    if listed is None and isinstance(known_number(file, node), cst.Integer):
        return Shape(node, None, file.tree.source(node), "1")  # `tf.zeros(n)` is `tf.zeros([n])`
    if listed is None or not all(isinstance(e, cst.Element) for e in listed.elements):
        return None
    elements = [e.value for e in listed.elements]
    if len(elements) not in (1, 2):
        return len(elements)
    if any(literal(e) is None or literal(e) == -1 or isinstance(literal(e), str) for e in elements):
        return None
    if listed is not node and not is_repeatable(node):
        numbers = [known_number(file, e) for e in elements] if only_reads(file.names.flow, node) else [None]
        elements = [e for e in numbers if e is not None]
        if len(elements) != len(numbers):
            return None
    named = listed is not node and is_repeatable(node)
    texts = [f"{file.tree.source(node)}[{i}]" if named else file.tree.source(e) for i, e in enumerate(elements)]
    return Shape(elements[0], (*elements, None)[1], texts[0], (*texts, "1")[1])


def repeatable(file: File, shape: Shape) -> Shape | None:
    """Return a shape whose sizes may be evaluated twice; None if evaluating one may have side effects.

    A computed size with a known value is replaced by that number. Tables of the runtime need only the number of rows
    computed, once, as in the source.
    """
    rows, columns = _repeatable(file, shape.rows), _repeatable(file, shape.columns)
    if columns is None and shape.columns is not None:
        return None
    if rows is None and file.target is RUNTIME and (columns is None or isinstance(columns, cst.Integer)):
        rows = known_number(file, shape.rows)
    if rows is None:
        return None
    text = shape.columns_text if columns is shape.columns or columns is None else file.tree.source(columns)
    return Shape(rows, columns, shape.rows_text, text)


def _repeatable(file: File, node: cst.BaseExpression | None) -> cst.BaseExpression | None:
    if node is None or is_repeatable(node):
        return node
    return known_number(file, node) if only_reads(file.names.flow, node) else None


def known_number(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the literal number that a size always evaluates to; None if there is no single one.

    None as a size is ignored: it makes the creation of the variable fail.
    """
    values = [value for value in file.names.flow.values(node) if not is_none_value(value)]
    size = values[0].node if len(values) == 1 and isinstance(values[0], Constant) else None
    return size if isinstance(size, cst.BaseExpression) and number(size) is not None else None


def is_int64(file: File, node: cst.BaseExpression) -> bool:
    """True if the file shows that `node` is a tensor of int64."""
    call = resolve(file.tree, node)
    makers = {"cast", "constant", "placeholder", "sparse_placeholder", "to_int64", "keras.Input", "keras.layers.Input"}
    if not isinstance(call, cst.Call) or file.names.of(call.func) not in makers:
        return False
    return any(file.names.of(arg.value) == "int64" or literal(arg.value) == "int64" for arg in call.args)
