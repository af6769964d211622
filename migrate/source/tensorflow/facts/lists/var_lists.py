"""The contents of a training step's `var_list`: tables and dense variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.flow import Holder, Result, Value, only_reads_entries
from migrate.source.tensorflow.base.bindings import binders
from migrate.source.tensorflow.base.model import Blocker, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, sources
from migrate.source.tensorflow.facts.calls.object_attributes import MAKERS
from migrate.source.tensorflow.facts.calls.sinks import SINKS, Meaning, method_sink
from migrate.source.tensorflow.facts.optimizers.training_model import RULE, Listed, is_elsewhere

PLAIN = cst.Name | cst.Attribute | cst.Subscript


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
    listed: list[cst.BaseExpression] = field(default_factory=list)
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
    except _NotSeen as unseen:
        return NotKnown(unseen.node)
    tables = frozenset(call for one in members.listed for call in owners.get(id(one), ()))
    dense = [one for one in members.listed if id(one) not in owners]
    return Listed(node, tables, tuple(dense), members.fixed)


def _add(file: File, node: cst.BaseExpression, owners: Owners, members: _Members) -> None:
    """Add the members of the list at `node`."""
    if id(node) in owners or node in members.asked:
        raise _NotSeen(node)
    members.asked.add(node)
    if isinstance(node, (cst.List, cst.Tuple)):
        for element in node.elements:
            if isinstance(element, cst.StarredElement):
                raise _NotSeen(node)
            members.listed.append(_member(file, element.value, owners))
    elif isinstance(node, PLAIN):
        _add_named(file, node, owners, members)
    else:
        raise _NotSeen(node)
    members.asked.discard(node)


def _add_named(file: File, node: cst.BaseExpression, owners: Owners, members: _Members) -> None:
    """Add the members of a list that is created elsewhere, including those that are appended later."""
    display, later = _made(file, node)
    try:
        _add(file, display, owners, members)
    except _NotSeen as unseen:
        raise _NotSeen(node if unseen.node is display else unseen.node) from None
    members.listed += [_member(file, one, owners) for one in later]
    members.fixed &= not later


def _made(file: File, node: cst.BaseExpression) -> tuple[cst.BaseExpression, list[cst.BaseExpression]]:
    """Return the display of the single list that `node` may be, and the values that are appended to it later.

    Lists that are always empty do not count, as `self.params = []` before `self.params = [W, b]`: a step of one fails.
    """
    flow = flow_of(file)
    lists = [value for value in flow.values(node) if not _stays_empty(file, value)]
    display = lists[0].node if len(lists) == 1 and isinstance(lists[0], Holder) else None
    if not isinstance(display, (cst.List, cst.Tuple)) or flow.may_be_changed_unseen(lists[0]):
        raise _NotSeen(node)
    later = [_put(file, one) for one in flow.mentions(lists[0]) if not only_reads_entries(flow, one)]
    if None in later:
        raise _NotSeen(node)
    return display, [one for one in later if one is not None]


def _stays_empty(file: File, value: Value) -> bool:
    """True for a list that is made empty, and into which nothing is put."""
    flow = flow_of(file)
    if not isinstance(value.node, (cst.List, cst.Tuple)) or value.node.elements or flow.may_be_changed_unseen(value):
        return False
    return all(only_reads_entries(flow, one) for one in flow.mentions(value))


def _put(file: File, mention: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the value that `x.append(v)` stores; None for any other modification."""
    around = file.tree.parent(mention)
    call = file.tree.parent(around) if around is not None else None
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
        while isinstance(around, (cst.Element, cst.Tuple, cst.List)):
            around = file.tree.parent(around)
        if isinstance(around, (cst.For, cst.CompFor)):
            raise _NotSeen(node)  # a member of a list that may contain tables
    return node


def _keep_mixed(file: File, node: cst.BaseExpression, owners: Owners) -> None:
    """Convert the tables that a member may be only together with its other values, for `l[-1]` or `for x in l`."""
    calls = [value.node for value in flow_of(file).values(node) if isinstance(value, Result)]
    others = [one for one in calls if isinstance(one, cst.Call) and id(one) not in owners]
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


def is_given_to_training(file: File, node: cst.CSTNode) -> bool:
    """True for the argument of a training step, or of `gradients`, that determines what is trained."""
    arg = file.tree.parent(node)
    call = file.tree.call_with(node)
    if call is None or not isinstance(arg, cst.Arg) or arg.star:
        return False
    gradients = SINKS["gradients"]
    if file.names.of(call.func) == gradients.symbol:
        return gradients.takes(call, arg)
    sink = method_sink(call)
    trains = sink is not None and sink.meaning is Meaning.TRAINED and not is_elsewhere(file, call)
    return sink is not None and trains and sink.takes(call, arg)
