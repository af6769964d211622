"""Where the variables of SOK may be in a file, and how they are used: a client of the value flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cached_property

import libcst as cst

from migrate.source.flow import DECORATED, Bound, Computed, Function, Holder, Member, Result, Unknown, Value, is_none
from migrate.source.tensorflow.base.bindings import builtin, is_target
from migrate.source.tensorflow.base.program_analysis import analysed_by_name
from migrate.source.tensorflow.base.value_flow import flow_of, is_of_python, only_asks
from migrate.source.tensorflow.edits.whole_file_draft import Draft
from migrate.source.tensorflow.sok.spaces import Space, spaces
from migrate.source.tensorflow.sok.symbols import FILTERS, sok_name


class Kind(Enum):
    """The kind of an expression."""

    TABLE = "a variable of SOK"
    TABLES = "a list of variables of SOK"
    NAMED = "a dict of variables of SOK"
    VARIABLES = "the variables that SOK's filter gives"
    MIXED = "a variable of SOK and others"


_CONTAINERS = {"list", "dict", "record", "namespace"}
#: Methods of containers that the value flow follows.
_FOLLOWED = {
    "append", "appendleft", "clear", "copy", "count", "extend", "get", "index", "insert", "items", "keys", "pop",
    "popitem", "popleft", "remove", "reverse", "setdefault", "sort", "update", "values",
}  # fmt: skip
#: Expressions that contain a list from SOK's filter without reading it.
_BINDS = cst.Assign | cst.AnnAssign | cst.NamedExpr | cst.Return | cst.IfExp | cst.Arg | cst.Param


class Tables:
    """All expressions of a file that may be a variable of SOK, or hold some."""

    def __init__(self, draft: Draft, made: Iterable[cst.Call]) -> None:
        """Take the calls that create the variables."""
        self.file, self.tree, self.flow = draft.file, draft.tree, flow_of(draft.file)
        calls, names = list(made), set[str]()
        self.made = self._made(calls)
        while new := self._unseen_names() - names:  # an unknown object is recognized by its attributes
            names |= new
            self.flow = analysed_by_name(self.tree, names)
            self.made = self._made(calls)
        self._known = set(self.made)

    @property
    def held(self) -> bool:
        """True where an attribute of an object holds one."""
        return any(self.flow.attributes(value) for value in self.made)

    def results(self, node: cst.BaseExpression) -> list[Value]:
        """Return all values of an expression, except None and values that outside code might store there."""
        return [value for value in self.flow.values(node) if not is_none(value) and not self._is_outside(value)]

    def _made(self, calls: Sequence[cst.Call]) -> list[Value]:
        return [value for call in calls for value in self.results(call) if value.node is call]

    def _unseen_names(self) -> set[str]:
        """Return the attributes that hold variables of SOK and are read from an unknown object."""
        names = {name for value in self.made for name in self.flow.attributes(value)}
        return {name for name in names if any(map(self._is_unseen, self.tree.attributes.get(name, ())))}

    def _is_unseen(self, node: cst.Attribute) -> bool:
        return any(isinstance(one, Unknown) for one in self.flow.values(node.value))

    def makers(self, node: cst.BaseExpression) -> list[cst.Call] | None:
        """Return the calls of outside code that create all values of an expression; None where they are not known."""
        found = [value.node for value in self.results(node) if isinstance(value, Result)]
        calls = [call for call in found if isinstance(call, cst.Call)]
        return calls if calls and len(calls) == len(self.results(node)) else None

    def _is_outside(self, value: Value) -> bool:
        """True for a value that outside code might store where the program stores one: that code is a use by itself.

        Calls may change lists that they receive, outside classes may have attributes of the same names, and decorators
        such as `tf.function` receive functions, which they call with the same arguments.
        """
        if isinstance(value, Unknown) and value.reason == DECORATED:
            return True
        if isinstance(value, Result | Unknown) and value.node is not None and self._decorates(value.node):
            return True
        if isinstance(value, Unknown) and isinstance(value.node, cst.Call):
            return value not in self.flow.values(value.node)
        if isinstance(value, Member) and self._is_outside(value.base):
            return True
        if isinstance(value, Result) and self._is_outside(value.callee):
            return True
        if not isinstance(value, Member | Result) or not isinstance(value.node, cst.Attribute):
            return False
        own = any(isinstance(one, Holder) and one.cls is not None for one in self.flow.values(value.node.value))
        given = [one for one in self.flow.values(value.node) if not isinstance(one, Member | Result | Unknown)]
        return own and (bool(given) or any(one.node is not value.node for one in self.flow.values(value.node)))

    def _decorates(self, node: cst.CSTNode) -> bool:
        return isinstance(self.tree.parent(node), cst.Decorator)

    def kind(self, node: cst.BaseExpression) -> Kind | None:
        """Return the kind of an expression; None for any other expression."""
        kinds = {self._kind(value) for value in self.results(node) if not self._is_empty(value)}
        if len(kinds) == 1:
            return kinds.pop()
        return Kind.MIXED if kinds - {None} else None

    def _is_empty(self, value: Value) -> bool:
        return isinstance(value, Holder) and value.kind in _CONTAINERS and not self.flow.entries(value)

    def is_sum(self, node: cst.BaseExpression) -> bool:
        """True for lists joined by `+`, which may hold other variables beside those from SOK's filter."""
        return any(isinstance(one.node, cst.BinaryOperation) for one in self.results(node))

    def _kind(self, value: Value) -> Kind | None:
        if value in self._known:
            return Kind.TABLE
        if isinstance(value, Holder) and value.kind in _CONTAINERS:
            entries = [one for one in self.flow.entries(value) if not is_none(one) and not self._is_outside(one)]
            known = [one in self._known for one in entries]
            if not any(known):
                return None
            whole = Kind.NAMED if value.kind == "dict" else Kind.TABLES
            return whole if all(known) else Kind.MIXED
        return Kind.VARIABLES if value in self._filtered else None

    @cached_property
    def _filtered(self) -> set[Value]:
        """The lists of variables that SOK's filter returns, and sums of lists with them."""
        found = {value for _, value in self.flow.where(self._is_filtered)}
        pending = [*found]
        while pending:
            for node in self.flow.mentions(pending.pop()):
                around = self.tree.parent(node)
                sums = self.flow.values(around) if isinstance(around, cst.BinaryOperation) else []
                new = {value for value in sums if isinstance(value, Computed)} - found
                found |= new
                pending += new
        return found

    def _is_filtered(self, value: Value) -> bool:
        first = isinstance(value, Member) and value.name == "[]" and value.key == 0
        call = value.base.node if first and isinstance(value, Member) and isinstance(value.base, Result) else None
        return isinstance(call, cst.Call) and sok_name(self.tree, call.func) in FILTERS

    def others(self, node: cst.BaseExpression) -> list[Value]:
        """Return the values that an expression may be, or hold, beside variables of SOK."""
        found = self.results(node)
        held = [entry for one in found if isinstance(one, Holder) for entry in self.flow.entries(one)]
        return [one for one in held or found if one not in self._known and not is_none(one)]

    def uses(self) -> list[cst.BaseExpression]:
        """Return the uses of variables of SOK, and of their containers, except assignments and arguments."""
        found = self.uses_of(self.made)
        for value in self._filtered:
            for read in self.flow.mentions(value):
                if not isinstance(self.tree.parent(read), cst.BinaryOperation) and not self._binds(read):
                    found[read] = value
        return list(found)

    def _binds(self, node: cst.BaseExpression) -> bool:
        return self.flow.hands_on(node) and isinstance(self.tree.parent(node), _BINDS) and not self._is_zipped(node)

    def _is_zipped(self, node: cst.BaseExpression) -> bool:
        arg = self.tree.parent(node)
        call = self.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        return isinstance(call, cst.Call) and not self.flow.runs(call)

    def uses_of(self, values: Iterable[Value]) -> dict[cst.BaseExpression, Value]:
        """Return the uses of values, and of the lists and dicts that hold them, that the value flow does not follow."""
        found: dict[cst.BaseExpression, Value] = {}
        carried = [*values]
        carried += [one for value in carried for one in self.flow.holders(value) if one.kind in _CONTAINERS]
        for value in dict.fromkeys(carried):
            for node in self.flow.uses(value):
                if not self._is_followed(node, value) and not only_asks(self.file, node):
                    found[node] = value
        for value in dict.fromkeys(carried):
            for site in self.flow.escapes(value):
                if isinstance(site, cst.BaseExpression) and not self._is_seen(site, value, found):
                    found[site] = value
        for space in spaces(self.tree):
            for value in carried:
                if self._is_in(value, space):
                    found[space.node] = value
        return found

    def _is_in(self, value: Value, space: Space) -> bool:
        """True where a name that is read as a string may be a value, or an object that holds it."""
        if space.name is None:
            return any(value in self.flow.bound(space.scope, one.name) for one in space.scope.assignments)
        bound = self.flow.bound(space.scope, space.name)
        return any(one in bound for one in (value, *self.flow.holders(value)))

    def _is_followed(self, node: cst.BaseExpression, value: Value) -> bool:
        """True where a container stores or returns a value, and where a function of the program receives it."""
        around = self.tree.parent(node)
        call = self.tree.parent(around) if isinstance(around, cst.Arg) else None
        if isinstance(call, cst.Call) and self._is_own(call.func):
            return True
        if not isinstance(value, Holder):
            return False
        if isinstance(around, cst.Subscript):
            return around.value is node
        if isinstance(around, cst.Attribute) and around.value is node:
            records = all(isinstance(one, Holder) and one.kind in {"record", "namespace"} for one in self.results(node))
            return records or around.attr.value in _FOLLOWED or is_target(self.tree, around)
        return isinstance(call, cst.Call) and builtin(self.tree, call.func) == "len"

    def _is_own(self, func: cst.BaseExpression) -> bool:
        """True for functions and methods of the program."""
        found = self.results(func)
        return bool(found) and all(isinstance(one, Function | Bound) for one in found)

    def _is_seen(self, site: cst.BaseExpression, value: Value, uses: Iterable[cst.BaseExpression]) -> bool:
        """True where outside code receives a value by a use, or in an object of the program, whose attributes it may
        set, but does not read, except by functions that read attributes by their names."""
        if self._is_followed(site, value) or any(node is site or self.tree.contains(site, node) for node in uses):
            return True
        return isinstance(site, cst.Call) and not any(is_of_python(one) for one in self.results(site.func))
