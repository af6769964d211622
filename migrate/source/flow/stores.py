"""Assignments to attributes of objects, classes and modules, and the methods that these assignments run."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow.attributes import Attributes, Run, decorators
from migrate.source.flow.graph import Variable
from migrate.source.flow.names.bindings import parameters_of
from migrate.source.flow.program import Program
from migrate.source.flow.values import ANY, Bound, Class, Function, Holder, Symbol, Value


class Stores:
    """Models attribute assignments; `run` calls the setters, `__setattr__` and `__set__` methods involved."""

    def __init__(self, program: Program, attributes: Attributes, run: Run) -> None:
        self.program = program
        self.graph = program.graph
        self.attributes = attributes
        self._run = run
        self._setting: dict[str, dict[Class, list[cst.FunctionDef]]] | None = None

    def store(self, base: Variable, name: str, value: Variable, source: cst.CSTNode | None) -> None:
        """Assign the values of `value` to `base.name`; `source` is the assigned expression, if there is one."""
        self.graph.watch(base, lambda holder: self._store(holder, name, value, source))

    def _store(self, holder: Value, name: str, value: Variable, source: cst.CSTNode | None) -> None:
        program = self.program
        if isinstance(holder, Holder) and holder.kind == "module":
            assert isinstance(holder.node, cst.Module)
            self.graph.edge(value, program.module_name(program.homes[id(holder.node)], name))
        elif isinstance(holder, (Holder, Class, Function)):
            self.graph.edge(value, program.written(holder, name))
            if name in {"__class__", "__bases__", "__dict__", "__mro__"}:
                unknown = program.unknown(holder.node, "all of its content is replaced at once")
                self.graph.put(program.written(holder, ANY), unknown)
            if isinstance(holder, Holder) and holder.cls is not None:
                self._setters(holder.cls, holder, name, value)
                site = holder.cls.node or cst.Name("_")
                self._run(self._own(holder, "__setattr__"), (Variable(), value), site, Variable())
                self._descriptors(holder.cls, holder, name, value)
            if isinstance(holder, Function) and name in {"__defaults__", "__kwdefaults__", "__code__"}:
                self._changed(holder.node, program.unknown(source, "the function is changed when the program runs"))
        else:
            if isinstance(holder, Symbol):
                self.graph.edge(value, program.patched(f"{holder.name}.{name}"))
            elif program.reflecting:
                for tree in program.trees:
                    self.graph.edge(value, program.module_name(tree, name))
            if source is not None:
                program.handed_out.add(source)

    def _changed(self, function: cst.CSTNode | None, unknown: Value) -> None:
        """Let a function return anything, and parameters that need not be given be anything."""
        for what in ("return", "replaced"):
            self.graph.put(self.program.named((what, function)), unknown)
        params = parameters_of(function.params) if isinstance(function, (cst.FunctionDef, cst.Lambda)) else []
        for parameter in params:
            if parameter.default is not None:
                self.graph.put(self.program.definition(parameter.name), unknown)

    def _setters(self, cls: Class, receiver: Holder, name: str, value: Variable) -> None:
        """Run the `@name.setter` methods of a class and its bases."""
        setters = self._setters_of(name)
        if not setters or not self.program.is_new(("setters", cls, receiver, name, value)):
            return
        for statement in setters.get(cls, ()):
            parameters = [*statement.params.posonly_params, *statement.params.params]
            self.program.entered.setdefault(statement, set()).add(statement)
            if len(parameters) == 2:
                self.graph.put(self.program.definition(parameters[0].name), receiver)
                self.graph.edge(value, self.program.definition(parameters[1].name))
        self.attributes.heritage.each_base(cls, lambda base: self._setters(base, receiver, name, value))

    def _setters_of(self, name: str) -> dict[Class, list[cst.FunctionDef]]:
        """Return the setter methods for this attribute name, by class."""
        if self._setting is None:
            self._setting = {}
            for node in self.program.classes:
                for method in (one for one in node.body.body if isinstance(one, cst.FunctionDef)):
                    for text in (one for one in decorators(method) if one.endswith(".setter")):
                        of_name = self._setting.setdefault(text.removesuffix(".setter"), {})
                        of_name.setdefault(self.program.cls(node), []).append(method)
        return self._setting.get(name, {})

    def _descriptors(self, cls: Class, receiver: Holder, name: str, value: Variable) -> None:
        """Run `__set__` of a descriptor that the class has under this name."""
        there = self.program.named(("of class", cls, name))
        site = cls.node or cst.Name("_")
        self.attributes.member(cls, name, there, None, site)

        def arrived(descriptor: Value) -> None:
            if isinstance(descriptor, Holder) and descriptor.kind == "object" and descriptor.cls is not None:
                instance = self.program.named(("alone", receiver))
                self.graph.put(instance, receiver)
                self._run(self._own(descriptor, "__set__"), (instance, value), site, Variable())

        self.graph.watch(there, arrived)

    def _own(self, value: Holder, name: str) -> Variable:
        """Return the variable of a special method without the values that unanalysed code contributes."""
        own = self.program.named(("own special", name, id(value)))
        if self.program.is_new(("own special", name, id(value))):
            special = self.attributes.special(value, name)
            self.graph.watch(
                special, lambda method: self.graph.put(own, method) if isinstance(method, (Bound, Function)) else None
            )
        return own
