"""Recognizes statements that only print or log, whose text may change without changing what is computed."""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File

#: Functions of Python, TensorFlow and absl that only print, log or warn.
SPEAKERS = re.compile(
    r"builtins\.print|(absl\.)?logging\.(debug|info|warn|warning|error|exception|critical|log|vlog)|warnings\.warn"
)
LEVELS = {"debug", "info", "warn", "warning", "error", "exception", "critical", "log", "vlog"}


def prints(file: File, use: cst.CSTNode) -> bool:
    """True if the statement around `use` only prints or logs."""
    return spoken(file, use) is not None


def spoken(file: File, use: cst.CSTNode) -> cst.Call | None:
    """Return the call that prints or logs if this is all that the statement around `use` does; else None."""
    line = file.tree.statement(use)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    expression = line.body[0].value if isinstance(line.body[0], cst.Expr) else None
    return expression if isinstance(expression, cst.Call) and _speaks(file, expression.func) else None


def _speaks(file: File, func: cst.BaseExpression) -> bool:
    """True for a function that prints or logs, or a method of a logger."""
    scope = file.tree.scope(func)
    names = {one.name for one in scope.get_qualified_names_for(func)} if scope is not None else set()
    symbol = file.names.of(func)
    if symbol is not None:
        return SPEAKERS.fullmatch(symbol) is not None
    if len(names) == 1 and SPEAKERS.fullmatch(names.pop()):
        return True
    if not isinstance(func, cst.Attribute) or func.attr.value not in LEVELS:
        return False
    made = resolve(file.tree, func.value)
    given = file.tree.imported_names(made.func)[0] if isinstance(made, cst.Call) else frozenset()
    return given == {"logging.getLogger"}


def is_shown(file: File, node: cst.BaseExpression) -> cst.Call | None:
    """Return the logging call that shows the value at `node` as text, if it does nothing else with it."""
    call = spoken(file, node)
    for around in file.tree.ancestors(node) if call is not None else ():
        if around is call:
            return call
        if not _shows(file, around):
            return None
    return None


def _shows(file: File, around: cst.CSTNode) -> bool:
    """True for a node that formats a value as text, or only contains it."""
    if isinstance(around, cst.BinaryOperation):
        return isinstance(around.operator, cst.Modulo) and isinstance(around.left, cst.SimpleString)
    if isinstance(around, cst.Call):
        if isinstance(around.func, cst.Attribute):
            return around.func.attr.value == "format" and isinstance(around.func.value, cst.SimpleString)
        return isinstance(around.func, cst.Name) and around.func.value in {"str", "repr"}
    if isinstance(around, cst.Arg):
        return not around.star
    kinds = cst.Element | cst.Tuple | cst.List | cst.FormattedString | cst.FormattedStringExpression
    return isinstance(around, kinds)
