"""What the `var_list` of a training step holds: tables, and variables that are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.flow import Holder, is_none
from migrate.source.frontends.tensorflow.collected import collection
from migrate.source.frontends.tensorflow.facts import Stop, Table
from migrate.source.frontends.tensorflow.flows import flow_of
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.scoped_lists import Scoped, scoped_list
from migrate.source.frontends.tensorflow.trained import is_trained
from migrate.source.frontends.tensorflow.training_facts import Listed
from migrate.source.frontends.tensorflow.values import (
    binders,
    builtin,
    is_target,
    local_names,
    resolve,
    scope_of_name,
)

PLAIN = cst.Name | cst.Attribute | cst.Subscript
LISTS = cst.List | cst.Tuple | cst.Dict | cst.ListComp | cst.DictComp | cst.BinaryOperation


class Owners(dict[int, set[int]]):
    """The ids of the nodes that mention a table, each with those of the calls that make it."""

    def __init__(self, tables: Sequence[Table]) -> None:
        super().__init__()
        self.tables = tables
        for table in tables:
            for node in table.references:
                self.setdefault(id(node), set()).add(id(table.creation.call))


@dataclass(frozen=True)
class NotKnown:
    """The part of a list of which the source does not show what it holds."""

    node: cst.BaseExpression


@dataclass
class _Members:
    found: list[cst.BaseExpression] = field(default_factory=list)
    fixed: bool = True
    scoped: list[Scoped] = field(default_factory=list)


class _NotSeen(Exception):
    """Raised with the part of a list that is not known."""

    def __init__(self, node: cst.BaseExpression) -> None:
        super().__init__()
        self.node = node


def listed_in(file: File, node: cst.BaseExpression, owners: Owners) -> Listed | NotKnown:
    """Return what a `var_list` holds, or the part of it that is not known."""
    members = _Members()
    try:
        _add(file, node, owners, members, 6)
    except _NotSeen as found:
        return NotKnown(found.node)
    tables = frozenset(call for one in members.found for call in owners.get(id(one), ()))
    dense = [one for one in members.found if id(one) not in owners]
    beside: list[str] = []
    for one in members.scoped:
        tables |= one.tables
        dense.append(one.call)
        beside += one.names
    calls = tuple(one.call for one in members.scoped)
    return Listed(node, tables, tuple(dense), members.fixed, calls, tuple(beside))


def _add(file: File, node: cst.BaseExpression, owners: Owners, members: _Members, depth: int) -> None:
    """Add the members of the list at `node`."""
    if not depth or id(node) in owners:
        raise _NotSeen(node)
    if isinstance(node, cst.Name | cst.Call) and (scoped := scoped_list(file, node, owners.tables)) is not None:
        members.scoped.append(scoped)
        return
    if isinstance(node, cst.List | cst.Tuple):
        for element in node.elements:
            if isinstance(element, cst.StarredElement):
                _add(file, element.value, owners, members, depth - 1)
            else:
                members.found.append(_member(file, element.value, owners))
        return
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        _add(file, node.left, owners, members, depth - 1)
        _add(file, node.right, owners, members, depth - 1)
        return
    if isinstance(node, cst.ListComp) and id(node.elt) in owners:
        members.found.append(node.elt)
        members.fixed = False  # it may find none
        return
    if isinstance(node, cst.Call):
        if builtin(file.tree, node.func) in {"list", "tuple"} and not node.args:
            return
        if builtin(file.tree, node.func) in {"list", "tuple"} and len(node.args) == 1 and not node.args[0].star:
            _add(file, node.args[0].value, owners, members, depth - 1)
            return
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in {"values", "itervalues"}:
            _of_dict(file, node.func.value, owners, members)
            return
    if not isinstance(node, cst.Name | cst.Attribute):
        raise _NotSeen(node)
    _collect(file, node, owners, members, depth - 1)


def _collect(file: File, node: cst.BaseExpression, owners: Owners, members: _Members, depth: int) -> None:
    """Add the members of a list that has a name, which is made in one place and not used as a whole."""
    if not isinstance(node, cst.Name | cst.Attribute):
        raise _NotSeen(node)
    known = collection(file, node)
    made = [*known.displays, *known.copied]
    if len(made) != 1 or known.whole or known.found.stops or known.is_dict:
        raise _NotSeen(node)
    if any(not file.tree.contains(made[0], copy.of) for copy in known.taken):
        raise _NotSeen(node)  # it takes in others later
    if _is_changed_elsewhere(file, node, made[0], [put.value for put in known.puts]):
        raise _NotSeen(node)
    scoped = len(members.scoped)
    _add(file, made[0], owners, members, depth)
    if _may_be_none(file, node) or (len(members.scoped) > scoped and not _is_only_trained(file, node)):
        raise _NotSeen(node)
    for put in known.puts:
        if not file.tree.contains(made[0], put.value):
            members.found.append(_member(file, put.value, owners))
            members.fixed = False  # it is added later, or under a condition


#: Methods of lists that change them.
CHANGING = {"append", "extend", "insert", "pop", "remove", "reverse", "sort", "clear", "__setitem__", "__delitem__"}


def _is_changed_elsewhere(
    file: File, node: cst.BaseExpression, made: cst.BaseExpression, puts: Sequence[cst.BaseExpression]
) -> bool:
    """True when a list is changed under another name than its own, by whatever way; `puts` are known."""
    flow, own = flow_of(file), file.tree.source(node)
    lists = [value for value in flow.values(made) if isinstance(value, Holder) and value.node is made]
    for mention in (one for value in lists for one in flow.mentions(value)):
        around = file.tree.parent(mention)
        line = file.tree.statement(mention)
        if mention is made or file.tree.source(mention) == own:
            continue
        if line is not None and any(file.tree.contains(line, put) for put in puts):
            continue
        if isinstance(around, cst.Attribute) and around.value is mention and around.attr.value in CHANGING:
            return True
        if isinstance(around, cst.Subscript) and around.value is mention and is_target(file.tree, around):
            return True
        if isinstance(around, cst.AugAssign) and around.target is mention:
            return True
    return False


def _may_be_none(file: File, node: cst.BaseExpression) -> bool:
    """True for a list that may be None as well, which stands for all variables."""
    return any(is_none(value) for value in flow_of(file).values(node))


def _is_only_trained(file: File, node: cst.BaseExpression) -> bool:
    """True for a name that only steps read: the tables of a scope are not in its list, so it is shorter."""
    scope = scope_of_name(file.tree, node) if isinstance(node, cst.Name) else None
    if scope is None or not isinstance(node, cst.Name):
        return False
    uses = [one for one in local_names(file.tree, node.value, scope) if not is_target(file.tree, one)]
    return all(is_trained(file, one) for one in uses)


def _of_dict(file: File, node: cst.BaseExpression, owners: Owners, members: _Members) -> None:
    """Add the values of a dict that has a name, which is made in one place and not used as a whole."""
    known = collection(file, node) if isinstance(node, cst.Name | cst.Attribute) else None
    if known is None or len(known.displays) != 1 or known.copied or known.taken or not known.is_dict:
        raise _NotSeen(node)
    if known.whole or known.found.stops:
        raise _NotSeen(node)
    made = known.displays[0]
    for put in known.puts:
        members.found.append(_member(file, put.value, owners))
        members.fixed &= file.tree.contains(made, put.value) and not isinstance(made, cst.DictComp)


def _member(file: File, node: cst.BaseExpression, owners: Owners) -> cst.BaseExpression:
    """Return a member that is a table, or a name for one variable."""
    if id(node) in owners:
        return node
    if not isinstance(node, PLAIN) or isinstance(resolve(file.tree, node), LISTS):
        raise _NotSeen(node)
    for target in binders(file.tree, node):
        around = file.tree.parent(target)
        while isinstance(around, cst.Element | cst.Tuple | cst.List):
            around = file.tree.parent(around)
        if isinstance(around, cst.For | cst.CompFor):
            raise _NotSeen(node)  # one of a list that may have tables
    return node


def unknown_list(file: File, call: cst.Call, rule: str, part: cst.BaseExpression) -> Stop:
    """Return why a step with a `var_list` stays, of which `part` is not known."""
    text = " ".join(file.tree.source(part).split())
    reason = f"what `{text}` in its `var_list` holds cannot be followed, so which tables it trains is not known"
    action = "list the variables by their names, or leave `var_list` out"
    value = resolve(file.tree, part)
    if isinstance(value, cst.ListComp) and value.for_in.ifs:
        test = " ".join(file.tree.source(value.for_in.ifs[0].test).split())
        reason = f"its variables are chosen by `{test}` when the program runs, and a table is no variable of that list"
        action = "list the variables by their names: tables and dense ones may be in one list"
    shown = " ".join(file.tree.source(call).split())
    return Stop(call, rule, f"`{shown}` trains a list of variables", reason, action)
