"""Instances of classes that the program defines: allocation, constructors, dataclass and record fields."""

from __future__ import annotations

from functools import partial

import libcst as cst

from migrate.source.flow.arguments import Arguments, Caller
from migrate.source.flow.attributes import decorators
from migrate.source.flow.entries import Entries
from migrate.source.flow.escapes import Escapes
from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.values import (
    ANY,
    Bound,
    Class,
    Function,
    Holder,
    RecordType,
    Symbol,
    Value,
)
from migrate.source.syntax.node_index import dotted

DATACLASS = {"dataclass", "dataclasses.dataclass"}
#: Special methods whose call sites the engine models. It assumes that any other special method may run at any time.
FOLLOWED = {
    "__aenter__", "__aexit__", "__aiter__", "__anext__", "__call__", "__enter__", "__exit__", "__getitem__", "__init__",
    "__init_subclass__", "__iter__", "__new__", "__next__", "__post_init__", "__set__", "__set_name__", "__setattr__",
    "__setitem__",
}  # fmt: skip
#: Builtin and standard library classes that store their constructor's arguments.
_CONTAINERS = {"list", "dict", "tuple", "set", "UserDict", "UserList", "OrderedDict", "defaultdict", "deque", "Thread"}


class Objects:
    """Models calls of classes."""

    def __init__(self, program: Program, entries: Entries, escapes: Escapes, caller: Caller) -> None:
        self.program = program
        self.graph = program.graph
        self.entries = entries
        self.attributes = entries.attributes
        self.escapes = escapes
        self.caller = caller
        self._kept_by: dict[Class, Variable] = {}
        texts = [tree.attributes.get(name, ()) for tree in program.trees for name in ("__init__", "__new__")]
        self._sets_constructors = any(
            isinstance(program.home(node).parent(node), cst.AssignTarget) for nodes in texts for node in nodes
        )

    def construct(self, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Allocate an instance for a call of the class, fill its fields, and run its constructor."""
        assert isinstance(cls.node, cst.ClassDef)
        if any(dotted(base.value).rpartition(".")[2] == "NamedTuple" for base in cls.node.bases):
            self.record(tuple(_fields(cls.node)), arguments, site, out, cls)
        elif _is_plain_record(cls.node) and not self._sets_constructors:
            self.graph.watch(self.attributes.bases(cls)[0], partial(self._of_record, cls, arguments, site, out))
        else:
            self._allocate(cls, arguments, site, out)

    def _of_record(self, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable, base: Value) -> None:
        """Make an instance of a class whose only base is what `namedtuple` returned, if that is known."""
        if isinstance(base, RecordType):
            self.record(base.names, arguments, site, out, cls)
        else:
            self._allocate(cls, arguments, site, out)

    def _allocate(self, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Make an instance of a class that is no named tuple, and run its constructor."""
        program, heritage = self.program, self.attributes.heritage
        assert isinstance(cls.node, cst.ClassDef)
        instance = program.holder(site, "object", cls.node, cls)
        self.graph.put(out, instance)
        self.escapes.is_instance(instance, cls)
        program.entered.setdefault(cls.node, set()).add(site)
        if self.program.is_new(("constructed", instance)):
            heritage.once(cls, _has_specials, lambda: self._open_specials(cls, instance))
        self.graph.watch(self._containers(cls), lambda _: self._keep_given(instance, arguments, site))
        constructor = program.named(("constructor", id(instance)))
        self.attributes.member(cls, "__init__", constructor, instance, site)
        heritage.once(cls, _is_dataclass, lambda: self._fill_dataclass(cls, instance, arguments))
        self.caller.call(constructor, arguments, site, Variable())
        self.attributes.once_found(cls, ("__new__",), lambda: self._make(cls, instance, arguments, site, out))

    def _make(self, cls: Class, instance: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        other = self.program.named(("made by", id(instance)))
        self.attributes.member(cls, "__new__", other, instance, site)
        self.graph.watch(other, lambda value: self._made_otherwise(value, cls, arguments, site, out))

    def _containers(self, cls: Class) -> Variable:
        """Return the variable of those bases of a class that are builtin containers."""
        kept = self._kept_by.get(cls)
        if kept is None:
            kept = self._kept_by[cls] = Variable()
            for base in self.attributes.bases(cls):
                self.graph.pass_on(base, kept, _is_container)
        return kept

    def _keep_given(self, instance: Holder, arguments: Arguments, site: cst.CSTNode) -> None:
        """Model a class that inherits from a list or dict: the object stores the constructor's arguments."""
        self.graph.put(self.program.written(instance, ANY), self.program.unknown(site, "its base keeps its entries"))
        for argument in arguments:
            self.graph.watch(argument.variable, lambda value: self.escapes.spoil(value, site))

    def _made_otherwise(
        self, method: Value, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable
    ) -> None:
        """Call `__new__`; its result replaces the instance."""
        function = method.function if isinstance(method, Bound) else method
        if isinstance(function, Function):
            self.graph.put(out, self.program.unknown(site, "`__new__` decides what is created"))
            self.caller.enter(function, arguments, site, out, cls)

    def _fill_dataclass(self, cls: Class, instance: Holder, arguments: Arguments) -> None:
        """Let the fields of a dataclass and its bases, in whatever order, have the arguments or their defaults."""
        assert isinstance(cls.node, cst.ClassDef)
        if not self.program.is_new(("filled", instance, cls)):
            return
        self._fill(instance, (), arguments)
        if _is_dataclass(cls.node):
            self._defaults(instance, cls.node)
            after = self.attributes.special(instance, "__post_init__")
            self.caller.call(after, (), cls.node, Variable())
            self.graph.watch(after, lambda method: self.escapes.open(method, "it gets the fields that are only for it"))
        self.attributes.heritage.each_base(cls, lambda base: self._fill_dataclass(base, instance, arguments))

    def _open_specials(self, cls: Class, instance: Holder) -> None:
        """Mark those special methods as open that operators and builtin functions may call on the instance."""
        assert isinstance(cls.node, cst.ClassDef)
        if ("specials", instance, cls) in self.program.asked:
            return
        self.program.asked.add(("specials", instance, cls))
        for name in _specials(cls.node):
            reason = "an operator or a function of Python may call it"
            self.graph.watch(self.attributes.special(instance, name), partial(self.escapes.open, reason=reason))
        self.attributes.heritage.each_base(cls, lambda base: self._open_specials(base, instance))

    def record(
        self, names: tuple[str, ...], arguments: Arguments, site: cst.CSTNode, out: Variable, cls: Class | None = None
    ) -> None:
        """Allocate a named tuple with these fields; `cls` is its class if the program defines one."""
        record = self.program.holder(site, "record", names, cls)
        record.names = names
        self.graph.put(out, record)
        self._fill(record, names, arguments)
        if cls is not None:
            self._defaults(record, cls.node)  # type: ignore[arg-type]

    def _fill(self, holder: Holder, names: tuple[str, ...], arguments: Arguments) -> None:
        """Store arguments in the fields of a record or dataclass."""
        program = self.program
        for position, argument in enumerate(arguments):
            if argument.node is not None:
                program.moves.add(argument.node)
            if argument.star == "**":
                self.entries.copy(argument.variable, holder)
            elif argument.star:
                items = self.entries.items(argument.variable, argument.node or cst.Name("_"))
                self.graph.edge(items, program.written(holder, ANY))
            else:
                name = argument.keyword or (names[position] if position < len(names) else "")
                self.graph.edge(argument.variable, program.written(holder, name or ANY))
                if holder.kind == "record" and name in names:
                    self.graph.edge(argument.variable, program.written(holder, names.index(name)))

    def _defaults(self, instance: Holder, cls: cst.ClassDef) -> None:
        for statement in _annotated(cls):
            value = statement.value
            if value is None or not isinstance(statement.target, cst.Name):
                continue
            written = self.program.written(instance, statement.target.value)
            arguments = _of_field(value)
            if arguments is None:
                self.graph.edge(self.program.moved(value), written)
            elif "default_factory" in arguments:
                self.caller.call(self.program.moved(arguments["default_factory"]), (), value, written)
            elif "default" in arguments:
                self.graph.edge(self.program.moved(arguments["default"]), written)


def _specials(cls: cst.ClassDef) -> list[str]:
    """Return the special methods of a class that Python may call at any time."""
    names = [one.name.value for one in cls.body.body if isinstance(one, cst.FunctionDef)]
    return [one for one in names if one.startswith("__") and one.endswith("__") and one not in FOLLOWED]


def _is_plain_record(cls: cst.ClassDef) -> bool:
    """True for `class Pair(namedtuple("Pair", "a b"))` without special methods, which could make it otherwise."""
    base = cls.bases[0].value if len(cls.bases) == 1 and not cls.keywords and not cls.decorators else None
    names = [one.name.value for one in cls.body.body if isinstance(one, cst.FunctionDef)]
    special = any(name.startswith("__") and name.endswith("__") for name in names)
    return isinstance(base, cst.Call) and dotted(base.func).rpartition(".")[2] == "namedtuple" and not special


def _is_container(value: Value) -> bool:
    return isinstance(value, Symbol) and value.name.rpartition(".")[2] in _CONTAINERS


def _has_specials(cls: cst.ClassDef) -> bool:
    return bool(_specials(cls))


def _is_dataclass(cls: cst.ClassDef) -> bool:
    return not DATACLASS.isdisjoint(decorators(cls))


def _annotated(cls: cst.ClassDef) -> list[cst.AnnAssign]:
    lines = [one.body for one in cls.body.body if isinstance(one, cst.SimpleStatementLine)]
    return [one for line in lines for one in line if isinstance(one, cst.AnnAssign)]


def _fields(cls: cst.ClassDef) -> list[str]:
    return [one.target.value for one in _annotated(cls) if isinstance(one.target, cst.Name)]


def _of_field(value: cst.BaseExpression) -> dict[str, cst.BaseExpression] | None:
    """Return the keyword arguments of a `dataclasses.field` call; None for any other default."""
    if not isinstance(value, cst.Call) or dotted(value.func).rpartition(".")[2] != "field":
        return None
    return {arg.keyword.value: arg.value for arg in value.args if arg.keyword is not None}
