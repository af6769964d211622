"""Initial values of SOK's variables that a table cannot compute by key, and arguments that may be None."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import Bound, Function, Result, Unknown, Value, is_none
from migrate.source.tensorflow.base.arguments import literal
from migrate.source.tensorflow.base.bindings import builtin
from migrate.source.tensorflow.base.program_analysis import analysed_by_name
from migrate.source.tensorflow.base.value_flow import flow_of, sources, symbol_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.edits.whole_file_draft import Draft
from migrate.source.tensorflow.sok.symbols import VARIABLE

#: The last names of initializers whose rows depend on their index instead of a distribution.
_PLACED = ("identity", "Identity", "IdentityInitializer", "orthogonal", "Orthogonal", "OrthogonalInitializer")
_CONSTANT = {"constant", "Constant"}


def check_initializer(draft: Draft, node: cst.BaseExpression) -> None:
    """Block an initializer that depends on more than a row's key: a function, a matrix, an identity."""
    keys = (_cause(draft, value) for value in flow_of(draft.file).values(node))
    key = next((one for one in keys if one), "")
    if key:
        draft.block(node, VARIABLE, key, shown=" ".join(draft.tree.source(node).split())[:60])


def _cause(draft: Draft, value: Value) -> str:
    """Return the key of the refusal of an initializer; empty for one that a table supports."""
    if isinstance(value, Function | Bound):
        return "values-of-function"
    kind = (symbol_of(value) or "").rpartition(".")[2].removesuffix("_initializer")
    if kind in _PLACED:
        return "values-by-place"
    if kind in _CONSTANT and isinstance(value, Result) and isinstance(value.node, cst.Call):
        given = {arg.keyword.value if arg.keyword is not None else "value": arg.value for arg in value.node.args[::-1]}
        if "value" in given and _is_array(draft, given["value"]):
            return "values-of-array"
    return ""


def _is_array(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for an expression that is not known to be computed from numbers and unknown names."""
    return any(not _is_number(draft, one) for one in reached(node, lambda one: _operands(draft, one)))


def _operands(draft: Draft, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the operands of a number; for a name, its value."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    return sources(draft.file, node)


def _is_number(draft: Draft, value: cst.BaseExpression) -> bool:
    """True for a number, a computed value, and a name."""
    if isinstance(value, cst.BinaryOperation | cst.UnaryOperation | cst.Name | cst.Attribute):
        return True
    cast = isinstance(value, cst.Call) and builtin(draft.tree, value.func) in {"float", "int"}
    return cast or isinstance(literal(value), int | float)


def is_function(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for an expression that may be a function of the program."""
    return any(isinstance(value, Function | Bound) for value in flow_of(draft.file).values(node))


def may_be_none(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for an expression other than None that an assignment or a parameter's default may set to None."""
    flow = flow_of(draft.file)
    if isinstance(node, cst.Attribute) and any(isinstance(one, Unknown) for one in flow.values(node.value)):
        flow = analysed_by_name(draft.tree, [node.attr.value])
    written = isinstance(node, cst.Name) and node.value == "None"
    return not written and any(is_none(value) for value in flow.values(node))
