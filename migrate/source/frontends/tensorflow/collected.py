"""One dict or list of variables, followed through names, attributes, parameters and returns to all its members."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.answers import once
from migrate.source.frontends.tensorflow.args import literal, string
from migrate.source.frontends.tensorflow.called import argument_of, callee, calls_of, parameters
from migrate.source.frontends.tensorflow.containers import (
    Key,
    Put,
    Read,
    is_dict,
    is_display,
    is_exact,
    may_be,
    shown,
    use,
)
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.mentioned import Mentions, alias_target, direct
from migrate.source.frontends.tensorflow.passing import parameter_of, returns
from migrate.source.frontends.tensorflow.values import assigned_value, is_target
from migrate.source.frontends.tensorflow.walks import RULE, walked


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
        self.uses: list[cst.BaseExpression] = []
        self.names: list[cst.BaseExpression] = []  #: that are bound to it
        self._pending: list[cst.BaseExpression] = []  #: what it is bound to
        if is_display(file, start):
            self._source(start)
            self._use(start)
        else:
            self._pending.append(start)
        while self._pending:
            self._binding(self._pending.pop())
        self._sort()

    def members(self, key: Key, found: Mentions) -> list[Read]:
        """Return where the member of that key is read, and record in `found` what else may be read there."""
        found.stops += [*self.found.stops, *(self._kept(node, key) for node in self.whole)]
        found.holders += self.uses
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
        for node in {id(node): node for node in new}.values():
            if is_target(self.file.tree, node):
                self._bound(node)
            else:
                self._use(node)

    def _bound(self, target: cst.BaseExpression) -> None:
        """Follow what a name is bound to, back to where it is made."""
        around = self.file.tree.parent(target)
        if isinstance(around, cst.Del | cst.NameItem):
            return
        self.names.append(target)
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
            else:
                self._stop(one.target)

    def _returned(self, function: cst.FunctionDef) -> None:
        """Follow all that a function returns: each of its calls may be any of them."""
        for one in returns(function):
            if one.value is not None:
                fresh = id(one.value) not in self.seen
                self._source(one.value)
                if fresh and not isinstance(one.value, cst.Name | cst.Attribute):
                    self._use(one.value)

    def _use(self, node: cst.BaseExpression) -> None:
        """Follow the collection where it is assigned, passed or returned; else keep the use."""
        alias = alias_target(self.file, node)
        if alias is not None:
            self._pending.append(alias)
            return
        taken = parameter_of(self.file, node)
        if taken is not None:
            self._pending.append(taken[0])
            return
        around = self.file.tree.parent(node)
        function = self.file.tree.enclosing(node, cst.FunctionDef)
        calls = calls_of(self.file, function) if isinstance(around, cst.Return) and function is not None else None
        if not calls or function is None:
            self.uses.append(node)
            return
        if id(around) not in self.seen:
            self.seen.add(id(around))
            self._returned(function)
        for call in calls:
            if id(call) not in self.seen:
                self.seen.add(id(call))
                self._use(call)

    def _sort(self) -> None:
        """Tell what each use does with the members."""
        for display in self.displays:
            members = shown(display) if is_display(self.file, display) else []
            if members is None:
                self._stop(display)
            self.puts += members or []
        for node in self.uses:
            found = use(self.file, node, listed=not self._is_dict)
            if found is None:
                self.whole.append(node)
            else:
                self.puts += found.puts
                self.reads += [(read, node) for read in found.reads]


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
