"""Lists of the trainable variables of a scope, `tf.trainable_variables("wide")`, which do not contain tables.

If the full names of all variables are known, so are the tables that the list used to contain; these are then added to
the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import GlobalScope

from migrate.source.syntax.node_index import CONDITIONAL
from migrate.source.tensorflow.base.arguments import bind, literal, string
from migrate.source.tensorflow.base.bindings import is_fixed, is_target, scope_of_name, self_class, self_name
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import sources
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.optimizers.var_list_uses import is_trained


@dataclass(frozen=True)
class Scoped:
    """The trainable variables of a scope."""

    call: cst.Call
    tables: frozenset[int]  #: ids of the creations of the tables that the list contained
    names: tuple[str, ...]  #: the name of each of these tables at the use of the list


def scoped_list(file: File, node: cst.BaseExpression, tables: Sequence[Table]) -> Scoped | None:
    """Return the contents of a scope's list that a step uses, also through a name that nothing else reads."""
    call: cst.BaseExpression | None = node
    if isinstance(node, cst.Name):
        made = sources(file, node)
        call = made[0] if len(made) == 1 else None
        if call is None or not is_trained(file, call):
            return None
    pattern = _pattern(file, call) if isinstance(call, cst.Call) else None
    if pattern is None or not isinstance(call, cst.Call):
        return None
    found: dict[int, str] = {}
    for table in tables:
        if not file.tree.related(call, table.creation.call):
            continue
        full = _full_name(file, table)
        if full is None:
            return None
        if pattern.match(f"{full}:0"):
            name = _name_at(file, table, node, call)
            if name is None:
                return None
            found[id(table.creation.call)] = name
    return Scoped(call, frozenset(found), tuple(found.values()))


def _pattern(file: File, call: cst.Call) -> re.Pattern[str] | None:
    """Return the pattern of the names, as TensorFlow matches them; None if the list is not of a single scope."""
    name = file.names.of(call.func)
    if name == "trainable_variables":
        bound = bind(call, ["scope"]) or {}
    elif name == "get_collection":
        bound = bind(call, ["key", "scope"]) or {}
        key = bound["key"].value if "key" in bound else None
        known = key is not None and file.names.of(key) == "GraphKeys.TRAINABLE_VARIABLES"
        bound = bound if known or literal(key) == "trainable_variables" else {}
    else:
        return None
    text = string(bound["scope"].value) if "scope" in bound else None
    try:
        return re.compile(text) if text else None
    except re.error:
        return None


def _full_name(file: File, table: Table) -> str | None:
    """Return the full name of a table's former variable; None if it is only known at run time."""
    creation = table.creation
    scopes = prefix(file, creation.call)
    if file.names.of(creation.call.func) != "get_variable":
        return None  # a name scope may also be a part of it
    late = creation.unique or creation.scoped or creation.numbered or creation.named_by is not None
    if late or creation.emitted or scopes is None or creation.name is None:
        return None
    return "/".join([*scopes, creation.name])


def _name_at(file: File, table: Table, node: cst.BaseExpression, call: cst.Call) -> str | None:
    """Return a name that denotes the table at `node`, bound before `call` creates the list; None if there is none."""
    tree = file.tree
    function = tree.enclosing(node, cst.FunctionDef)
    for one in table.references:
        if tree.module_of(one) is not tree.module_of(node) or not is_target(tree, one) or not is_fixed(tree, one):
            continue
        here = tree.enclosing(one, cst.FunctionDef) is function
        if any(isinstance(a, CONDITIONAL) and not tree.contains(a, node) for a in tree.ancestors(one)):
            continue  # it may be unbound
        if here and tree.span(one)[0] > tree.span(call)[0]:
            continue
        if isinstance(one, cst.Name) and (here or isinstance(scope_of_name(tree, one), GlobalScope)):
            return one.value
        if isinstance(one, cst.Attribute) and _is_of_same(file, one, function):
            return tree.source(one)
    return None


def _is_of_same(file: File, attribute: cst.Attribute, function: cst.FunctionDef | None) -> bool:
    """True for an attribute of `self` in the class of the method `function`."""
    cls = self_class(file.tree, attribute)
    if cls is None or function is None or not isinstance(attribute.value, cst.Name):
        return False
    method = file.tree.parent(file.tree.parent(function) or function) is cls
    return method and self_name(function) == attribute.value.value
