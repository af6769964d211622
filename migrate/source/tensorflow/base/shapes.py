"""The shape and the element type of a variable, read from its creation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst
import libcst.matchers as m

from migrate.source.flow import Constant, as_written, only_reads
from migrate.source.flow import is_none as is_none_value
from migrate.source.tensorflow.base.arguments import is_none, literal, number
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.symbols import TfNames
from migrate.targets.runtime import TARGET as RUNTIME

if TYPE_CHECKING:
    from migrate.source.tensorflow.base.rule_kinds import File

#: Calls that may be written twice: they have no effect and always give the same.
PURE_CALLS = {"int", "len", "max", "min", "round", "float", "abs"}
#: What classes define that compute an entry when it is read.
ENTRIES = ("__getitem__", "__missing__", "__class_getitem__", "defaultdict")


@dataclass(frozen=True)
class Shape:
    """`[rows, columns]`, or `[rows]` when `columns` is None."""

    rows: cst.BaseExpression
    columns: cst.BaseExpression | None
    rows_text: str
    columns_text: str  #: `1` for a shape of rank 1

    def operands(self) -> tuple[str, str]:
        """Return both sizes as operands of an arithmetic expression."""
        columns = self.columns if self.columns is not None else self.rows
        text = self.columns_text if self.columns is not None else self.rows_text
        return _operand(self.rows, self.rows_text), _operand(columns, text)


def _operand(node: cst.BaseExpression, text: str) -> str:
    plain = isinstance(node, cst.Name | cst.Attribute | cst.Integer | cst.Subscript | cst.Call) or text.startswith("(")
    return text if plain else f"({text})"


def shape_of(file: File, node: cst.BaseExpression) -> Shape | int | None:
    """Return the shape that `node` is; its rank when that is not 1 or 2; None when it is not understood."""
    listed = node if isinstance(node, cst.List | cst.Tuple) else as_written(file.names.flow, node)
    if listed is None or not all(isinstance(e, cst.Element) for e in listed.elements):
        return None
    elements = [e.value for e in listed.elements]
    if len(elements) not in (1, 2):
        return len(elements)
    if any(literal(e) is None or literal(e) == -1 for e in elements):
        return None
    if listed is not node and not is_repeatable(node):
        found = [known_number(file, e) for e in elements] if only_reads(file.names.flow, node) else [None]
        elements = [e for e in found if e is not None]
        if len(elements) != len(found):
            return None
    named = listed is not node and is_repeatable(node)
    texts = [f"{file.tree.source(node)}[{i}]" if named else file.tree.source(e) for i, e in enumerate(elements)]
    return Shape(elements[0], (*elements, None)[1], texts[0], (*texts, "1")[1])


def repeatable(file: File, shape: Shape) -> Shape | None:
    """Return the shape with sizes that may be written twice; None where one calls what may do more than give it.

    A number that is known stands for what computes it wherever it is written again. Of the runtime's tables only the
    rows are computed, and once, as they were.
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
    """Return the one number, as it is written, that a size is whenever it is computed; None for any other.

    A size that is None is none: making the variable fails.
    """
    values = [value for value in file.names.flow.values(node) if not is_none_value(value)]
    made = values[0].node if len(values) == 1 and isinstance(values[0], Constant) else None
    return made if isinstance(made, cst.BaseExpression) and number(made) is not None else None


def is_repeatable(node: cst.CSTNode | None) -> bool:
    """True when writing the expression twice computes the same twice."""
    if node is None:
        return True
    calls = _Calls()
    node.visit(calls)
    pure = all(isinstance(c.func, cst.Name) and c.func.value in PURE_CALLS for c in calls.found)
    return pure and not calls.sets


def reads_plainly(file: File, node: cst.CSTNode) -> bool:
    """True when nothing read in `node` is seen to be a property, or an entry, that does more than give a value."""
    tree = file.tree
    if m.findall(node, m.Subscript()) and any(name in tree.names for name in ENTRIES):
        return False
    names = {one.attr.value for one in m.findall(node, m.Attribute()) if isinstance(one, cst.Attribute)}
    made = [tree.parent(use) for name in names for use in tree.names.get(name, ())]
    return all(_gives(one) for one in made if isinstance(one, cst.FunctionDef) and one.decorators)


def _gives(function: cst.FunctionDef) -> bool:
    """True for a function that only returns an expression without calls."""
    small = (line.body if isinstance(line, cst.SimpleStatementLine) else [line] for line in function.body.body)
    code = [
        one for line in small for one in line if not m.matches(one, m.Expr(m.SimpleString() | m.ConcatenatedString()))
    ]
    return len(code) == 1 and isinstance(code[0], cst.Return) and is_repeatable(code[0].value)


class _Calls(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Call] = []
        self.sets = False  #: whether it gives a name a value

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self.sets = True

    def visit_Call(self, node: cst.Call) -> None:
        self.found.append(node)


def is_float32(names: TfNames, arg: cst.Arg | None) -> bool:
    """True when a `dtype` argument is absent or provably float32."""
    if arg is None or is_none(arg):
        return True
    if names.of(arg.value) == "float32" or literal(arg.value) == "float32":
        return True
    imported, shadowed = names.tree.imported_names(arg.value)
    return not shadowed and imported == {"numpy.float32"}


def is_int64(file: File, node: cst.BaseExpression) -> bool:
    """True when `node` is a tensor that the file shows to be of int64."""
    call = resolve(file.tree, node)
    makers = {"cast", "constant", "placeholder", "sparse_placeholder", "to_int64"}
    if not isinstance(call, cst.Call) or file.names.of(call.func) not in makers:
        return False
    return any(file.names.of(arg.value) == "int64" or literal(arg.value) == "int64" for arg in call.args)
