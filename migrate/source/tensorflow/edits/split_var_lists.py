"""A literal `var_list` as two literal lists, which readers can check, instead of a call at run time."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.optimizers.training_model import Listed


@dataclass
class _Parts:
    dense: list[str] = field(default_factory=list)
    sparse: list[str] = field(default_factory=list)


def written_apart(judgement: Judgement, listed: Listed) -> tuple[str, str] | None:
    """Return the lists of the dense variables and of the tables' variables; None for a list that is not a literal.

    Each member must be known to be one variable: TensorFlow would also accept nested lists.
    """
    file = judgement.file
    if not file.target.variable:
        return None
    parts = _Parts()
    moving = {id(node) for table in judgement.moving for node in table.references}
    known = {id(one) for one in listed.dense} | {id(node) for table in judgement.tables for node in table.references}
    if not listed.fixed or not _add(judgement, listed.node, moving, known, parts):
        return None
    return f"[{', '.join(parts.dense)}]", f"[{', '.join(parts.sparse)}]"


def _add(judgement: Judgement, node: cst.BaseExpression, moving: set[int], known: set[int], parts: _Parts) -> bool:
    file = judgement.file
    if isinstance(node, cst.BinaryOperation):
        return all(_add(judgement, one, moving, known, parts) for one in (node.left, node.right))
    if not isinstance(node, cst.List | cst.Tuple):
        return False
    variable = file.target.variable
    for element in node.elements:
        value, text = element.value, file.tree.source(element.value)
        if isinstance(element, cst.StarredElement):
            return False
        if id(value) in moving:
            parts.sparse.append(f"{text}{variable}")
        elif id(value) in known and _is_variable(judgement, value):
            parts.dense.append(text)
        else:
            return False
    return True


def _is_variable(judgement: Judgement, node: cst.BaseExpression) -> bool:
    """True for a name that is known to hold one variable."""
    value, file = resolve(judgement.file.tree, node), judgement.file
    return isinstance(value, cst.Call) and file.names.of(value.func) in {"get_variable", "Variable"}
