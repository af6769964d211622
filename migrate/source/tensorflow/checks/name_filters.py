"""Conditions on the names of variables, which must say the same of a table: `"bias" not in v.name`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from migrate.source.tensorflow.base.arguments import literal, string
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix


def full_name(file: File, table: Table) -> str | None:
    """Return the name that the variable of a table has in its graph; None if it is known only when the program runs."""
    creation = table.creation
    if creation.name is None or creation.scoped or creation.numbered or creation.emitted:
        return None
    if creation.unique and file.calls("name_scope"):
        return None
    scopes = prefix(file, creation.call)
    return None if scopes is None else "/".join([*filter(None, scopes), creation.name]) + ":0"


def says_the_same(file: File, names: Iterable[cst.Attribute], tables: Sequence[Table]) -> bool:
    """True if all that is asked of these `v.name` is the same for the variables of tables and for the tables."""
    known = [full_name(file, table) for table in tables]
    for name in names:
        for full in known:
            if full is None and _never(file, name):
                continue
            asked = _answer(file, name, full) if full is not None else None
            if asked is None or full is None or asked != _answer(file, name, full.replace("/", "_")):
                return False
    return True


def _never(file: File, name: cst.Attribute) -> bool:
    """True for `v.name in ["bias"]`: no variable has a name without `:0`."""
    around = file.tree.parent(name)
    listed = literal(around.comparisons[0].comparator) if isinstance(around, cst.Comparison) else None
    return _answer(file, name, "") is not None and isinstance(listed, list | tuple | set) and ":" not in str(listed)


def _answer(file: File, name: cst.Attribute, value: str) -> bool | None:
    """Return what the comparison or call around `v.name` gives for a value of it; None if that is not understood."""
    around = file.tree.parent(name)
    if isinstance(around, cst.ComparisonTarget):
        comparison = file.tree.parent(around)
        given = string(comparison.left) if isinstance(comparison, cst.Comparison) else None
        single = isinstance(comparison, cst.Comparison) and len(comparison.comparisons) == 1
        within = isinstance(around.operator, cst.In | cst.NotIn)
        return given in value if given is not None and single and within else None
    if isinstance(around, cst.Comparison) and around.left is name and len(around.comparisons) == 1:
        listed = literal(around.comparisons[0].comparator)
        within = isinstance(around.comparisons[0].operator, cst.In | cst.NotIn)
        return value in listed if within and isinstance(listed, list | tuple | set) else None
    call = file.tree.parent(around) if isinstance(around, cst.Attribute) else None
    if isinstance(around, cst.Attribute) and isinstance(call, cst.Call) and len(call.args) == 1:
        given = string(call.args[0].value)
        asks = {"startswith": str.startswith, "endswith": str.endswith}.get(around.attr.value)
        return asks(value, given) if asks is not None and given is not None else None
    return None
