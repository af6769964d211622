"""Computed names of variables in programs that reuse variables, where an existing name means the existing variable."""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import given_argument, is_name, is_none, keyword, literal, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Creation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import full_name, prefix

#: Modules of TensorFlow whose recurrent cells name their variables by constants, and these constants.
CELLS = re.compile(r"tensorflow\.(.*\.)?(rnn_cell_impl|core_rnn_cell)\.\w+")
TEXTS = {"_WEIGHTS_VARIABLE_NAME": "kernel", "_BIAS_VARIABLE_NAME": "bias"}


def may_reuse(file: File) -> bool:
    """True if anything in the program allows a variable to be reused."""
    return _mentions(file, "AUTO_REUSE") or may_demand_reuse(file)


def may_demand_reuse(file: File) -> bool:
    """True if a scope of the program may demand that its variables exist, as `reuse=True` does."""
    arguments = [arg for call in file.tree.calls for arg in call.args if keyword(arg) == "reuse"]
    demands = (arg for arg in arguments if not is_none(arg) and literal(arg.value) is not False)
    return _mentions(file, "reuse_variables") or any(file.names.of(arg.value) != "AUTO_REUSE" for arg in demands)


def _mentions(file: File, name: str) -> bool:
    return name in file.tree.attributes or name in file.tree.names


def namesake(file: File, creation: Creation) -> cst.Call | None:
    """Return another `get_variable` that may have the name of `creation`, whose name is computed; None if none may."""
    own = _ends(file, creation.call)
    for call, _ in file.calls("get_variable"):
        if call is creation.call or not file.tree.related(call, creation.call):
            continue
        (head, tail), (begins, ends) = own, _ends(file, call)
        begun = head.startswith(begins) or begins.startswith(head)
        ended = tail.endswith(ends) or ends.endswith(tail)
        if begun and ended and not has_other_rank(file, call, creation.rank):
            return call
    return None


def _ends(file: File, call: cst.Call) -> tuple[str, str]:
    """Return the known prefix and suffix of a variable's full name."""
    outer = prefix(file, call)
    wanted = pattern(file, given_argument(call, "name", 0)).split(".*")
    head, tail = (re.sub(r"\\(.)", r"\1", part) for part in (wanted[0], wanted[-1]))
    before = full_name(outer, "")
    return (before + head if outer is not None else ""), (before + tail if len(wanted) == 1 else tail)


def may_act(name: cst.BaseExpression | None) -> bool:
    """True if reading a name twice may not give the same: it calls something else than what makes texts."""
    calls = [] if name is None else nodes_in(name, cst.Call)
    return not all(is_name(call.func, "str") or _is_format(call.func) for call in calls)


def _is_format(callee: cst.BaseExpression) -> bool:
    return isinstance(callee, cst.Attribute) and callee.attr.value == "format"


def has_other_rank(file: File, call: cst.Call, rank: int) -> bool:
    """True if the call has a shape that a table of that rank cannot have."""
    given = given_argument(call, "shape", 1)
    shape = resolve(file.tree, given) if given is not None else None
    if not isinstance(shape, cst.List | cst.Tuple) or any(isinstance(e, cst.StarredElement) for e in shape.elements):
        return False
    return len(shape.elements) != rank


def pattern(file: File, node: cst.BaseExpression | None) -> str:
    """Return a regular expression for the strings that `node` may be."""
    text = string(resolve(file.tree, node)) if node is not None else None
    if text is None and node is not None:
        text = next(
            (TEXTS[last] for name in file.tree.imported_names(node)[0] if (last := _of_cells(name)) in TEXTS), None
        )
    if text is not None:
        return re.escape(text)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return pattern(file, node.left) + pattern(file, node.right)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return _filled(string(node.left), r"%[^a-zA-Z%]*[a-zA-Z]|%%")
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return _filled(string(node.func.value), r"\{[^{}]*\}|\{\{|\}\}")
    if isinstance(node, cst.FormattedString):
        plain = (cst.FormattedStringText,)
        return "".join(re.escape(one.value) if isinstance(one, plain) else ".*" for one in node.parts)
    return ".*"


def _of_cells(name: str) -> str:
    """Return the last part of the qualified name of something that TensorFlow's cells define; else an empty text."""
    return name.rpartition(".")[2] if CELLS.fullmatch(name) is not None else ""


def _filled(text: str | None, holes: str) -> str:
    return ".*" if text is None else ".*".join(re.escape(part) for part in re.split(holes, text))
