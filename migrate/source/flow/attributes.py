"""Attributes: what is read from an object, a class, a module or a library, and what is put there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst

from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.values import (
    ANY,
    Above,
    Bound,
    Class,
    Computed,
    Function,
    Holder,
    Member,
    Partial,
    RecordType,
    Symbol,
    Unknown,
    Value,
)

#: Dots in a name from outside, so that `x = x.next` ends.
_DEEPEST = 12
#: Decorators that say how a method is found.
STATIC, OF_CLASS = {"staticmethod"}, {"classmethod"}
PROPERTY = {"property", "cached_property", "functools.cached_property", "abc.abstractproperty"}
#: Bases that bring no attribute that a program reads.
PLAIN_BASES = {
    "builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing.NamedTuple", "enum.Enum",
    "builtins.Exception", "builtins.ValueError", "six.with_metaclass",
}  # fmt: skip

#: Runs a function with an object as its only argument: what a property is given by `calls`.
Enter = Callable[[Program, Function, Value, cst.CSTNode, Variable], None]


def decorators(function: cst.FunctionDef | cst.ClassDef) -> list[str]:
    """Return the texts of the decorators, without their arguments."""
    found = []
    for one in function.decorators:
        node = one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator
        parts: list[str] = []
        while isinstance(node, cst.Attribute):
            parts.insert(0, node.attr.value)
            node = node.value
        found.append(".".join([node.value if isinstance(node, cst.Name) else "?", *parts]))
    return found


def is_property(function: Function) -> bool:
    """True for a method that runs when its attribute is read."""
    return isinstance(function.node, cst.FunctionDef) and any(one in PROPERTY for one in decorators(function.node))


class Attributes:
    """Reads and writes attributes; `enter` runs a property."""

    def __init__(self, program: Program, enter: Enter) -> None:
        self.program = program
        self.graph = program.graph
        self._enter = enter

    def load(self, base: Variable, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Let `out` be all that `base.name` may be."""
        self.graph.watch(base, lambda value: self._load(value, name, out, node))

    def _load(self, value: Value, name: str, out: Variable, node: cst.CSTNode) -> None:
        program = self.program
        if isinstance(value, Symbol):
            self.outside(f"{value.name}.{name}", out, node)
        elif isinstance(value, Unknown):
            self.graph.put(out, value)
        elif isinstance(value, Holder) and value.kind == "module":
            self._of_module(value, name, out)
        elif isinstance(value, Holder) and value.kind in {"list", "dict"}:
            self.graph.put(out, self._member(value, name, node))
        elif isinstance(value, Holder):
            self.graph.edge(program.read(value, name), out)
            if name == "__dict__":
                self.graph.put(out, self.fields(value))
            if name in {"__setattr__", "__delattr__", "__setstate__"}:
                self._change(value, node)
            if value.kind == "record" and name in {"_replace", "_asdict"}:
                self.graph.put(out, self._member(value, name, node))
            if value.cls is not None:
                self.member(value.cls, name, out, value, node)
                self._by_text(value, value.cls, out, node)
        elif isinstance(value, Class):
            if name == "__dict__":
                self.graph.put(out, self.fields(value))
            if name in {"__name__", "__doc__", "__mro__"}:
                self.graph.put(out, program.made(("of class", node), lambda: Computed(node)))
            self.member(value, name, out, None, node)
        elif isinstance(value, Above):
            for base in self._bases(value.cls):
                self._of_base(base, name, out, value.receiver, node)
        elif isinstance(value, Bound) and name == "__self__":
            self.graph.put(out, value.receiver)
        elif isinstance(value, Function | Bound | Partial | RecordType):
            self.graph.edge(program.read(value, name), out)
            self.graph.put(out, self._member(value, name, node))
        else:
            self.graph.put(out, self._member(value, name, node))

    def _change(self, value: Value, node: cst.CSTNode) -> None:
        """Let the attributes of an object be anything."""
        unknown = self.program.unknown(node, "a method sets its attributes by their names")
        self.graph.put(self.program.written(value, ANY), unknown)

    def fields(self, value: Value) -> Holder:
        """Return the dict of the attributes of an object: what is put into one is in the other."""
        program = self.program
        found = program.holder(value.node or cst.Name("_"), "dict", ("fields", value))
        if ("fields", value) not in program.asked:
            program.asked.add(("fields", value))
            for one, other in ((value, found), (found, value)):
                program.on_keys(one, partial(self._same, one, other))
        return found

    def _same(self, one: Value, other: Value, key: object) -> None:
        self.graph.edge(self.program.written(one, key), self.program.written(other, key))

    def _by_text(self, value: Holder, cls: Class, out: Variable, node: cst.CSTNode) -> None:
        """Let attributes of a class with `__getattr__` be anything."""
        for special in ("__getattr__", "__getattribute__"):
            found = self.program.named((special, id(value)))
            self.member(cls, special, found, value, cls.node or node)
            self.graph.watch(
                found,
                lambda one: (
                    self.graph.put(out, self.program.unknown(node, "a method of its class gives its attributes"))
                    if isinstance(one, Bound)
                    else None
                ),
            )

    def _member(self, value: Value, name: str, node: cst.CSTNode) -> Value:
        known = None if isinstance(value, Member) else value
        return self.program.made(("member", node, known, name), lambda: Member(node, value, name))

    def outside(self, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Let `out` be what a qualified name means: a name of another file of the program, or one from outside."""
        program = self.program
        if name.count(".") > _DEEPEST:
            self.graph.put(out, program.unknown(node, "the name goes on without end"))
            return
        found = program.outside(program.home(node), name)
        if found is None:
            self.graph.put(out, program.symbol(name))
            return
        tree, rest = found
        if not rest:
            self.graph.put(out, program.holder(tree.module, "module"))
            return
        first, *others = rest.split(".")
        variable = program.module_name(tree, first)
        for other in others:
            inner = program.named(("attribute of a module", id(tree), first, other))
            self.load(variable, other, inner, node)
            variable = inner
        self.graph.edge(variable, out)

    def _of_module(self, value: Holder, name: str, out: Variable) -> None:
        assert isinstance(value.node, cst.Module)
        self.graph.edge(self.program.module_name(self.program.homes[id(value.node)], name), out)

    def member(self, cls: Class, name: str, out: Variable, receiver: Value | None, node: cst.CSTNode) -> None:
        """Let `out` be what a class has under a name, bound to `receiver` where that is an object."""
        program = self.program
        key = ("member of", id(cls), name, id(receiver) if receiver is not None else None, id(out), node)
        if key in program.asked:
            return
        program.asked.add(key)

        def found(value: Value) -> None:
            self._bind(value, cls, receiver, out, node)

        self.graph.watch(program.read(cls, name), found)
        own = program.class_attribute(cls, name)
        if own is not None:
            self.graph.watch(own, found)
            return
        for base in self._bases(cls):
            self._of_base(base, name, out, receiver, node)

    def _bases(self, cls: Class) -> list[Variable]:
        assert isinstance(cls.node, cst.ClassDef)
        return [self.program.moved(base.value) for base in cls.node.bases]

    def _of_base(self, base: Variable, name: str, out: Variable, receiver: Value | None, node: cst.CSTNode) -> None:
        def found(value: Value) -> None:
            if isinstance(value, Class):
                self.member(value, name, out, receiver, node)
            elif not (isinstance(value, Symbol) and value.name in PLAIN_BASES):
                self.graph.put(out, self._member(value, name, node))

        self.graph.watch(base, found)

    def _bind(self, value: Value, cls: Class, receiver: Value | None, out: Variable, node: cst.CSTNode) -> None:
        if not isinstance(value, Function) or not isinstance(value.node, cst.FunctionDef):
            self.graph.put(out, value)
            return
        how = set(decorators(value.node))
        if how & STATIC:
            self.graph.put(out, value)
        elif how & OF_CLASS:
            owner = receiver.cls if isinstance(receiver, Holder) and receiver.cls is not None else cls
            self.graph.put(out, self.bound(value, owner))
        elif receiver is None:
            self.graph.put(out, value)
        elif how & PROPERTY:
            self._enter(self.program, value, receiver, node, out)
        else:
            self.graph.put(out, self.bound(value, receiver))

    def bound(self, function: Function, receiver: Value) -> Value:
        """Return a method with its object."""
        return self.program.made(("bound", function, receiver), lambda: Bound(function.node, function, receiver))

    def store(self, base: Variable, name: str, value: Variable, source: cst.CSTNode | None) -> None:
        """Put all that `value` may be into `base.name`; `source` is the expression that gives it."""
        self.graph.watch(base, lambda holder: self._store(holder, name, value, source))

    def _store(self, holder: Value, name: str, value: Variable, source: cst.CSTNode | None) -> None:
        program = self.program
        if isinstance(holder, Holder) and holder.kind == "module":
            assert isinstance(holder.node, cst.Module)
            self.graph.edge(value, program.module_name(program.homes[id(holder.node)], name))
        elif isinstance(holder, Holder | Class | Function):
            self.graph.edge(value, program.written(holder, name))
            if isinstance(holder, Holder) and holder.cls is not None:
                self._setters(holder.cls, holder, name, value)
                self._own_setter(holder, holder.cls, source or holder.cls.node)
            if isinstance(holder, Function) and name in {"__defaults__", "__kwdefaults__", "__code__"}:
                unknown = program.unknown(source, "the function is changed when the program runs")
                self.graph.put(program.named(("return", holder.node)), unknown)
        elif source is not None:
            program.given.add(source)

    def _own_setter(self, holder: Holder, cls: Class, node: cst.CSTNode | None) -> None:
        """Let a class with a `__setattr__` of its own put anything into its objects."""
        found = self.program.named(("__setattr__", id(holder)))
        site = cls.node or node
        assert site is not None
        self.member(cls, "__setattr__", found, holder, site)
        self.graph.watch(found, lambda one: self._change(holder, site) if isinstance(one, Bound) else None)

    def _setters(self, cls: Class, receiver: Holder, name: str, value: Variable) -> None:
        """Run `@name.setter` methods."""
        assert isinstance(cls.node, cst.ClassDef)
        key = ("setters", cls, receiver, name, id(value))
        if key in self.program.asked:
            return
        self.program.asked.add(key)
        for statement in cls.node.body.body:
            if isinstance(statement, cst.FunctionDef) and f"{name}.setter" in decorators(statement):
                parameters = [*statement.params.posonly_params, *statement.params.params]
                self.program.entered.setdefault(statement, set()).add(statement)
                if len(parameters) == 2:
                    self.graph.put(self.program.definition(parameters[0].name), receiver)
                    self.graph.edge(value, self.program.definition(parameters[1].name))
        for base in self._bases(cls):
            self.graph.watch(
                base, lambda one: self._setters(one, receiver, name, value) if isinstance(one, Class) else None
            )
