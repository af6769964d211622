"""The contents of a training step's `var_list`: tables and dense variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import cast

import libcst as cst

from migrate.source.flow import Computed, Holder, Result, Value, only_reads_entries
from migrate.source.tensorflow.base.bindings import assigned_value, binders, builtin
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, sources
from migrate.source.tensorflow.facts.calls.object_attributes import MAKERS
from migrate.source.tensorflow.facts.optimizers.training_model import RULE, Listed

PLAIN = cst.Name | cst.Attribute | cst.Subscript
LISTS = cst.List | cst.Tuple | cst.Dict | cst.ListComp | cst.DictComp | cst.BinaryOperation

#: A class of expressions, or a union of such classes.
Kinds = type[cst.BaseExpression] | UnionType


class Owners(dict[int, set[int]]):
    """Maps the ids of nodes that mention tables to the ids of the calls that create these tables."""

    def __init__(self, tables: Sequence[Table]) -> None:
        super().__init__()
        self.tables = tables
        for table in tables:
            for node in table.references:
                self.setdefault(id(node), set()).add(id(table.creation.call))


@dataclass(frozen=True)
class NotKnown:
    """A part of a list whose contents the source does not show."""

    node: cst.BaseExpression


@dataclass
class _Members:
    found: list[cst.BaseExpression] = field(default_factory=list)
    fixed: bool = True
    asked: set[cst.BaseExpression] = field(default_factory=set)


class _NotSeen(Exception):
    """Raised with the part of a list whose contents are not known."""

    def __init__(self, node: cst.BaseExpression) -> None:
        super().__init__()
        self.node = node


def listed_in(file: File, node: cst.BaseExpression, owners: Owners) -> Listed | NotKnown:
    """Return the contents of a `var_list`, or the part of it that is not known."""
    members = _Members()
    try:
        _add(file, node, owners, members)
    except _NotSeen as found:
        return NotKnown(found.node)
    tables = frozenset(call for one in members.found for call in owners.get(id(one), ()))
    dense = [one for one in members.found if id(one) not in owners]
    return Listed(node, tables, tuple(dense), members.fixed)


def _add(file: File, node: cst.BaseExpression, owners: Owners, members: _Members) -> None:
    """Add the members of the list at `node`."""
    if id(node) in owners or node in members.asked:
        raise _NotSeen(node)
    members.asked.add(node)
    if isinstance(node, cst.List | cst.Tuple):
        for element in node.elements:
            if isinstance(element, cst.StarredElement):
                _add(file, element.value, owners, members)
            else:
                members.found.append(_member(file, element.value, owners))
    elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        _add(file, node.left, owners, members)
        _add(file, node.right, owners, members)
    elif isinstance(node, cst.ListComp) and id(node.elt) in owners:
        _keep_mixed(file, node.elt, owners)
        members.found.append(node.elt)
        members.fixed = False  # it may be empty
    elif isinstance(node, cst.Call):
        _add_call(file, node, owners, members)
    elif isinstance(node, PLAIN):
        _add_named(file, node, owners, members)
    else:
        raise _NotSeen(node)
    members.asked.discard(node)


def _add_call(file: File, call: cst.Call, owners: Owners, members: _Members) -> None:
    """Add the members of `list(x)` or `tuple(x)`, or of the values of a dict."""
    if builtin(file.tree, call.func) in {"list", "tuple"} and len(call.args) < 2:
        for arg in call.args:
            if arg.star:
                raise _NotSeen(call)
            _add(file, arg.value, owners, members)
    elif isinstance(call.func, cst.Attribute) and call.func.attr.value in {"values", "itervalues"}:
        made, later = _made(file, call.func.value, cst.Dict | cst.DictComp | cst.Call)
        listed = made.elements if isinstance(made, cst.Dict) else ()
        if (isinstance(made, cst.Call) and made.args) or not all(isinstance(one, cst.DictElement) for one in listed):
            raise _NotSeen(call.func.value)
        entries = [made.value] if isinstance(made, cst.DictComp) else [one.value for one in listed]
        members.found += [_member(file, one, owners) for one in (*entries, *later)]
        members.fixed &= not later and not isinstance(made, cst.DictComp)
    else:
        raise _NotSeen(call)


def _add_named(file: File, node: cst.BaseExpression, owners: Owners, members: _Members) -> None:
    """Add the members of a list that is created elsewhere, including those that are added later or conditionally."""
    whole = len(members.asked) == 1  # a step whose whole list is empty fails
    made, later = _made(file, node, LISTS | cst.Call, whole=whole)
    try:
        _add(file, made, owners, members)
    except _NotSeen as found:
        raise _NotSeen(node if found.node is made else found.node) from None
    members.found += [_member(file, one, owners) for one in later]
    members.fixed &= not later


def _made(
    file: File, node: cst.BaseExpression, kinds: Kinds, *, whole: bool = False
) -> tuple[cst.BaseExpression, list[cst.BaseExpression]]:
    """Return the creation of the single list or dict that `node` may be, and the values stored in it later.

    With `whole`, lists that are always empty do not count, as `self.params = []` before `self.params = [W, b]`.
    """
    flow = flow_of(file)
    given = [value for value in flow.values(node) if not (whole and _stays_empty(file, value))]
    values = [value for value in given if isinstance(value, Holder | Computed)]  # a sum may have both
    made = {value.node for value in values}
    if len(made) != 1 or len(values) != len(given) or not isinstance(values[0].node, kinds):
        raise _NotSeen(node)
    mentions = dict.fromkeys(one for value in values for one in flow.mentions(value))
    later = [_put(file, one) for one in mentions if not only_reads_entries(flow, one)]
    if None in later or any(flow.may_be_changed_unseen(value) for value in values):
        raise _NotSeen(node)
    return cast(cst.BaseExpression, made.pop()), [one for one in later if one is not None]


def _stays_empty(file: File, value: Value) -> bool:
    """True for a list that is made empty, and into which nothing is put."""
    flow = flow_of(file)
    if not isinstance(value.node, cst.List | cst.Tuple) or value.node.elements or flow.may_be_changed_unseen(value):
        return False
    return all(only_reads_entries(flow, one) for one in flow.mentions(value))


def _put(file: File, mention: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the value that `x.append(v)` or `x["k"] = v` stores; None for any other modification."""
    around = file.tree.parent(mention)
    call = file.tree.parent(around) if around is not None else None
    if isinstance(around, cst.Subscript) and not isinstance(around.slice[0].slice, cst.Slice):
        return assigned_value(file.tree, around)
    puts = isinstance(around, cst.Attribute) and around.attr.value == "append"
    return call.args[0].value if puts and isinstance(call, cst.Call) and len(call.args) == 1 else None


def _member(file: File, node: cst.BaseExpression, owners: Owners) -> cst.BaseExpression:
    """Return a member that is a table, or a name of a single variable."""
    if id(node) in owners:
        _keep_mixed(file, node, owners)
        return node
    if not isinstance(node, PLAIN) or any(isinstance(one, Holder) for one in flow_of(file).values(node)):
        raise _NotSeen(node)
    for target in binders(file.tree, node):
        around = file.tree.parent(target)
        while isinstance(around, cst.Element | cst.Tuple | cst.List):
            around = file.tree.parent(around)
        if isinstance(around, cst.For | cst.CompFor):
            raise _NotSeen(node)  # a member of a list that may contain tables
    return node


def _keep_mixed(file: File, node: cst.BaseExpression, owners: Owners) -> None:
    """Convert the tables that a member may be only together with its other values, for `l[-1]` or `for x in l`."""
    made = [value.node for value in flow_of(file).values(node) if isinstance(value, Result)]
    others = [one for one in made if isinstance(one, cst.Call) and id(one) not in owners]
    dense = [one for one in others if file.names.of(one.func) in MAKERS]
    for table in owners.tables if dense else ():
        if id(table.creation.call) in owners[id(node)]:
            table.passed += dense


def unknown_list(file: File, call: cst.Call, part: cst.BaseExpression) -> Blocker:
    """Return a blocker for a step with a `var_list` of which `part` is not known."""
    text = file.tree.one_line(part)
    shown = file.tree.one_line(call)
    chosen = [one for one in sources(file, part) if isinstance(one, cst.ListComp) and one.for_in.ifs]
    for value in chosen[:1]:
        test = file.tree.one_line(value.for_in.ifs[0].test)
        return blocker(call, RULE, "chosen-variables", shown=shown, test=test)
    return blocker(call, RULE, "unknown-list", shown=shown, text=text)
