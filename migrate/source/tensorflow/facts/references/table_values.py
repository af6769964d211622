"""Where the value of a created variable flows to, and which other values may reach the same places."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.flow import Constant, Holder, Result, Symbol, Tainted, Unknown, Value
from migrate.source.tensorflow.base.arguments import last_name, string
from migrate.source.tensorflow.base.bindings import SETTINGS, assigned_value, self_class
from migrate.source.tensorflow.base.logging_statements import is_shown
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of
from migrate.source.tensorflow.base.visited import all_reached, itself
from migrate.source.tensorflow.facts.lists.var_lists import is_given_to_training
from migrate.source.tensorflow.facts.references.containers import holder_of
from migrate.source.tensorflow.facts.references.padded_tables import Padding, padding_of
from migrate.source.tensorflow.facts.references.unseen_reads import unseen_reads

RULE = "tf-table-use"
#: Kinds of holders whose members are read one by one.
COLLECTIONS = {"list", "dict", "record", "namespace"}


@dataclass
class TableValues:
    """The expressions that may be one variable, classified by their use of it."""

    call: cst.BaseExpression
    values: list[Value] = field(default_factory=list)  #: of the variable and its paddings
    reads: list[cst.BaseExpression] = field(default_factory=list)  #: uses of the variable
    #: expressions that only pass it on to a place that the analysis tracks
    aliased: list[cst.BaseExpression] = field(default_factory=list)
    writes: list[cst.BaseExpression] = field(default_factory=list)  #: the names and attributes that are bound to it
    #: those of `reads` that are attributes of unknown objects
    unsure: list[cst.BaseExpression] = field(default_factory=list)
    paddings: list[Padding] = field(default_factory=list)  #: concatenations with a row of zeros
    holders: list[cst.BaseExpression] = field(default_factory=list)  #: mentions of containers that hold it
    blockers: list[Blocker] = field(default_factory=list)
    label: str = ""  #: how the source spells it
    _reported: set[tuple[int, str]] = field(default_factory=set, repr=False, compare=False)

    @property
    def references(self) -> list[cst.BaseExpression]:
        """Every mention of the variable."""
        return [self.call, *self.reads, *self.writes, *self.aliased]

    def doubt(self, blockers: Iterable[Blocker]) -> None:
        """Add blockers, without duplicates: nested containers report the same ones repeatedly."""
        for each in blockers:
            if (id(each.node), each.message) not in self._reported:
                self._reported.add((id(each.node), each.message))
                self.blockers.append(each)

    def carry(self, node: cst.BaseExpression, values: Iterable[Value]) -> None:
        """Add an expression that carries the variable on to other values, which stand for it."""
        self.aliased.append(node)
        self.values += [one for one in values if one not in self.values]


def table_values(file: File, call: cst.BaseExpression) -> TableValues:
    """Return what happens to the variable that a call creates; or to what another expression computes."""
    uses = TableValues(call, _made(file, call))
    for value in uses.values:  # the loop appends the values of paddings to this list
        _sort(file, value, uses)
    uses.reads = list({id(node): node for node in uses.reads}.values())
    uses.unsure = _of_unknown_objects(file, uses)
    uses.reads += uses.unsure
    uses.writes = _targets(file, [call, *uses.aliased])
    _follow_collections(file, uses)
    uses.doubt(_out_of_sight(file, uses))
    uses.doubt(each for target in uses.writes for each in unseen_reads(file, target))
    uses.label = _label(file, uses)
    return uses


def _made(file: File, call: cst.BaseExpression) -> list[Value]:
    values = [value for value in flow_of(file).values(call) if value.node is call]
    return [value for value in values if not isinstance(call, cst.Call) or isinstance(value, Result)]


def _sort(file: File, value: Value, uses: TableValues) -> None:
    """Classify the mentions of a variable as uses, or as expressions that only pass it on."""
    flow = flow_of(file)
    opened = {id(node) for node in flow.opened(value)}  # iterating over a partitioned variable yields its parts
    for node in flow.mentions(value):
        if (padding := padding_of(file, node)) is not None:
            if not any(padding.call is one.call for one in uses.paddings):
                uses.paddings.append(padding)
            uses.carry(node, _made(file, padding.call))
        elif isinstance(file.tree.parent(node), cst.Expr):
            uses.aliased.append(node)  # the value is discarded
        elif id(node) in opened or _is_used(file, value, node):
            uses.reads.append(node)
        elif node is not uses.call:
            uses.aliased.append(node)


def _of_unknown_objects(file: File, uses: TableValues) -> list[cst.BaseExpression]:
    """Return the reads of attributes that may hold the variable, on unknown objects: their callers are not analysed."""
    flow = flow_of(file)
    known = {id(node) for node in (*uses.reads, *uses.aliased)}
    names = {name for value in uses.values for name in flow.attributes(value)}
    nodes = [node for tree in flow.trees for name in sorted(names) for node in tree.attributes.get(name, ())]
    nodes = [node for node in nodes if id(node) not in known and not file.tree.is_target(node)]
    nodes = [node for node in nodes if any(isinstance(one, Unknown) for one in flow.values(node.value))]
    return [node for node in nodes if not _is_setting(file, node)]


def _is_setting(file: File, node: cst.Attribute) -> bool:
    """True for an attribute of options, as `hparams.cell`, that is set on objects of the program's classes alone."""
    if SETTINGS.fullmatch(last_name(node.value)) is None:
        return False
    tree, flow = file.tree, flow_of(file)
    every = [one for tree in flow.trees for one in tree.attributes.get(node.attr.value, ())]
    stored = [one for one in every if tree.is_target(one) and self_class(tree, one) is None]
    return all(isinstance(value, Holder) for one in stored for value in flow.values(one.value))


def _is_used(file: File, value: Value, node: cst.BaseExpression) -> bool:
    """True if an expression is used, directly or as a part of a display, rather than only passed on."""
    flow = flow_of(file)
    if flow.is_used(value, node):
        return True
    display = file.tree.display_with(node)
    if display is None or (flow.is_only_copied(display) and not flow.is_returned_outside(display)):
        return False
    around = file.tree.parent(display)
    if isinstance(around, cst.Subscript) and around.value is display and flow.is_only_copied(node):
        return False  # `(W, V)[flag]`
    return not is_given_to_training(file, display)


def _targets(file: File, nodes: Sequence[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """Return the names, attributes and entries to which one of the expressions is assigned."""
    targets: list[cst.BaseExpression] = []
    for node in nodes:
        around = file.tree.parent(node)
        if isinstance(around, cst.Assign):
            targets += [one.target for one in around.targets]
        elif isinstance(around, (cst.AnnAssign, cst.NamedExpr)) and around.value is node:
            targets.append(around.target)
        elif isinstance(around, cst.Element):
            targets += _places(file, around, node)
    return targets


def _places(file: File, element: cst.Element, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the `b` of `a, b = other, node`."""
    assign = file.tree.parent(file.tree.parent(element) or element)
    for target in assign.targets if isinstance(assign, cst.Assign) else ():
        elements = target.target.elements if isinstance(target.target, (cst.Tuple, cst.List)) else ()
        yield from (e.value for e in elements if assigned_value(file.tree, e.value) is node)


# Collections


def _follow_collections(file: File, uses: TableValues) -> None:
    """Examine the uses, as a whole, of the lists and dicts that hold the variable."""
    flow = flow_of(file)
    displayed = [*uses.reads, *(one.table for one in uses.paddings)]
    shown = {id(display) for node in displayed if (display := file.tree.display_with(node)) is not None}
    for holder in collections(file, uses.values):
        mentions = flow.mentions(holder)
        uses.holders += mentions
        uses.doubt(each for one in _targets(file, mentions) for each in unseen_reads(file, one))
        escaped = {id(node) for node in flow.escapes(holder)}
        for node in mentions:
            if id(node) in shown or file.tree.is_target(node):
                continue
            if id(node) in escaped or flow.is_returned_outside(node):
                _whole(file, uses, holder, node)


def collections(file: File, values: Iterable[Value]) -> list[Holder]:
    """Return the containers that hold one of the values, directly or nested; but not objects.

    External code that receives an object of the program is assumed not to access its attributes.
    """
    flow = flow_of(file)

    def holders(value: Value) -> list[Holder]:
        return [one for one, _ in flow.held(value) if isinstance(one, Holder) and one.kind in COLLECTIONS]

    return list(all_reached((one for value in values for one in holders(value)), holders, itself))


def _whole(file: File, uses: TableValues, holder: Holder, node: cst.BaseExpression) -> None:
    """Judge a use of a list or dict as a whole."""
    if is_given_to_training(file, node) or is_shown(file, node) is not None:
        return
    held = f"`{text}`" if (text := _key(file, uses, holder)) else "the table"
    line = file.tree.excerpt(file.tree.statement(node) or node)
    kind = "dict" if holder.kind == "dict" else "list"
    uses.doubt([blocker(node, RULE, "whole-container", kind=kind, held=held, line=line)])


def _key(file: File, uses: TableValues, holder: Holder) -> str:
    """Return the string key under which a dict holds the variable, or an empty string."""
    pairs = [pair for value in uses.values for pair in flow_of(file).held(value)]
    return next((key for one, key in pairs if one is holder and isinstance(key, str)), "")


def _out_of_sight(file: File, uses: TableValues) -> Iterator[Blocker]:
    """Yield blockers for builtin functions that access the variable in ways that the analysis does not track.

    Code of other libraries that receives an object of the program is assumed not to access its attributes.
    """
    flow = flow_of(file)
    for value in uses.values:
        mentioned = {id(node) for node in flow.mentions(value)}
        for site in flow.escapes(value):
            if id(site) in mentioned or (isinstance(site, cst.Call) and not _is_python(flow.values(site.func))):
                continue
            text = f"def {site.name.value}" if isinstance(site, cst.FunctionDef) else file.tree.one_line(site)
            yield blocker(site, RULE, "computed-name", text=text)


def _is_python(callees: Sequence[Value]) -> bool:
    """True for functions of Python and its standard library."""
    names = [value.name.split(".")[0] for value in map(root_of, callees) if isinstance(value, Symbol)]
    return any(name == "builtins" or name in sys.stdlib_module_names for name in names)


# Names


def _label(file: File, uses: TableValues) -> str:
    """Return how the source spells the variable: by its target, its container, or a read of it."""
    source = file.tree.source
    if uses.writes:
        return source(uses.writes[0])
    held = holder_of(file, uses.call)
    if held is not None:
        target = held[0] if isinstance(held[0], (cst.Name, cst.Attribute)) else None
        names = _targets(file, [held[0]]) if target is None else [target]
        text = string(held[1]) if isinstance(held[1], cst.BaseExpression) else None
        key = held[1] if isinstance(held[1], int) else f'"{text}"' if text is not None else None
        if names:
            return f"{source(names[0])}[{key}]" if key is not None else source(names[0])
    named = [one for one in (*uses.reads, *uses.aliased) if isinstance(one, (cst.Name, cst.Attribute, cst.Subscript))]
    if named:
        return source(named[0])
    return file.tree.excerpt(uses.call)


# What else is there


@dataclass(frozen=True)
class OtherValue:
    """Another value that a read of the variable may have."""

    value: Value
    entry: cst.CSTNode  #: where the other value joins the path to the read
    is_whole: bool  #: the entry is the value itself, not a container of it


def others(file: File, known: TableValues, read: cst.BaseExpression) -> Iterator[OtherValue]:
    """Yield the other values that a read may have, except constants: nothing can be looked up in a number or None."""
    flow = flow_of(file)
    if any(read is one for one in known.unsure):
        return
    for value in flow.values(read):
        if value in known.values or isinstance(value, (Constant, Tainted)):
            continue  # the escape of its container is judged separately
        if isinstance(value, Holder) and value.kind != "list":
            continue  # nothing can be looked up in a dict or an object
        if isinstance(value, Unknown) and value.node is None:
            continue  # a rule reports files that evaluate text, which may rebind any name
        entry = flow.entry(value, read, known.values)
        entry = entry.name if isinstance(entry, cst.Param) else entry
        if isinstance(file.tree.parent(entry), cst.Param):
            entry = _argument(file, value, read, entry)
        yield OtherValue(value, entry, isinstance(entry, cst.BaseExpression) and value in flow.values(entry))


def _argument(file: File, value: Value, read: cst.BaseExpression, parameter: cst.CSTNode) -> cst.CSTNode:
    """Return the argument through which a value reaches a parameter."""
    path = flow_of(file).path(value, read)
    before = path[: next((i for i, node in enumerate(path) if node is parameter), 0)]
    return before[-1] if before else parameter
