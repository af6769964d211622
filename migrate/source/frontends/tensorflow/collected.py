"""One dict or list of variables, followed through names, attributes, parameters and returns to all its members."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.frontends.tensorflow.answers import once
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
    entry,
    holder_of,
    is_display,
    is_room,
    member_of,
    shown,
    unpacked,
    unstarred,
    use,
)
from migrate.source.frontends.tensorflow.copied import copy_from, made_of, taken_in
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.members import Members
from migrate.source.frontends.tensorflow.mentioned import Mentions, direct, targets_of
from migrate.source.frontends.tensorflow.partition_lists import is_list, looks_up_partitions, partitions
from migrate.source.frontends.tensorflow.passing import parameter_of, returns
from migrate.source.frontends.tensorflow.values import assigned_value, is_target, only_declares


class Collection(Members):
    """Follows all mentions of one dict or list."""

    def __init__(self, file: File, start: cst.BaseExpression) -> None:
        super().__init__(file)
        self.seen: set[int] = set()
        self._pending: list[cst.BaseExpression] = []  #: what it is bound to
        self._received: set[int] = set()  #: the ids of names that a loop or an assignment binds to it
        self._start = start

    def follow(self) -> None:
        """Follow it from where it is made or mentioned."""
        file, start = self.file, self._start
        if is_display(file, start) or made_of(file, start) is not None:
            self._display(start)
        elif isinstance(start, cst.Name | cst.Attribute):
            self._pending.append(start)
        else:
            self._source(start)
        while self._pending:
            self._binding(self._pending.pop())
        self._sort()

    def other(self, node: cst.BaseExpression) -> Members:
        return self if self.has(node) else _unless_asked(self.file, node) or Circle(self.file, node)

    def has(self, node: cst.BaseExpression) -> bool:
        """True for an expression that is seen to be this collection."""
        return node is self._start or id(node) in self.seen

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
        if isinstance(around, cst.AugAssign) and (taken := taken_in(self.file, target)) is not None:
            self.taken.append(taken)
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
        name = parameter.name
        values = [argument_of(known, call, name.value) or parameter.default or name for call in calls]
        texts = {self.file.tree.source(value) for value in values}
        held = [member_of(value) for value in values]
        if any(one is not None and self.file.tree.source(one[0]) in texts for one in held):
            message = f"`{name.value}` is a dict or list in one call, and a member of it in another"
            self.found.stop(name, message, "what is read of it is not known", "give each a parameter of its own")
            return
        for value in values:
            self._source(value, name)

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
        copies = made_of(self.file, value)
        if is_display(self.file, value) or is_room(value) or copies is not None:
            (self.displays if is_display(self.file, value) or copies is None else self.copied).append(value)
            self.taken += copies or []
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
        known = _unless_asked(self.file, outer)
        found = Mentions()
        _, given = known.collections(key, found) if known is not None else ([], [])
        self.found.doubt(found.stops)
        for one in given:
            self._display(one)
        if not given:
            self._stop(value)

    def _held(self, outer: cst.BaseExpression, key: Key) -> bool:
        """Follow the collection to where it is read as a member of another; False where that is not known."""
        known = _unless_asked(self.file, outer)
        if known is None or any(one is outer for one in known.whole):
            return False
        found = Mentions()
        reads, given = known.collections(key, found)
        self.found.doubt(found.stops)
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
        for display in (*self.displays, *self.copied):
            members = shown(display) if is_display(self.file, display) else []
            if members is None or display in self.copied:
                members = unstarred(display)
            self.puts += members
        unknown, listed = [], not self.is_dict
        for node in self.uses:
            found = use(self.file, node, listed=listed)
            if found is None:
                unknown.append(node)
            else:
                self.puts += found.puts
                self.reads += [(read, node) for read in found.reads]
        for node in unknown:
            self._moved(node)

    def _moved(self, node: cst.BaseExpression) -> None:
        """Tell a use that puts all members into another collection, or reads them by turns, from any other."""
        taken = taken_in(self.file, node)
        copy = copy_from(self.file, node) if taken is None else None
        if taken is not None:
            self.taken.append(taken)
        elif copy is not None:
            self.given.append(copy)
        elif looks_up_partitions(self.file, node) and all(is_list(self.file, one) for one in self._made):
            self.partitions.append(node)
            partitions(self.file).add(id(node))
        else:
            self.whole.append(node)

    @property
    def _made(self) -> list[cst.BaseExpression]:
        """All that makes it; itself unknown where nothing is seen to."""
        return [*self.displays, *self.copied] or [cst.Name("unknown")]


class Circle(Members):
    """A collection whose members come from one that is made of them: nobody knows what is in it."""

    def __init__(self, file: File, node: cst.BaseExpression) -> None:
        super().__init__(file)
        text = " ".join(file.tree.source(node).split())
        reason = "what it holds goes into it again, and is not followed twice"
        self.found.stop(node, f"`{text}` is made of itself", reason, "give the new one a name of its own")


def collection(file: File, start: cst.BaseExpression) -> Collection:
    """Return the collection that is made, or mentioned, at `start`."""
    found = _unless_asked(file, start)
    assert found is not None, "asked from inside of another collection"
    return found


def _unless_asked(file: File, start: cst.BaseExpression) -> Collection | None:
    """Return the collection at `start`; None for one that is being followed right now.

    To follow one may need the members of another, which may hold it, or be made of it in a later turn of a loop.
    """
    known: dict[int, Collection] = once(file, ("collections",), dict)
    pending: list[Collection] = once(file, ("collections being followed",), list)
    if id(start) in known:
        return known[id(start)]
    if any(one.has(start) for one in pending):
        return None
    found = Collection(file, start)
    pending.append(found)
    try:
        found.follow()
    finally:
        pending.pop()
    known |= dict.fromkeys((*found.seen, id(start)), found)
    return found
