"""Uses of a table that read its shape or print its name, both of which were constants of the variable."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import number
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Adaptation, CodeChange, Creation, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import full_name, prefix
from migrate.source.tensorflow.facts.references.table_values import TableValues, others
from migrate.source.tensorflow.facts.variables.creations import is_partitioned

RULE = "tf-table-shape"
CONSTANT = "rows and width of the variable are fixed; the table grows, but this value stays the same"
OWN = "a table reports the shape of the variable that it replaces, although it grows"
#: The static shape, as text.
STATIC = "{0}.TensorShape([{1}])"


def measured(file: File, node: cst.BaseExpression, creation: Creation, known: TableValues) -> Adaptation | None:
    """Return the adaptation of a use that reads shape or name; None for other uses and for unavailable sizes."""
    whole, form = _shape(file, node) or (None, "")
    own = _has_shape(file, creation)
    if whole is not None and own and form == STATIC:
        shown = file.tree.one_line(whole)
        return None if _may_go(file, whole) else Adaptation(whole, RULE, f"`{shown}` does not change", OWN)
    sizes = [number(node) for node in (creation.rows, creation.dim)[: creation.rank]]
    fixed = bool(sizes) and None not in sizes
    text = ", ".join(map(str, sizes)) if fixed else None
    if whole is not None and own and not fixed and not any(others(file, known, node)):
        text, form = f"{file.tree.source(node)}.shape.as_list()", "{0}.constant({1})"
    if whole is None or text is None:
        whole, text, form = *_name(file, node, creation), "{1}"
    if whole is None or text is None or _may_go(file, whole):
        return None
    new = form.format(file.names.v1_prefix or "tf", text)
    message = f"`{file.tree.one_line(whole)}` becomes its value: `{new}`"
    return Adaptation(whole, RULE, message, CONSTANT, (CodeChange(whole, lambda *_: new),))


def _has_shape(file: File, creation: Creation) -> bool:
    """True if the table itself has the static shape of the variable."""
    made_of_sizes = creation.rank == 2 and creation.first_rows.matrix is None and not creation.target_function
    return file.target.keeps_shapes and made_of_sizes


def _may_go(file: File, node: cst.CSTNode) -> bool:
    """True inside a call that is replaced as a whole: a product with one-hot ids, or a padded table."""
    calls = [around for around in file.tree.ancestors(node) if isinstance(around, cst.Call)]
    return any(file.names.of(call.func) in {"one_hot", "concat"} for call in calls)


def check_measured(tables: list[Table]) -> None:
    """Block the tables for which the same code, depending on the object, reads different shapes."""
    asked: dict[int, set[str]] = {}
    for use in (use for table in tables for use in table.adaptations if use.rule == RULE):
        asked.setdefault(id(use.node), set()).add(use.message)
    for table in tables:
        for use in [one for one in table.adaptations if one.rule == RULE and len(asked[id(one.node)]) > 1]:
            table.blockers.append(blocker(use.node, RULE, "differing-shapes"))


def _shape(file: File, node: cst.BaseExpression) -> tuple[cst.BaseExpression, str] | None:
    """Return the expression around `node` that reads its shape, and a template of its replacement."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Attribute) and around.value is node:
        if around.attr.value == "shape":
            return around, STATIC
        call = file.tree.parent(around)
        if around.attr.value == "get_shape" and isinstance(call, cst.Call) and not call.args:
            return call, STATIC
    call = file.tree.call_with(node)
    if call is not None and len(call.args) == 1 and file.names.of(call.func) == "shape":
        return call, "{0}.constant([{1}])"
    return None


def _name(file: File, node: cst.BaseExpression, creation: Creation) -> tuple[cst.BaseExpression | None, str | None]:
    """Return `W.name` or `W.op.name` around `node` if it is only printed, and the constant string that it equals."""
    around = file.tree.parent(node)
    end = ":0"
    if isinstance(around, cst.Attribute) and around.value is node and around.attr.value == "op":
        around, end = file.tree.parent(around), ""
    if not isinstance(around, cst.Attribute) or around.attr.value != "name" or not prints(file, around):
        return None, None
    outer = prefix(file, creation.call)
    if creation.naming.unique or creation.name is None or outer is None or is_partitioned(file, creation):
        return None, None
    return around, f'"{full_name(outer, creation.name)}{end}"'
