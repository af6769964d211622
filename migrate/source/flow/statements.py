"""Constraints of statements: what they bind, return, raise and import."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst
from libcst.metadata import QualifiedNameSource

from migrate.source.flow.arguments import Given
from migrate.source.flow.attributes import OF_CLASS, PROPERTY, STATIC, decorators
from migrate.source.flow.calls import CONTEXTS, Calls
from migrate.source.flow.expressions import Expressions
from migrate.source.flow.graph import Variable
from migrate.source.flow.kinds import expressions_in, is_statement
from migrate.source.flow.names.bindings import certain_names
from migrate.source.flow.objects import DATACLASS
from migrate.source.flow.program import Program
from migrate.source.flow.targets import parts_of_slices
from migrate.source.flow.values import ANY, DECORATED, Bound, Class, Computed, Holder, Symbol, Unknown, Value
from migrate.source.syntax.node_index import dotted
from migrate.source.syntax.tree import Tree

#: Decorators that leave the name of a function or class bound to that function or class.
PLAIN = {
    *STATIC, *OF_CLASS, *PROPERTY, *CONTEXTS, *DATACLASS, "abc.abstractmethod", "abstractmethod", "functools.wraps",
    "wraps", "functools.cache", "functools.lru_cache", "lru_cache", "cache", "total_ordering",
    "functools.total_ordering",
}  # fmt: skip


class Statements:
    """Adds the constraints of all statements of all files."""

    def __init__(self, program: Program, calls: Calls, expressions: Expressions) -> None:
        self.program = program
        self.calls = calls
        self.expressions = expressions
        self.graph = program.graph

    def run(self, tree: Tree) -> None:
        """Read one file."""
        for node in tree.nodes():
            read = _BY_KIND[type(node)]
            if read is not None:
                read(self, node)

    def _ask(self, node: cst.CSTNode) -> None:
        for expression in expressions_in(node):
            self.program.value_of(expression)

    def _generator(self, node: cst.Yield) -> None:
        function = self.program.home(node).enclosing(node, cst.FunctionDef)
        if function is not None:
            self.program.generators.add(function)
            self.graph.edge(self.program.named(("return", function)), self.program.named("stopped"))

    def _assign(self, node: cst.Assign) -> None:
        value = self.program.moved(node.value)
        for target in node.targets:
            self.expressions.targets.bind(target.target, value, node.value)

    def _annotated(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.expressions.targets.bind(node.target, self.program.moved(node.value), node.value)

    def _augmented(self, node: cst.AugAssign) -> None:
        """Read `x += y`: a list or dict is extended in place and stays the same value; all else is computed anew."""
        value = self.program.value_of(node.value)
        before = self.program.value_of(node.target)
        after = self.program.named(("after", node))
        self.expressions.targets.bind(node.target, after, None)

        def arrived(previous: Value) -> None:
            if isinstance(previous, Holder) and previous.kind in {"list", "dict"}:
                self.graph.put(after, previous)
                self.program.moves.add(node.value)
                if previous.kind == "dict":
                    self.calls.entries.copy(value, previous)
                else:
                    self.graph.edge(self.calls.entries.items(value, node.value), self.program.written(previous, ANY))
            elif isinstance(previous, Unknown) or (isinstance(previous, Holder) and previous.kind == "object"):
                self.graph.put(after, self.program.unknown(node, "a method of an object computes it"))
            else:
                self.graph.put(after, self.program.interned(("computed", node), lambda: Computed(node)))

        def other(addend: Value) -> None:
            if isinstance(addend, Holder) and addend.kind == "object":
                self.graph.put(after, self.program.unknown(node, "a method of an object computes it"))

        self.graph.watch(before, arrived)
        self.graph.watch(value, other)

    def _for(self, node: cst.For) -> None:
        self.expressions.targets.bind(
            node.target, self.calls.entries.items(self.program.moved(node.iter), node.iter), None
        )

    def _with(self, node: cst.WithItem) -> None:
        value = self.program.value_of(node.item)
        entered = self.program.named(("entered", node))
        if node.asname is not None:
            self.program.moves.add(node.item)
            self.expressions.targets.bind(node.asname.name, entered, node.item)

        def arrived(manager: Value) -> None:
            if isinstance(manager, Holder) and manager.kind == "context":
                self.graph.edge(self.program.read(manager, ANY), entered)
            elif isinstance(manager, Holder) and manager.cls is not None:
                special = self.calls.attributes.special
                for name in ("__enter__", "__aenter__"):
                    self.calls.entries.run(special(manager, name), (), node, entered)
                for name in ("__exit__", "__aexit__"):
                    self.graph.watch(
                        special(manager, name), lambda end: self.calls.escapes.open(end, "the end of `with` runs it")
                    )
            elif node.asname is not None:
                self.calls.escapes.leave(manager, [Given(value, node=node.item)], node, entered)

        self.graph.watch(value, arrived)

    def _return(self, node: cst.Return) -> None:
        function = self.program.home(node).enclosing(node, cst.FunctionDef)
        if function is None:
            return
        result = self.program.named(("return", function))
        if node.value is None:
            self.graph.put(result, self.program.none)
        else:
            self.graph.edge(self.program.moved(node.value), result)

    def _function(self, node: cst.FunctionDef) -> None:
        if node in self.program.definitions[id(self.program.home(node).module)].ending:
            self.graph.put(self.program.named(("return", node)), self.program.none)
        self.expressions.defaults(node.params)
        if any(one.endswith(".setter") for one in decorators(node)):
            return  # run by assignments to the attribute
        self._decorated(node, self.program.function(node))

    def _class(self, node: cst.ClassDef) -> None:
        keywords = [one for one in node.keywords if one.keyword is not None and one.keyword.value != "metaclass"]
        arguments = [Given(self.program.moved(one.value), keyword=one.keyword.value) for one in keywords if one.keyword]
        defined = self.program.named(("defined", node))
        for argument in node.keywords:
            value = self.program.value_of(argument.value)
            if argument not in keywords:
                self.graph.watch(value, lambda meta: self._metaclass(meta, node, defined))
        cls = self.program.cls(node)

        def above(base: Value) -> None:
            if isinstance(base, Class):
                started = self.program.named(("started", node, base))
                self.calls.attributes.member(base, "__init_subclass__", started, cls, node)
                self.calls.call(started, arguments, node, Variable())
            elif isinstance(base, Unknown):
                self.graph.put(defined, base)

        for argument in node.bases:
            self.graph.watch(self.program.value_of(argument.value), above)
        self._name_attributes(cls)
        self._decorated(node, cls)

    def _metaclass(self, meta: Value, node: cst.ClassDef, defined: Variable) -> None:
        """Let a metaclass return anything, except for the two that are known to leave the class as it is."""
        if not (isinstance(meta, Symbol) and meta.name in {"abc.ABCMeta", "builtins.type"}):
            self.graph.put(defined, self.program.unknown(node, "its metaclass decides what the class is"))

    def _name_attributes(self, cls: Class) -> None:
        """Run `__set_name__` of the values that a class body assigns."""
        assert isinstance(cls.node, cst.ClassDef)
        owner = self.program.named(("alone", cls))
        self.graph.put(owner, cls)

        def arrived(descriptor: Value) -> None:
            if isinstance(descriptor, Holder) and descriptor.kind == "object" and descriptor.cls is not None:
                method, arguments = (
                    self.calls.attributes.special(descriptor, "__set_name__"),
                    [Given(owner), Given(Variable())],
                )
                self.graph.watch_kind(
                    method, Bound, lambda bound: self.calls.invoke(bound, arguments, cls.node or node, Variable())
                )

        node = cls.node
        for name in certain_names(node.body.body):
            own = self.program.class_attribute(cls, name)
            if own is not None:
                self.graph.watch(own, arrived)

    def _decorated(self, node: cst.FunctionDef | cst.ClassDef, value: Value) -> None:
        """Bind the name of a definition to the result of its decorators, applied from the last to the first."""
        variable = self.program.named(("defined", node))
        self.graph.put(variable, value)
        names = decorators(node)
        for name, decorator in reversed(list(zip(names, node.decorators, strict=True))):
            callee = self.program.value_of(decorator.decorator)
            if name in PLAIN and self._is_of_python(decorator):
                if name.endswith("wraps"):
                    self.calls.call(callee, [Given(variable)], decorator.decorator, Variable())
                continue
            result = self.program.named(("decorated", decorator))
            arguments = [Given(variable)]
            self.graph.watch(
                callee, partial(self.calls.invoke, arguments=arguments, site=decorator.decorator, out=result)
            )
            self._outside(callee, variable, result)
            variable = result
        self.graph.edge(variable, self.program.definition(node.name))

    def _is_of_python(self, decorator: cst.Decorator) -> bool:
        """True if the program does not rebind the name of the decorator."""
        node: cst.CSTNode = (
            decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
        )
        tree = self.program.home(decorator)
        scope = tree.scope(node)
        for qualified in scope.get_qualified_names_for(node) if scope is not None else ():
            if qualified.source is QualifiedNameSource.LOCAL or self.program.outside(tree, qualified.name) is not None:
                return False
        return True

    def _outside(self, decorator: Variable, before: Variable, after: Variable) -> None:
        """Let an external decorator, such as `tf.function`, also return the function itself, and open that function."""

        def arrived(callee: Value) -> None:
            if type(callee).__name__ in {"Symbol", "Result", "Member", "Unknown"}:
                self.graph.edge(before, after)
                self.graph.watch(before, lambda value: self.calls.escapes.open(value, DECORATED))

        self.graph.watch(decorator, arrived)

    def _import(self, node: cst.Import | cst.ImportFrom) -> None:
        if isinstance(node.names, cst.ImportStar):
            return
        head = ""
        if isinstance(node, cst.ImportFrom):
            head = "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")
        for alias in node.names:
            name = dotted(alias.name)
            if isinstance(node, cst.Import):
                name = name if alias.asname is not None else name.split(".")[0]
            elif head:
                name = f"{head}{'' if head.endswith('.') else '.'}{name}"
            self.calls.attributes.outside(name, self.program.definition(alias), alias)

    def _handler(self, node: cst.ExceptHandler | cst.ExceptStarHandler) -> None:
        if node.type is not None:
            self.program.value_of(node.type)
        if node.name is not None:
            caught = self.program.named(("caught", node))
            self.graph.edge(self.program.named("raised"), caught)
            self.graph.put(caught, self.program.interned(("computed", node), lambda: Computed(node)))
            self.expressions.targets.bind(node.name.name, caught, None)

    def _raise(self, node: cst.Raise) -> None:
        """Let any handler of the program catch raised instances of its classes, and let them be the cause of others."""
        raised = self.program.named("raised")

        def arrived(exception: Value) -> None:
            if isinstance(exception, Holder) and exception.kind == "object":
                self.graph.put(raised, exception)
            elif isinstance(exception, Class):
                self.calls.invoke(exception, (), node, raised)

        for thrown in (node.exc, node.cause.item if node.cause is not None else None):
            if thrown is not None:
                self.graph.watch(self.program.value_of(thrown), arrived)

    def _match(self, node: cst.Match) -> None:
        """Let the names that patterns capture be the subject, one of its entries, or anything."""
        subject = self.program.moved(node.subject)
        for case in node.cases:
            if case.guard is not None:
                self.program.value_of(case.guard)
            pending: list[cst.CSTNode] = [case.pattern]
            while pending:
                part = pending.pop()
                pending += part.children
                name = part.rest if isinstance(part, cst.MatchMapping) else getattr(part, "name", None)
                if isinstance(name, cst.Name):
                    self._capture(name, subject)

    def _capture(self, name: cst.Name, subject: Variable) -> None:
        variable = self.program.definition(name)
        self.graph.edge(subject, variable)
        self.graph.edge(self.calls.entries.items(subject, name), variable)
        self.graph.put(variable, self.program.unknown(name, "a part of what is matched"))
        self.graph.watch(subject, lambda value: self.calls.escapes.spoil(value, name))

    def _deleted(self, node: cst.Del) -> None:
        pending: list[cst.BaseExpression] = [node.target]
        while pending:
            target = pending.pop()
            if isinstance(target, (cst.Tuple, cst.List)):
                pending += [one.value for one in target.elements]
            elif isinstance(target, cst.Subscript):
                base = self.program.value_of(target.value)
                parts_of_slices(self.program, target)
                self.graph.watch(base, self.calls.entries.shift)
            elif isinstance(target, cst.Attribute):
                self.program.value_of(target.value)


def _nothing(self: Statements, node: cst.CSTNode) -> None:
    return None


_READERS: dict[type, Callable[..., None]] = {
    cst.AnnAssign: Statements._annotated,
    cst.Assign: Statements._assign,
    cst.AugAssign: Statements._augmented,
    cst.ClassDef: Statements._class,
    cst.Del: Statements._deleted,
    cst.ExceptHandler: Statements._handler,
    cst.ExceptStarHandler: Statements._handler,
    cst.For: Statements._for,
    cst.FunctionDef: Statements._function,
    cst.Global: _nothing,
    cst.Import: Statements._import,
    cst.ImportFrom: Statements._import,
    cst.Match: Statements._match,
    cst.Nonlocal: _nothing,
    cst.Raise: Statements._raise,
    cst.Return: Statements._return,
    cst.AsName: _nothing,
    cst.Decorator: _nothing,
    cst.ImportAlias: _nothing,
    cst.MatchCase: _nothing,
    cst.WithItem: Statements._with,
    cst.Yield: Statements._generator,
}


class _ByKind(dict[type, "Callable[..., None] | None"]):
    """Maps node types to readers. Statements without one have their expressions read; other nodes are skipped."""

    def __missing__(self, kind: type) -> Callable[..., None] | None:
        other = Statements._ask if is_statement(kind) else None
        reader = self[kind] = _READERS.get(kind, other)
        return reader


_BY_KIND = _ByKind()
