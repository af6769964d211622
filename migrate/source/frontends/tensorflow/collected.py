"""One dict or list of variables, followed through names, attributes, parameters and returns to all its members."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.frontends.tensorflow.answers import once
from migrate.source.frontends.tensorflow.args import literal, string
from migrate.source.frontends.tensorflow.called import (
    argument_of,
    callee,
    calls_of,
    parameters,
    property_of,
    property_reads,
)
from migrate.source.frontends.tensorflow.containers import (
    Key,
    Put,
    Read,
    entry,
    holder_of,
    is_dict,
    is_display,
    is_exact,
    may_be,
    member_of,
    shown,
    unpacked,
    use,
)
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.mentioned import Mentions, direct, targets_of
from migrate.source.frontends.tensorflow.passing import parameter_of, returns
from migrate.source.frontends.tensorflow.values import assigned_value, is_target, only_declares
from migrate.source.frontends.tensorflow.walks import RULE, walked

#: How many dicts and lists may hold each other.
DEPTH = 4


class Collection:
    """Everything that is put into one dict or list, read from it, or done with it as a whole."""

    def __init__(self, file: File, start: cst.BaseExpression) -> None:
        self.file = file
        self.found = Mentions()
        self.seen: set[int] = set()
        self.puts: list[Put] = []
        self.reads: list[tuple[Read, cst.BaseExpression]] = []  #: with what reads it there
        self.whole: list[cst.BaseExpression] = []
        self.displays: list[cst.BaseExpression] = []
        self.partitions: list[cst.BaseExpression] = []  #: lookups that read all members by turns
        self.uses: list[cst.BaseExpression] = []
        self.names: list[cst.BaseExpression] = []  #: that are bound to it
        self._pending: list[cst.BaseExpression] = []  #: what it is bound to
        self._received: set[int] = set()  #: the ids of names that a loop or an assignment binds to it
        if is_display(file, start):
            self._display(start)
        elif isinstance(start, cst.Name | cst.Attribute):
            self._pending.append(start)
        else:
            self._source(start)
        while self._pending:
            self._binding(self._pending.pop())
        self._sort()

    def members(self, key: Key, found: Mentions) -> list[Read]:
        """Return where the member of that key is read, and record in `found` what else may be read there."""
        self._doubts(key, found)
        result = []
        for read, node in self.reads:
            asked = self._walked(node, key) if read.bound else None
            if asked is not None:
                found.stops.append(asked)
            elif may_be(key, read.key):
                result.append(read)
        for read in result:
            same = [put for put in self.puts if may_be(put.key, read.key)]
            if len(same) > 1 or not (is_exact(key) and is_exact(read.key)):
                found.passed += [put.value for put in same]
        return result

    def collections(self, key: Key, found: Mentions) -> tuple[list[Read], list[cst.BaseExpression]]:
        """Return where a member of that key is read that is a collection itself, and all that may be read there."""
        self._doubts(key, found)
        reads = [read for read, _ in self.reads if may_be(key, read.key)]
        puts = [put for put in self.puts if any(may_be(put.key, one) for one in (key, *(read.key for read in reads)))]
        return reads, [put.value for put in puts]

    def _doubts(self, key: Key, found: Mentions) -> None:
        found.stops += [*self.found.stops, *(self._kept(node, key) for node in self.whole)]
        found.holders += self.uses

    def _walked(self, node: cst.BaseExpression, key: Key) -> Stop | None:
        """Return the doubt about a loop over a dict that only counts or prints its variables."""
        text = string(key) if isinstance(key, cst.BaseExpression) else None
        return walked(self.file, node, text) if text is not None and self._is_dict else None

    def _kept(self, node: cst.BaseExpression, key: Key) -> Stop:
        text = string(key) if isinstance(key, cst.BaseExpression) else None
        shown_text = " ".join(self.file.tree.source(self.file.tree.statement(node) or node).split())
        shown_text = shown_text if len(shown_text) <= 60 else shown_text[:57] + "..."
        held = f"`{text}`" if text is not None else "the table"
        kind = "dict" if self._is_dict else "list"
        message = f"the {kind} that holds {held} is used as a whole: `{shown_text}`"
        return Stop(
            node, RULE, message, "what this does with the table is not followed", f"keep the table outside this {kind}"
        )

    @property
    def _is_dict(self) -> bool:
        return any(is_dict(one) for one in self.displays)

    @property
    def name(self) -> str:
        """How the source calls it, where it first gets a name; empty where it has none."""
        return self.file.tree.source(self.names[0]) if self.names else ""

    def _binding(self, target: cst.BaseExpression) -> None:
        """Follow all mentions of a name or an attribute."""
        if id(target) in self.seen:
            return
        batch = direct(self.file, target, self.found)
        new = [node for node in (*batch, target) if id(node) not in self.seen]
        self.seen |= {id(node) for node in new}
        if isinstance(target, cst.Attribute) and not any(is_target(self.file.tree, node) for node in batch):
            self._computed(target)
        for node in {id(node): node for node in new}.values():
            if is_target(self.file.tree, node):
                self._bound(node)
            else:
                self._use(node)

    def _computed(self, target: cst.Attribute) -> None:
        """Follow an attribute that nothing sets to what it returns as a property."""
        function = property_of(self.file, target)
        if function is None or property_reads(self.file, function) is None:
            self._stop(target)
        else:
            self._returned(function)

    def _bound(self, target: cst.BaseExpression) -> None:
        """Follow what a name is bound to, back to where it is made."""
        around = self.file.tree.parent(target)
        if isinstance(around, cst.Del | cst.NameItem) or only_declares(self.file.tree, target):
            return
        self.names.append(target)
        if id(target) in self._received:
            return
        if isinstance(around, cst.Param):
            self._given(around)
            return
        value = assigned_value(self.file.tree, target)
        if value is None or isinstance(around, cst.AugAssign):
            self._stop(target)
        else:
            self._source(value, target)

    def _stop(self, target: cst.BaseExpression) -> None:
        text = " ".join(self.file.tree.source(target).split())
        action = "give the other value a name of its own"
        self.found.stop(target, f"`{text}` is bound to something else here", "its entries are not known", action)

    def _given(self, parameter: cst.Param) -> None:
        """Follow a parameter back to what all calls give for it."""
        function = self.file.tree.parent(self.file.tree.parent(parameter) or parameter)
        calls = calls_of(self.file, function) if isinstance(function, cst.FunctionDef) else None
        if calls is None or not isinstance(function, cst.FunctionDef) or any(a.star for c in calls for a in c.args):
            self._stop(parameter.name)
            return
        known = parameters(self.file, function)
        if all(one is not parameter for one in (*known, *function.params.kwonly_params)):
            self._stop(parameter.name)  # `self`, `*args` and `**options`
            return
        for call in calls:
            given = argument_of(known, call, parameter.name.value) or parameter.default
            self._source(given if given is not None else parameter.name, parameter.name)

    def _source(self, value: cst.BaseExpression, target: cst.BaseExpression | None = None) -> None:
        """Record what the collection may be: a display, another name of it, or what a function returns."""
        if id(value) in self.seen:
            return
        if isinstance(value, cst.Name) and value.value == "None":
            return  # which has no members
        if isinstance(value, cst.Name | cst.Attribute):
            self._pending.append(value)
            return
        self.seen.add(id(value))
        self._others(value, target)
        held = member_of(value)
        if held is not None:
            self._member(*held, target or value)
            self._use(value)
            return
        if is_display(self.file, value) or _is_room(value):
            self.displays.append(value)
            return
        function = callee(self.file, value) if isinstance(value, cst.Call) else None
        calls = calls_of(self.file, function) if function is not None else None
        if function is None or calls is None or all(call is not value for call in calls):
            self._stop(target or value)
            return
        self._returned(function)

    def _others(self, value: cst.BaseExpression, target: cst.BaseExpression | None) -> None:
        """Follow the other targets of `self.tables = tables = {}`; in tuples of several they are not followed."""
        assign = self.file.tree.parent(value)
        while isinstance(assign, cst.Tuple | cst.List | cst.Element):
            assign = self.file.tree.parent(assign)
        if not isinstance(assign, cst.Assign) or len(assign.targets) < 2:
            return
        for one in assign.targets:
            if one.target is target:
                continue
            if assign.value is value and isinstance(one.target, cst.Name | cst.Attribute):
                self._pending.append(one.target)
            elif assign.value is not value or not isinstance(one.target, cst.Subscript):
                self._stop(one.target)

    def _returned(self, function: cst.FunctionDef) -> None:
        """Follow all that a function returns: each of its calls may be any of them."""
        for one in returns(function):
            if one.value is not None:
                self._display(one.value)

    def _display(self, value: cst.BaseExpression) -> None:
        """Follow what makes the collection, or is it, and what is done with that where it stands."""
        fresh = id(value) not in self.seen
        self._source(value)
        if fresh and not isinstance(value, cst.Name | cst.Attribute):
            self._use(value)

    def _member(self, outer: cst.BaseExpression, key: cst.BaseExpression, value: cst.BaseExpression) -> None:
        """Follow a collection back to the dict or list of which it is a member."""
        known = self._around(outer)
        found = Mentions()
        _, given = known.collections(key, found) if known is not None else ([], [])
        self.found.stops += found.stops
        for one in given:
            self._display(one)
        if not given:
            self._stop(value)

    def _held(self, outer: cst.BaseExpression, key: Key) -> bool:
        """Follow the collection to where it is read as a member of another; False where that is not known."""
        known = self._around(outer)
        if known is None or any(one is outer for one in known.whole):
            return False
        found = Mentions()
        reads, given = known.collections(key, found)
        self.found.stops += found.stops
        self.found.holders += found.holders
        for one in given:
            self._display(one)
        for read in reads:
            if isinstance(read.node, cst.Tuple | cst.List) and read.bound:
                members = unpacked(read.node)
                self.reads += [(one, read.node) for one in members]
                if not members:
                    self._stop(read.node)
            elif read.bound:
                self._received.add(id(read.node))
                self._pending.append(read.node)
            else:
                self._read(read.node)
        return True

    def _read(self, node: cst.BaseExpression) -> None:
        """Follow an expression that is the collection."""
        if id(node) not in self.seen:
            self.seen.add(id(node))
            self._use(node)

    def _around(self, outer: cst.BaseExpression) -> Collection | None:
        """Return the collection that holds this one; None where they are held in each other too deep."""
        depth: list[int] = once(self.file, ("depth of collections",), lambda: [0])
        if depth[0] == DEPTH:
            return None
        depth[0] += 1
        found = collection(self.file, outer)
        depth[0] -= 1
        return found

    def _use(self, node: cst.BaseExpression) -> None:
        """Follow the collection where it is assigned, passed, returned or put into another one; else keep the use."""
        targets = targets_of(self.file, node)
        if targets is not None and self._assigned(node, targets):
            return
        taken = parameter_of(self.file, node)
        if taken is not None:
            self._pending.append(taken[0])
            return
        around = self.file.tree.parent(node)
        function = self.file.tree.enclosing(node, cst.FunctionDef)
        calls = self._runs(function) if isinstance(around, cst.Return) and function is not None else None
        if not calls or function is None:
            held = holder_of(self.file, node)
            if held is None or not self._held(*held):
                self.uses.append(node)
            return
        if id(around) not in self.seen:
            self.seen.add(id(around))
            self._returned(function)
        for call in calls:
            self._read(call)

    def _assigned(self, node: cst.BaseExpression, targets: Sequence[cst.BaseExpression]) -> bool:
        """Follow what the collection is bound to; False where it goes into another one that is not known."""
        for one in targets:
            key = entry(one) if isinstance(one, cst.Subscript) else None
            if isinstance(one, cst.Name | cst.Attribute):
                self._pending.append(one)
            elif not isinstance(one, cst.Subscript) or key is None or not self._held(one.value, key):
                return False
        around = self.file.tree.parent(node)
        if isinstance(around, cst.NamedExpr):
            self._use(around)
        return True

    def _runs(self, function: cst.FunctionDef) -> Sequence[cst.BaseExpression] | None:
        """Return all that runs a function: its calls, or the reads of a property."""
        read = property_reads(self.file, function)
        return read if read is not None else calls_of(self.file, function)

    def _sort(self) -> None:
        """Tell what each use does with the members."""
        for display in self.displays:
            members = shown(display) if is_display(self.file, display) else []
            if members is None:
                self._stop(display)
            self.puts += members or []
        whole = []
        for node in self.uses:
            found = use(self.file, node, listed=not self._is_dict)
            if found is None:
                whole.append(node)
            else:
                self.puts += found.puts
                self.reads += [(read, node) for read in found.reads]
        for node in whole:
            if self._is_partitions(node):
                self.partitions.append(node)
                _partitions(self.file).add(id(node))
            else:
                self.whole.append(node)

    def _is_partitions(self, node: cst.BaseExpression) -> bool:
        """True for a name of the list of variables that a lookup is given, of which no two are seen to be the same."""
        arg = self.file.tree.parent(node)
        call = self.file.tree.parent(arg) if isinstance(arg, cst.Arg) and not arg.star else None
        named = isinstance(node, cst.Name | cst.Attribute)
        if not named or not isinstance(call, cst.Call) or self.file.names.of(call.func) != "nn.embedding_lookup":
            return False
        keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
        texts = [self.file.tree.source(put.value) for put in self.puts]
        lists = all(_is_list(one) for one in self.displays)
        first = keyword == "params" or (call.args[0] is arg and not keyword)
        return first and lists and bool(self.displays) and len(set(texts)) == len(texts)


def _is_list(node: cst.BaseExpression) -> bool:
    """True for a list: of a tuple TensorFlow makes one tensor."""
    made = isinstance(node, cst.Call) and not is_dict(node)
    return made or isinstance(node, cst.List | cst.ListComp) or _is_room(node)


def is_partitions(file: File, node: cst.BaseExpression) -> bool:
    """True for a list of variables that was found to be looked up as partitions."""
    return id(node) in _partitions(file)


def _partitions(file: File) -> set[int]:
    known: set[int] = once(file, ("partitions",), set)
    return known


def _is_room(value: cst.BaseExpression) -> bool:
    """True for `[None] * n`, a list to be filled."""
    listed = value.left if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply) else None
    return isinstance(listed, cst.List) and all(literal(one.value) is None for one in listed.elements)


def collection(file: File, start: cst.BaseExpression) -> Collection:
    """Return the collection that is made, or mentioned, at `start`."""
    known: dict[int, Collection] = once(file, ("collections",), dict)
    if id(start) not in known:
        found = Collection(file, start)
        for node in found.seen:
            known[node] = found
        known[id(start)] = found
    return known[id(start)]
