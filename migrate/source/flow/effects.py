"""Which expressions have no side effects, so that their evaluation may be left out."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow.attributes import OF_CLASS, PROPERTY, STATIC, decorators
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import Bound, Function, Holder, Member, Value, is_none
from migrate.source.syntax.node_index import dotted

#: The deepest chain of calls that is examined.
_DEEPEST = 6
#: Expressions that have no effects beside those of their parts.
_OF_PARTS = (
    cst.Attribute, cst.Subscript, cst.SubscriptElement, cst.Index, cst.IfExp, cst.BooleanOperation, cst.Comparison,
    cst.ComparisonTarget, cst.UnaryOperation, cst.Tuple, cst.List, cst.Dict, cst.Element, cst.DictElement, cst.Arg,
)  # fmt: skip


#: Decides whether an external function may be called.
Accepts = Callable[[Value], bool]


def only_reads(flow: ValueFlow, node: cst.CSTNode, depth: int = 0, accepts: Accepts = is_none) -> bool:
    """True if evaluating an expression has no side effects: the functions that it runs only choose and return.

    `accepts` names the external functions that have none. `depth` counts the calls entered so far.
    """
    if isinstance(node, (cst.Name, cst.BaseNumber, cst.SimpleString)):
        return True
    if depth > _DEEPEST or not all(_only_returns(flow, one, depth, accepts) for one in flow.runs(node)):
        return False
    if isinstance(node, cst.Call):
        parts: list[cst.CSTNode] = [arg.value for arg in node.args]
        if not all(accepts(one) or _is_read(one) for one in flow.values(node.func)):
            return False
        parts.append(node.func)
    elif isinstance(node, cst.Subscript):
        if any(_fills_itself(one) for one in flow.values(node.value)):
            return False
        parts = [node.value, *node.slice]
    elif isinstance(node, cst.Attribute):
        parts = [node.value]
    elif isinstance(node, _OF_PARTS):
        parts = [one for one in node.children if isinstance(one, (cst.BaseExpression, *_OF_PARTS))]
    else:
        return False
    return all(only_reads(flow, one, depth, accepts) for one in parts)


def _is_read(callee: Value) -> bool:
    """True for functions of the program, whose bodies are examined, and for methods of dicts that only read."""
    if isinstance(callee, Member):
        return isinstance(callee.base, Holder) and callee.base.kind == "dict" and callee.name in {"get", "__getitem__"}
    return isinstance(callee, (Function, Bound)) or is_none(callee)


def _fills_itself(value: Value) -> bool:
    """True for a `defaultdict`, which inserts missing entries when they are read."""
    return isinstance(value.node, cst.Call) and dotted(value.node.func).rpartition(".")[2] == "defaultdict"


def _only_returns(flow: ValueFlow, function: cst.CSTNode, depth: int, accepts: Accepts) -> bool:
    """True for a function that only chooses between expressions without side effects and returns one."""
    if isinstance(function, cst.Lambda):
        return only_reads(flow, function.body, depth + 1, accepts)
    if not isinstance(function, cst.FunctionDef) or not set(decorators(function)) <= STATIC | OF_CLASS | PROPERTY:
        return False
    return all(_only_chooses(flow, one, depth + 1, accepts) for one in function.body.body)


def _only_chooses(flow: ValueFlow, line: cst.CSTNode, depth: int, accepts: Accepts) -> bool:
    """True for statements without side effects: conditions, assignments to local names and returns."""
    if isinstance(line, (cst.SimpleStatementLine, cst.IndentedBlock, cst.SimpleStatementSuite)):
        return all(_only_chooses(flow, one, depth, accepts) for one in line.body)
    if isinstance(line, cst.If):
        blocks = [line.body, *([line.orelse] if line.orelse is not None else [])]
        return only_reads(flow, line.test, depth, accepts) and all(
            _only_chooses(flow, one, depth, accepts) for one in blocks
        )
    if isinstance(line, cst.Else):
        return _only_chooses(flow, line.body, depth, accepts)
    if isinstance(line, cst.Assign):
        return only_reads(flow, line.value, depth, accepts) and all(
            isinstance(one.target, cst.Name) for one in line.targets
        )
    if isinstance(line, cst.Return):
        return line.value is None or only_reads(flow, line.value, depth, accepts)
    return isinstance(line, cst.Pass) or (isinstance(line, cst.Expr) and isinstance(line.value, cst.SimpleString))
