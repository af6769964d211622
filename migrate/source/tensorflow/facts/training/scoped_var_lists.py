"""Lists of trainable variables by their names: `tf.trainable_variables("wide")`, which do not contain tables.

So are those that a condition chooses, `[v for v in tf.trainable_variables() if "wide" in v.name]`. If the full names of
all variables are known, so are the tables that the list used to contain; these are then added to the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import libcst as cst
from libcst.metadata import GlobalScope

from migrate.source.syntax.node_index import CONDITIONAL
from migrate.source.tensorflow.base.arguments import bind, is_none, literal
from migrate.source.tensorflow.base.bindings import is_fixed, is_target, scope_of_name, self_class, self_name
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import order_of, sources
from migrate.source.tensorflow.facts.calls.scope_texts import scope_text
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.optimizers.name_filters import Chosen, chosen, takes
from migrate.source.tensorflow.facts.optimizers.var_list_uses import is_trained


@dataclass(frozen=True)
class Scoped:
    """The trainable variables of a scope, or those that a condition on their names chooses."""

    made: cst.BaseExpression  #: what makes the list
    call: cst.Call  #: the call in it that lists variables
    tables: frozenset[int]  #: ids of the creations of the tables that the list contained
    names: tuple[str, ...]  #: the name of each of these tables at the use of the list


@dataclass(frozen=True)
class _Membership:
    """What decides whether a variable is in a list."""

    call: cst.Call  #: lists all variables, or those of a scope
    pattern: re.Pattern[str]  #: of the names in that list
    filters: tuple[Chosen, ...] = ()  #: the conditions on names

    def holds(self, names: Sequence[str]) -> bool | None:
        """Return whether the list has a variable of one of these names; None if that depends on which it is."""
        inside = {self.pattern.match(name) is not None for name in names}
        answers = [inside.pop() if len(inside) == 1 else None, *(takes(one, names) for one in self.filters)]
        return False if False in answers else None if None in answers else True


def scoped_list(file: File, node: cst.BaseExpression, tables: Sequence[Table]) -> Scoped | None:
    """Return the contents of a scope's list that a step uses, also through a name that nothing else reads."""
    made: cst.BaseExpression | None = node
    if isinstance(node, cst.Name | cst.Attribute):
        values = sources(file, node)
        made = values[0] if len(values) == 1 else None
        if made is None or not is_trained(file, made):
            return None
    members = _membership(file, made) if made is not None else None
    if made is None or members is None or (not members.pattern.pattern and not members.filters):
        return None
    if members.filters and not is_trained(file, members.call):
        return None
    found: dict[int, str] = {}
    for table in tables:
        if not file.tree.related(made, table.creation.call):
            continue
        names = full_names(file, table)
        within = members.holds(names) if names else None
        if within is None:
            return None
        if within:
            name = _name_at(file, table, node, members.call)
            late = order_of(file).between(members.call, table.creation.call) is not None
            if name is None or late:
                return None  # made behind the list, it was not in it
            found[id(table.creation.call)] = name
    return Scoped(made, members.call, frozenset(found), tuple(found.values()))


def _membership(file: File, made: cst.BaseExpression) -> _Membership | None:
    """Return what a list contains; None for one that is not understood."""
    if isinstance(made, cst.Call):
        pattern = name_pattern(file, made)
        return _Membership(made, pattern) if pattern is not None else None
    one = chosen(file, made)
    values = sources(file, one.listed) if one is not None else []
    inner = _membership(file, values[0]) if len(values) == 1 and values[0] is not made else None
    return replace(inner, filters=(*inner.filters, one)) if one is not None and inner is not None else None


def name_pattern(file: File, call: cst.Call) -> re.Pattern[str] | None:
    """Return the pattern of the names, as TensorFlow matches them; None if the list is not of trainable variables."""
    name = file.names.of(call.func)
    bound = bind(call, ["scope"] if name == "trainable_variables" else ["key", "scope"])
    if bound is None or name not in {"trainable_variables", "get_collection"}:
        return None
    key = bound["key"].value if "key" in bound else None
    known = key is not None and file.names.of(key) == "GraphKeys.TRAINABLE_VARIABLES"
    if name == "get_collection" and not known and literal(key) != "trainable_variables":
        return None
    text = scope_text(file, bound["scope"].value) if "scope" in bound and not is_none(bound["scope"]) else ""
    try:
        return re.compile(text) if text is not None else None
    except re.error:
        return None


def full_names(file: File, table: Table) -> list[str]:
    """Return the names that a table's former variable may have had; none if it is only known at run time."""
    creation = table.creation
    scopes = prefix(file, creation.call)
    name = creation.name or (creation.unnamed if creation.unique else None)
    late = creation.scoped or creation.numbered or creation.named_by is not None or bool(creation.emitted)
    if late or scopes is None or name is None:
        return []
    parts = [*scopes, name]
    ends = [":0", "/part_0:0"] if any("partitioner" in one.tree.text for one in file.program(creation.call)) else [":0"]
    if file.names.of(creation.call.func) == "get_variable":
        return ["/".join(parts) + end for end in ends]
    if not creation.unique or any(one.calls("name_scope") for one in file.program(creation.call)):
        return []  # a name scope is also a part of it
    # Names of variables and of scopes that are entered again get a number.
    numbered = product(*((part, f"{part}_1") for part in parts))
    return ["/".join(one) + end for one in numbered for end in ends]


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
