"""Recognizes statements that only print or log, whose text may change without changing what is computed."""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of

#: Functions of Python, TensorFlow and absl that only print, log or warn.
SPEAKERS = re.compile(
    r"builtins\.print|(absl\.)?logging\.(debug|info|warn|warning|error|exception|critical|log|vlog)|warnings\.warn"
)
LEVELS = {"debug", "info", "warn", "warning", "error", "exception", "critical", "log", "vlog"}
#: Functions that only read what they are given, and such methods of texts, shapes and variables.
_READERS = re.compile(
    r"builtins\.(abs|bool|dict|enumerate|float|format|int|len|list|max|min|range|repr|round|set|sorted|str|sum|tuple|zip)"
    r"|numpy\.(prod|product|sum)|(all|global|local|model|trainable)_variables|get_collection"
)
_READING = {
    "as_list", "count", "endswith", "find", "format", "get_shape", "join", "ljust", "lower", "lstrip", "num_elements",
    "replace", "rjust", "rstrip", "split", "startswith", "strip", "upper",
}  # fmt: skip
_STREAMS = {"sys.stdout", "sys.stderr"}


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


def prints_alone(file: File, use: cst.CSTNode) -> bool:
    """True if the statement around `use` prints or logs and has no other effect, however often it runs."""
    call = spoken(file, use)
    args = [arg for arg in call.args if arg.keyword is None or arg.keyword.value != "file"] if call is not None else []
    written = [arg for arg in call.args if arg not in args] if call is not None else []
    streams = all(file.tree.source(arg.value) in _STREAMS for arg in written)
    return call is not None and streams and all(only_reads(file, arg) for arg in args)


def only_printed(file: File, use: cst.CSTNode) -> bool:
    """True if a statement, loop or branch around `use` prints or logs and does nothing else."""
    return any(_prints_only(file, around) for around in file.tree.ancestors(use))


def _prints_only(file: File, block: cst.CSTNode) -> bool:
    if isinstance(block, cst.SimpleStatementLine):
        return len(block.body) == 1 and prints_alone(file, block.body[0])
    if isinstance(block, cst.For):
        names = nodes_in(block.target, cst.Name)
        uses = (use for name in names for use in flow_of(file).carried(name))
        inside = all(file.tree.contains(block, use) for use in uses)
        if block.orelse is not None or not inside or not only_reads(file, block.iter):
            return False
    elif isinstance(block, cst.If):
        other = block.orelse is None or _prints_only(file, block.orelse)
        if not other or not only_reads(file, block.test):
            return False
    elif not isinstance(block, cst.Else):
        return False
    return all(_prints_only(file, line) for line in block.body.body)


def only_reads(file: File, node: cst.CSTNode) -> bool:
    """True for an expression that is known to change nothing when it is evaluated: no name, generator or file."""
    if isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield)):
        return False
    if isinstance(node, cst.Call) and not _reads(file, node):
        return False
    return all(only_reads(file, child) for child in node.children)


def _reads(file: File, call: cst.Call) -> bool:
    func = call.func
    if isinstance(func, cst.Attribute) and func.attr.value in _READING:
        return not flow_of(file).runs(call)
    known = {file.names.of(func) or name for name in file.tree.qualified_names(func)}
    return bool(known) and all(_READERS.fullmatch(name) for name in known)


def _speaks(file: File, func: cst.BaseExpression) -> bool:
    """True for a function that prints or logs, or a method of a logger."""
    names, symbol = file.tree.qualified_names(func), file.names.of(func)
    if symbol is not None:
        return SPEAKERS.fullmatch(symbol) is not None
    if len(names) == 1 and SPEAKERS.fullmatch(names.pop()):
        return True
    if not isinstance(func, cst.Attribute) or func.attr.value not in LEVELS:
        return False
    maker = resolve(file.tree, func.value)
    imported = file.tree.imported_names(maker.func)[0] if isinstance(maker, cst.Call) else frozenset()
    return imported == {"logging.getLogger"}


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
