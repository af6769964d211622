"""Attribute reads on objects, classes, modules and libraries, and method resolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import libcst as cst

from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.values import (
    ANY,
    Bound,
    Class,
    Computed,
    Constant,
    Function,
    Holder,
    Member,
    Partial,
    RecordType,
    SuperProxy,
    Symbol,
    Unknown,
    Value,
)
from migrate.source.syntax.node_index import dotted

#: A predicate over class definitions.
Kind = Callable[[cst.ClassDef], bool]


class Heritage:
    """Runs actions only for classes with a property, of their own or of a base.

    Few have it, while each class may have thousands of instances: it is computed once per class.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._graph = program.graph
        self._signs: dict[tuple[Class, Kind], Variable] = {}

    def once(self, cls: Class, kind: Kind, act: Callable[[], None]) -> None:
        """Call `act` once if the predicate holds for the class or any of its base classes."""
        self._graph.watch(self._sign(cls, kind), lambda _: act())

    def bases(self, cls: Class) -> list[Variable]:
        """Return the variables of the base class expressions."""
        assert isinstance(cls.node, cst.ClassDef)
        return [self._program.moved(base.value) for base in cls.node.bases]

    def each_base(self, cls: Class, act: Callable[[Class], None]) -> None:
        """Call `act` with each base class that the program defines."""
        for variable in self.bases(cls):
            self._graph.watch_kind(variable, Class, act)

    def _sign(self, cls: Class, kind: Kind) -> Variable:
        """Return a variable that is non-empty if the predicate holds for the class or a base of it."""
        known = self._signs.get((cls, kind))
        if known is not None:
            return known
        sign = self._signs[cls, kind] = Variable()
        assert isinstance(cls.node, cst.ClassDef)
        if kind(cls.node):
            self._graph.put(sign, self._program.none)
        self.each_base(cls, lambda base: self._graph.edge(self._sign(base, kind), sign))
        return sign


#: The largest number of dots in an external name, so that `x = x.next` reaches a fixed point.
_DEEPEST = 12
#: Decorators that determine how a method is bound.
STATIC, OF_CLASS = {"staticmethod"}, {"classmethod"}
PROPERTY = {"property", "cached_property", "functools.cached_property", "abc.abstractproperty"}
#: Base classes without attributes that matter to the analysis.
PLAIN_BASES = {
    "builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing.NamedTuple", "enum.Enum",
    "builtins.Exception", "builtins.ValueError", "six.with_metaclass",
}  # fmt: skip

#: Special methods that compute or intercept attributes.
_BY_TEXT = ("__getattr__", "__getattribute__", "__setattr__")

#: Calls a callee: its variable, the arguments, the call site, and the variable of the result.
Run = Callable[[Variable, Sequence[Variable], cst.CSTNode, Variable], None]


def decorators(function: cst.FunctionDef | cst.ClassDef) -> list[str]:
    """Return the dotted names of the decorators, without their arguments."""
    nodes = (one.decorator for one in function.decorators)
    return [dotted(node.func if isinstance(node, cst.Call) else node, "?") for node in nodes]


def _is_of_class(node: cst.CSTNode | None) -> bool:
    """True for special methods that are class methods without a decorator."""
    return isinstance(node, cst.FunctionDef) and node.name.value in {"__init_subclass__", "__class_getitem__"}


def _has_many_bases(node: cst.ClassDef) -> bool:
    return len(node.bases) > 1


class Attributes:
    """Models attribute reads; `run` calls properties, `__getattr__` and similar methods."""

    def __init__(self, program: Program, run: Run) -> None:
        self.program = program
        self.graph = program.graph
        self._run = run
        self._sets_classes = any(tree.attributes.get("__class__") for tree in program.trees)
        self._specials: dict[tuple[Value, str], Variable] = {}
        self._members: dict[tuple[Class, str], tuple[Variable, Variable]] = {}
        self._signs: dict[tuple[Class, tuple[str, ...]], Variable] = {}
        self._unnamed = (Variable(),)  #: the argument of `__getattr__` and its like, a name that is not followed
        self.heritage = Heritage(program)
        self.bases = self.heritage.bases

    def load(self, base: Variable, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Add to `out` everything that `base.name` may be."""
        self.graph.watch(base, lambda value: self._load(value, name, out, node))
        if name in {"__cause__", "__context__"}:
            self.graph.edge(self.program.named("raised"), out)

    def _load(self, value: Value, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Add to `out` the attribute `name` of one value, according to the kind of the value."""
        program = self.program
        if isinstance(value, Symbol):
            self.outside(f"{value.name}.{name}", out, node)
        elif isinstance(value, Unknown):
            self.graph.put(out, value)
        elif isinstance(value, Holder) and value.kind == "module":
            self._of_module(value, name, out, node)
        elif isinstance(value, Holder) and value.kind in {"list", "dict"}:
            self.graph.put(out, self._member(value, name, node))
        elif isinstance(value, Holder):
            self.graph.edge(program.read(value, name), out)
            if name == "__dict__":
                self.graph.put(out, self.fields(value))
            if name == "__class__" and value.cls is not None:
                self.graph.put(out, value.cls)
            if name in {"__setattr__", "__delattr__", "__setstate__"}:
                self._change(value, node)
            if value.kind == "record" and name in {"_replace", "_asdict"}:
                self.graph.put(out, self._member(value, name, node))
            if value.cls is not None:
                self.member(value.cls, name, out, value, node)
                self._by_text(value, value.cls, out, node)
                self._of_new_class(value, name, out, node)
        elif isinstance(value, Class):
            if name == "__dict__":
                self.graph.put(out, self.fields(value))
            if name in {"__name__", "__doc__", "__mro__"}:
                self.graph.put(out, program.interned(("of class", node), lambda: Computed(node)))
            self.member(value, name, out, None, node)
        elif isinstance(value, SuperProxy):
            for base in self.bases(value.cls):
                self._of_base(base, name, out, value.receiver, node)
            owner = value.receiver.cls if isinstance(value.receiver, Holder) else value.receiver
            if isinstance(owner, Class):
                self._beside(owner, value, name, out, node)
        elif isinstance(value, Bound) and name == "__self__":
            self.graph.put(out, value.receiver)
        elif isinstance(value, (Function, Bound, Partial, RecordType)):
            self.graph.edge(program.read(value, name), out)
            self.graph.put(out, self.fields(value) if name == "__dict__" else self._member(value, name, node))
        else:
            self.graph.put(out, self._member(value, name, node))
            if isinstance(value, Computed) and isinstance(value.node, (cst.ExceptHandler, cst.ExceptStarHandler)):
                self._of_caught(name, out, node)

    def _of_caught(self, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Model attributes of a caught `StopIteration`, which carries the return value of a generator."""
        stopped = self.program.named("stopped")
        if name == "value":
            self.graph.edge(stopped, out)
        elif name == "args":
            arguments = self.program.holder(node, "list", "args")
            self.graph.edge(stopped, self.program.written(arguments, 0))
            self.graph.put(out, arguments)

    def reveal(self, value: Value, site: cst.CSTNode) -> None:
        """Let the contents of a module, or of a container in it, escape to unanalysed code."""
        if isinstance(value, Holder) and value.kind == "module":
            tree = self.program.homes[id(value.node)]
            names = [self.program.module_name(tree, name) for name in self.program.names_of(tree)]
        elif isinstance(value, Holder):
            names = [self.program.read(value, ANY)]
        else:
            if not isinstance(value, (Class, Function, Constant, Symbol)):
                self.program.escaped.setdefault(value, []).append(site)
            return
        if self.program.is_new(("revealed", value)):
            for variable in names:
                self.graph.watch(variable, lambda content: self.reveal(content, site))

    def _of_new_class(self, value: Holder, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Also look in the classes that `x.__class__ = C` gives an object."""
        if name != "__class__" and self._sets_classes:
            cls = self.program.written(value, "__class__")
            self.graph.watch_kind(cls, Class, lambda new_class: self.member(new_class, name, out, value, node))

    def _change(self, value: Value, node: cst.CSTNode) -> None:
        """Let the attributes of an object have any value."""
        unknown = self.program.unknown(node, "a method sets its attributes by their names")
        self.graph.put(self.program.written(value, ANY), unknown)

    def _beside(self, cls: Class, above: SuperProxy, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Let `super()` also search the other bases of the receiver's class, which may follow in its MRO."""
        if cls is not above.cls:
            self.heritage.once(cls, _has_many_bases, lambda: self._among_bases(cls, above, name, out, node))

    def _among_bases(self, cls: Class, above: SuperProxy, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Search the bases of a class with several, except the one whose `super()` it is."""
        if not self.program.is_new(("beside", cls, above, name, out, node)):
            return

        def arrived(base: Class) -> None:
            if base is not above.cls:
                self._beside(base, above, name, out, node)
                if len(self.bases(cls)) > 1:
                    self.member(base, name, out, above.receiver, node)

        self.heritage.each_base(cls, arrived)

    def fields(self, value: Value) -> Holder:
        """Return the `__dict__` of an object: a holder whose contents are kept equal to the object's attributes."""
        program = self.program
        holder = program.holder(value.node or cst.Name("_"), "dict", ("fields", value))
        if ("fields", value) not in program.asked:
            program.asked.add(("fields", value))
            for source, target in ((value, holder), (holder, value)):
                program.on_keys(source, partial(self._same, source, target))
        return holder

    def _same(self, source: Value, target: Value, key: object) -> None:
        self.graph.edge(self.program.written(source, key), self.program.written(target, key))

    def _by_text(self, value: Holder, cls: Class, out: Variable, node: cst.CSTNode) -> None:
        """Let attributes of a class with `__getattr__` or similar methods have any value."""
        reason = "a method of its class gives its attributes"

        def arrived() -> None:
            for special in _BY_TEXT:
                self._decides(special, value, out, node, reason)
                if special != "__setattr__":
                    self._run(self.special(value, special), self._unnamed, node, out)

        self.once_found(cls, _BY_TEXT, arrived)

    def once_found(self, cls: Class, names: tuple[str, ...], act: Callable[[], None]) -> None:
        """Call `act` once if the class or a base has one of these methods.

        Few classes have them, but each may have many instances.
        """
        sign = self._signs.get((cls, names))
        if sign is None:
            sign = self._signs[cls, names] = Variable()
            show = partial(self._show, sign)
            for name in names:
                for variable in self._has(cls, name):
                    self.graph.watch(variable, show)
        self.graph.watch(sign, lambda _: act())

    def _show(self, sign: Variable, _: Value) -> None:
        """Record that something was found, whatever it is."""
        self.graph.put(sign, self.program.none)

    def special(self, value: Holder, name: str) -> Variable:
        """Return the variable of a special method, looked up in the class of the object."""
        method = self._specials.get((value, name))
        if method is None:
            assert value.cls is not None and value.cls.node is not None
            method = self._specials[value, name] = Variable()
            self.member(value.cls, name, method, value, value.cls.node)
        return method

    def _decides(self, special: str, value: Holder, out: Variable, node: cst.CSTNode, reason: str) -> None:
        """Add "unknown" to `out` if the class of an object has this special method."""

        def arrived(method: Value) -> None:
            if isinstance(method, (Bound, Function)):
                self.graph.put(out, self.program.unknown(node, reason))

        self.graph.watch(self.special(value, special), arrived)

    def _member(self, value: Value, name: str, node: cst.CSTNode) -> Value:
        known = None if isinstance(value, Member) else value
        return self.program.interned(("member", node, known, name), lambda: Member(node, value, name))

    def outside(self, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Resolve a qualified name: to a name of another file of the program, or to an external symbol.

        What another file imports from a library and hands on has the name that the library gives it.
        """
        program = self.program
        if name.count(".") > _DEEPEST:
            self.graph.put(out, program.unknown(node, "the name goes on without end"))
            return
        resolved = program.outside(program.home(node), name)
        if resolved is None:
            link = program.home(node).link
            for qualified in sorted(link.outside(name)) if link is not None else [name]:
                self.graph.put(out, program.symbol(qualified))
                self.graph.edge(program.patched(qualified), out)
            return
        tree, rest = resolved
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

    def _of_module(self, value: Holder, name: str, out: Variable, node: cst.CSTNode) -> None:
        """Read a name of a module of the program."""
        if name == "__dict__":
            self.reveal(value, node)
        assert isinstance(value.node, cst.Module)
        self.graph.edge(self.program.module_name(self.program.homes[id(value.node)], name), out)

    def member(self, cls: Class, name: str, out: Variable, receiver: Value | None, node: cst.CSTNode) -> None:
        """Look up a name in a class and its bases; functions are bound to `receiver` if it is an instance."""
        if not self.program.is_new(("member of", cls, name, receiver, out, node)):
            return
        inside, above = self._has(cls, name)
        self.graph.watch(inside, lambda value: self._bind(value, inside, cls, receiver, out, node))
        self.graph.watch(above, lambda value: self.graph.put(out, self._member(value, name, node)))

    def _has(self, cls: Class, name: str) -> tuple[Variable, Variable]:
        """Return two variables: what a class and its bases bind a name to, and the external bases that may bind it."""
        known = self._members.get((cls, name))
        if known is not None:
            return known
        program = self.program
        inside, above = self._members[cls, name] = Variable(), Variable()
        self.graph.edge(program.read(cls, name), inside)
        own = program.class_attribute(cls, name)
        if own is not None:
            self.graph.edge(own, inside)
        if own is not None and program.hides(cls, name):
            return inside, above

        def arrived(base: Value) -> None:
            if isinstance(base, Class):
                first, second = self._has(base, name)
                self.graph.edge(first, inside)
                self.graph.edge(second, above)
            elif not (isinstance(base, Symbol) and base.name in PLAIN_BASES):
                self.graph.put(above, base)

        for variable in self.bases(cls):
            self.graph.watch(variable, arrived)
        return inside, above

    def _of_base(self, base: Variable, name: str, out: Variable, receiver: Value | None, node: cst.CSTNode) -> None:
        """Look up a name in the values of one base class expression."""

        def arrived(value: Value) -> None:
            if isinstance(value, Class):
                self.member(value, name, out, receiver, node)
            elif isinstance(value, RecordType) and name in value.names and isinstance(receiver, Holder):
                pass  # a field of the object has its own values
            elif not (isinstance(value, Symbol) and value.name in PLAIN_BASES):
                self.graph.put(out, self._member(value, name, node))

        self.graph.watch(base, arrived)

    def _bind(
        self, value: Value, source: Variable, cls: Class, receiver: Value | None, out: Variable, node: cst.CSTNode
    ) -> None:
        """Bind a class attribute to a receiver: as a static, class, instance or property method, or as it is."""
        if isinstance(value, Holder) and value.kind == "object" and value.cls is not None:
            self._decides("__get__", value, out, node, "a descriptor gives the attribute")
        if not isinstance(value, Function):
            self.graph.put(out, value, source)
            return
        how = set(decorators(value.node)) if isinstance(value.node, cst.FunctionDef) else set()
        if how & STATIC:
            self.graph.put(out, value)
        elif how & OF_CLASS or _is_of_class(value.node):
            owner = receiver.cls if isinstance(receiver, Holder) and receiver.cls is not None else receiver
            self.graph.put(out, self.bound(value, owner if isinstance(owner, Class) else cls))
        elif receiver is None or isinstance(receiver, Class):
            self.graph.put(out, value)
        elif how & PROPERTY:
            method = self.program.named(("property", value, receiver))
            self.graph.put(method, self.bound(value, receiver))
            self._run(method, (), node, out)
        else:
            self.graph.put(out, self.bound(value, receiver))

    def bound(self, function: Function, receiver: Value) -> Value:
        """Return the bound method of a function and a receiver."""
        return self.program.interned(("bound", function, receiver), lambda: Bound(function.node, function, receiver))
