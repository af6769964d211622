"""Values that escape to unanalysed code, which may call them with any arguments and modify their contents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst

from migrate.source.flow.arguments import Arguments, Caller, Given
from migrate.source.flow.attributes import OF_CLASS, STATIC, Attributes, decorators
from migrate.source.flow.graph import Variable
from migrate.source.flow.names.bindings import parameters_of
from migrate.source.flow.program import REPLACED, Program
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
    Result,
    Symbol,
    Tainted,
    Unknown,
    Value,
)

#: Special methods that unanalysed code may run on an object that it receives.
_RUN_OUTSIDE = ("__call__", "__enter__", "__exit__", "__getitem__", "__iter__", "__next__", "__setitem__")
#: Read-only methods of lists, dicts, sets and tuples, in addition to those that the engine models.
READING = {
    "__contains__", "__getitem__", "__iter__", "__len__", "difference", "elements", "fromkeys", "intersection",
    "isdisjoint", "issubset", "issuperset", "most_common", "move_to_end", "symmetric_difference", "has_key",
}  # fmt: skip


class Escapes:
    """Models calls of external functions and other ways by which values escape."""

    def __init__(
        self, program: Program, attributes: Attributes, caller: Caller, changes: Callable[[str], bool]
    ) -> None:
        """`changes` is True for the names of functions in non-mutating libraries that do modify their arguments."""
        self.program = program
        self.graph = program.graph
        self.attributes = attributes
        self.call = caller.call
        self.changes = changes
        program.drop = self._drop
        self._instances: dict[cst.ClassDef, Variable] = {}
        self.partials: dict[Value, tuple[Variable, Arguments]] = {}  #: callee and stored arguments of each partial

    def open(self, value: Value, reason: str) -> None:
        """Let unanalysed code call the value with any arguments."""
        if isinstance(value, Bound):
            self._open(value.function, reason, value.receiver)
        elif isinstance(value, Function):
            self._open(value, reason, None)
        elif isinstance(value, Partial) and value in self.partials and self.program.is_new(("opened", value)):
            callee, first = self.partials[value]
            self.call(callee, first, value.node or cst.Name("_"), Variable())
            self.graph.watch(callee, lambda function: self.open(function, reason))
        elif isinstance(value, Holder) and value.kind in {"list", "dict"} and self.program.is_new(("opened", value)):
            self.graph.watch(self.program.read(value, ANY), lambda function: self.open(function, reason))
        elif isinstance(value, Holder) and value.cls is not None and self.program.is_new(("opened", value)):
            self.program.handed[value] = None
            self.attributes.once_found(value.cls, _RUN_OUTSIDE, partial(self._open_methods, value, reason))

    def _open_methods(self, value: Holder, reason: str) -> None:
        for name in _RUN_OUTSIDE:
            self.graph.watch(self.attributes.special(value, name), lambda method: self.open(method, reason))

    def _open(self, function: Function, reason: str, receiver: Value | None) -> None:
        """Bind the parameters of an open function: the receiver, if known, and otherwise unknown values."""
        key = ("open", id(function), id(receiver))
        if key in self.program.asked:
            return
        self.program.asked.add(key)
        function.open = True
        node = function.node
        assert isinstance(node, (cst.FunctionDef, cst.Lambda))
        names = parameters_of(node.params)
        cls = self._class_of(node)
        if receiver is not None and names:
            self.graph.put(self.program.definition(names[0].name), receiver)
            names = names[1:]
        elif cls is not None and names:
            self.graph.edge(self.instances(cls), self.program.definition(names[0].name))
            names = names[1:]
        for parameter in names:
            self.graph.put(self.program.definition(parameter.name), self.program.unknown(parameter, reason))

    def _class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """Return the class of which a function is an instance method; None for other functions."""
        block = self.program.home(node).parent(node)
        cls = self.program.home(node).parent(block) if block is not None else None
        if not isinstance(cls, cst.ClassDef) or not isinstance(node, cst.FunctionDef):
            return None
        return None if {*decorators(node)} & {*STATIC, *OF_CLASS} else cls

    def instances(self, cls: cst.ClassDef) -> Variable:
        """Return the variable of all instances of a class, those of its subclasses included."""
        instances = self._instances.get(cls)
        if instances is None:
            variable = instances = self._instances[cls] = Variable()
            self.attributes.heritage.each_base(
                self.program.cls(cls),
                lambda base: self.graph.edge(variable, self.instances(cst.ensure_type(base.node, cst.ClassDef))),
            )
        return instances

    def is_instance(self, instance: Value, cls: Class) -> None:
        """Register an object as an instance of its class and of that class's bases."""
        self.graph.put(self.instances(cst.ensure_type(cls.node, cst.ClassDef)), instance)

    def open_object(self, cls: cst.ClassDef) -> None:
        """Let unanalysed code create an instance of a class."""
        value = self.program.cls(cls)
        instance = self.program.holder(cls, "object", "open", value)
        self.is_instance(instance, value)
        constructor = self.program.named(("constructor", id(instance)))
        self.attributes.member(value, "__init__", constructor, instance, cls)
        self.graph.watch(constructor, self._receive)

    def _receive(self, method: Value) -> None:
        """Bind the first parameter of a method to its receiver; its other arguments come from known calls only."""
        if isinstance(method, Bound):
            node = method.function.node
            assert isinstance(node, (cst.FunctionDef, cst.Lambda))
            for first in [*node.params.posonly_params, *node.params.params][:1]:
                self.graph.put(self.program.definition(first.name), method.receiver)

    def leave(self, callee: Value, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Model a call of an external function: its arguments escape, and functions among them become open."""
        if isinstance(callee, Tainted):
            self.graph.put(out, callee)  # what the program itself stored there is called separately
            return
        self.hand(callee, arguments, site)
        if isinstance(callee, Result) and isinstance(callee.callee, Symbol) and callee.callee.name == "builtins.eval":
            self._open_named(site)
        if isinstance(callee, Member) and isinstance(callee.base, Holder) and callee.name not in READING:
            self.spoil(callee.base, site)
        if self._is_non_mutating(callee):
            self._share(arguments, site)
        else:
            for argument in arguments:
                if self.program.is_new(("spoils", argument.variable)):
                    self.graph.watch(argument.variable, lambda value: self.spoil(value, site))
        if isinstance(callee, Unknown):
            self.graph.put(out, self.program.unknown(site, callee.reason))
        else:
            known = None if isinstance(callee, Member) else callee
            result = self.program.interned(("result", site, known), lambda: Result(site, callee))
            self.graph.put(out, result)

    def _open_named(self, site: cst.CSTNode) -> None:
        """Let code evaluated by `eval` call any function of its file."""
        for line in self.program.home(site).module.body:
            if isinstance(line, cst.FunctionDef):
                self.open(self.program.function(line), "a text that is evaluated may name it")

    def _share(self, arguments: Arguments, site: cst.CSTNode) -> None:
        """Let a callback that is passed to a library modify the other arguments, as the target of a thread does."""

        def arrived(value: Value, function: Given) -> None:
            of_list = isinstance(value, Member) and isinstance(value.base, Holder)
            if of_list and isinstance(value, Member):
                self.spoil(value.base, site)
            if of_list or isinstance(value, (Function, Bound, Partial)):
                for argument in arguments:
                    if argument is not function:
                        self.graph.watch(argument.variable, lambda other: self.spoil(other, site))

        for callback in arguments if len(arguments) > 1 else ():
            self.graph.watch(callback.variable, partial(arrived, function=callback))

    def reach(self, value: Value, site: cst.CSTNode) -> None:
        """Record that a value escapes at a place that has no expression for it."""
        if not isinstance(value, (Holder, Class, Function, Constant, Symbol)):
            self.program.escaped.setdefault(value, []).append(site)

    def hand(self, callee: Value, arguments: Arguments, site: cst.CSTNode) -> None:
        """Record that the arguments of a call escape, and open the functions among them."""
        reason = "code that is not analysed may call it"
        for argument in arguments:
            if argument.node is not None:
                self.program.handed_out.add(argument.node)
            elif not isinstance(callee, Constant):
                self.graph.watch(argument.variable, lambda value: self.reach(value, site))
            if self.program.is_new(("handed", argument.variable)):
                self.graph.watch(argument.variable, lambda value: self.open(value, reason))

    def _is_non_mutating(self, callee: Value) -> bool:
        """True for library code that does not modify the lists and objects that it receives."""
        value = callee
        while isinstance(value, (Member, Result)):
            value = value.base if isinstance(value, Member) else value.callee
        if isinstance(value, Symbol):
            return value.name.split(".")[0] in self.program.non_mutating and not self.changes(value.name)
        if isinstance(value, Holder) and value.kind != "object":
            self.spoil(value, callee.node or cst.Name("_"))
        return isinstance(value, (Constant, Computed, Holder))

    def _drop(self, value: Value) -> None:
        """Handle a value that a full points-to set left out: unanalysed code may call and modify it."""
        self.open(value, "it is one of too many values to be followed")
        self.spoil(value, value.node or cst.Name("_"))

    def spoil(self, value: Value, site: cst.CSTNode) -> None:
        """Let unanalysed code modify the contents of a value; what it contains escapes with it."""
        is_first = value not in self.program.spoiled
        self.program.spoiled.add(value)
        if not self.program.is_new(("spoiled", value, id(site))):  # each place counts: clients allow some of them
            return
        if isinstance(value, Holder):
            if value.kind == "module":
                self.attributes.reveal(value, site)
            if is_first:
                self.graph.put(self.program.written(value, ANY), self._spoiled(site))
            self.graph.watch(self.program.read(value, ANY), lambda content: self.spoil(content, site))
        elif isinstance(value, Bound):
            self.spoil(value.receiver, site)
        elif isinstance(value, Class):
            if is_first:
                self.graph.put(self.program.written(value, ANY), self._spoiled(site))
        else:
            self.program.escaped.setdefault(value, []).append(site)
            if isinstance(value, Function):  # its attributes escape as well
                self.graph.watch(self.program.read(value, ANY), lambda content: self.spoil(content, site))

    def _spoiled(self, site: cst.CSTNode) -> Value:
        return self.program.interned(("spoiled", site), lambda: Tainted(site, REPLACED))
