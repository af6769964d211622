"""Shapes and sizes that the value flow analysis determines."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import Computed, Constant, Result, Symbol, Value, as_written, only_reads
from migrate.source.flow import is_none as is_none_value
from migrate.source.tensorflow.base.arguments import literal, number
from migrate.source.tensorflow.base.bindings import is_target, resolve
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import Shape
from migrate.source.tensorflow.base.value_flow import symbol_of
from migrate.targets.runtime import TARGET as RUNTIME

#: Functions whose first argument, or whose `shape`, is a list of sizes: with a list among them they fail.
SHAPED = frozenset({"fill", "ones", "random_normal", "random_uniform", "truncated_normal", "zeros"})

#: The classes of initializers, and the functions that make them.
_INITIALIZERS = re.compile(r"_initializer$|^keras\.initializers\.")
#: What runs its code later or again, or not all of it.
_ANEW = cst.FunctionDef | cst.ClassDef | cst.Lambda | cst.For | cst.While | cst.Try | cst.CompFor
#: Expressions that may leave a part of them out.
_PARTLY = cst.Lambda | cst.IfExp | cst.BooleanOperation | cst.BaseComp


def shape_of(file: File, node: cst.BaseExpression) -> Shape | int | None:
    """Return the shape that `node` denotes; its rank if that is not 1 or 2; None if it cannot be determined."""
    listed = node if isinstance(node, cst.List | cst.Tuple) else as_written(file.names.flow, node)
    if listed is None and (_is_whole(file, node) or _is_listed_size(file, node)):
        text = file.tree.source(node)
        return Shape(node, None, text, "1")  # `tf.zeros(n)` is `tf.zeros([n])`
    if listed is None or not all(isinstance(e, cst.Element) for e in listed.elements):
        return None
    elements = [e.value for e in listed.elements]
    if len(elements) not in (1, 2):
        return len(elements)
    if any(literal(e) is None or literal(e) == -1 or isinstance(literal(e), str) for e in elements):
        return None
    if listed is not node and not is_repeatable(node):
        found = [known_number(file, e) for e in elements] if only_reads(file.names.flow, node) else [None]
        elements = [e for e in found if e is not None]
        if len(elements) != len(found):
            return None
    named = listed is not node and is_repeatable(node)
    texts = [f"{file.tree.source(node)}[{i}]" if named else file.tree.source(e) for i, e in enumerate(elements)]
    return Shape(elements[0], (*elements, None)[1], texts[0], (*texts, "1")[1])


def _is_whole(file: File, node: cst.BaseExpression, depth: int = 4) -> bool:
    """True if an expression is surely a whole number: a literal, a length, or a sum or product of these.

    None as a size is ignored: it makes the creation of the variable fail.
    """
    values = [value for value in file.names.flow.values(node) if not is_none_value(value)]
    return bool(values) and depth > 0 and all(_is_whole_value(file, one, depth) for one in values)


def _is_whole_value(file: File, value: Value, depth: int) -> bool:
    made = value.node
    if isinstance(value, Constant):
        return isinstance(made, cst.Integer)
    if isinstance(value, Result):
        return isinstance(value.callee, Symbol) and value.callee.name in {"builtins.int", "builtins.len"}
    if not isinstance(value, Computed) or not isinstance(made, cst.BinaryOperation):
        return False
    counts = isinstance(made.operator, cst.Add | cst.FloorDivide | cst.Multiply | cst.Subtract)
    return counts and all(_is_whole(file, one, depth - 1) for one in (made.left, made.right))


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
    made = values[0].node if len(values) == 1 and isinstance(values[0], Constant) else None
    return made if isinstance(made, cst.BaseExpression) and number(made) is not None else None


def is_int64(file: File, node: cst.BaseExpression) -> bool:
    """True if the file shows that `node` is a tensor of int64."""
    call = resolve(file.tree, node)
    makers = {"cast", "constant", "placeholder", "sparse_placeholder", "to_int64", "keras.Input", "keras.layers.Input"}
    if not isinstance(call, cst.Call) or file.names.of(call.func) not in makers:
        return False
    return any(file.names.of(arg.value) == "int64" or literal(arg.value) == "int64" for arg in call.args)


def _is_listed_size(file: File, node: cst.BaseExpression) -> bool:
    """True if code that runs before `node`, in the same function, would fail unless `node` was a single size.

    Between the two, only functions of TensorFlow are called, and the name is not bound.
    """
    if not isinstance(node, cst.Name) and not (isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name)):
        return False
    text = file.tree.source(node)
    return any(_shows(file, line, node, text, between) for line, between in _before(file, node))


def _before(file: File, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, list[cst.CSTNode]]]:
    """Yield each simple line that surely ran before `node` in its function, with the lines from it on."""
    inner: cst.CSTNode = node
    between: list[cst.CSTNode] = []
    for around in file.tree.ancestors(node):
        if isinstance(around, _ANEW):
            return
        if isinstance(around, cst.IndentedBlock | cst.Module):
            place = next(i for i, line in enumerate(around.body) if line is inner)
            for line in reversed(around.body[:place]):
                between.append(line)
                if isinstance(line, cst.SimpleStatementLine):
                    yield line, between
        inner = around


def _shows(file: File, line: cst.CSTNode, node: cst.BaseExpression, text: str, between: list[cst.CSTNode]) -> bool:
    """True if a line gives a list of sizes with `text` to a function, and nothing since may have bound it."""
    contains, names = file.tree.contains, file.names
    calls = [call for call in file.tree.calls if any(contains(one, call) for one in between)]
    if not any(contains(line, call) and _takes(file, call, text) and _surely(file, line, call) for call in calls):
        return False
    uses: list[cst.Name | cst.Attribute] = [*file.tree.names[text.partition(".")[0]]]
    uses += file.tree.attributes[node.attr.value] if isinstance(node, cst.Attribute) else []
    bound = any(is_target(file.tree, use) and any(contains(one, use) for one in between) for use in uses)
    return not bound and all(names.of(call.func) is not None or _is_initializer(file, call.func) for call in calls)


def _surely(file: File, line: cst.CSTNode, call: cst.Call) -> bool:
    """True if a line that runs always evaluates a call in it."""
    around = file.tree.ancestors(call)
    return not any(isinstance(one, _PARTLY) for one in around if file.tree.contains(line, one))


def _takes(file: File, call: cst.Call, text: str) -> bool:
    """True if a call draws a matrix of a shape, written as a list, with `text` among its sizes."""
    if file.names.of(call.func) not in SHAPED and not _is_initializer(file, call.func):
        return False
    first = [arg for i, arg in enumerate(call.args) if (arg.keyword.value == "shape" if arg.keyword else not i)]
    listed = [arg.value.elements for arg in first if isinstance(arg.value, cst.List | cst.Tuple)]
    return any(len(sizes) > 1 and file.tree.source(one.value) == text for sizes in listed for one in sizes)


def _is_initializer(file: File, node: cst.BaseExpression) -> bool:
    """True if an expression is always an initializer of TensorFlow, whose first argument is a list of sizes."""
    values = file.names.flow.values(node)
    names = [symbol_of(value) or "" for value in values if isinstance(value, Result)]
    return bool(names) and len(names) == len(values) and all(_INITIALIZERS.search(name) for name in names)
