"""Reaching definitions of local names, computed function by function.

A name that several functions assign, by `global` or `nonlocal`, is left out: each use may read any of its values. Loops
need no fixed point: all that is assigned anywhere in a loop is assumed to reach its head.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import cast

import libcst as cst
from libcst.metadata import Assignment, Scope

from migrate.source.flow.kinds import inside, is_layout, is_literal
from migrate.source.flow.names.bindings import Binding, bound, bound_name, captured, names_in, owners, parameters_of
from migrate.source.flow.names.reaching import NOTHING, Environment, NotNone, Reaching, either, merged, narrowed
from migrate.source.syntax.node_index import dotted
from migrate.source.syntax.tree import Tree

_DECLARING = {cst.Global, cst.Nonlocal}
#: Nodes that bind names, and nodes with a scope of their own.
_BINDING = {
    cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.AsName, cst.ImportAlias,
    cst.FunctionDef, cst.ClassDef,
}  # fmt: skip
_CAPTURES = {cst.MatchAs, cst.MatchStar, cst.MatchMapping}
_OWN = {cst.FunctionDef, cst.ClassDef, cst.Lambda}
#: Context managers that never suppress an exception, by their last names.
_KEEP = {
    "as_default", "arg_scope", "catch_warnings", "closing", "colocate_with", "container", "control_dependencies",
    "custom_object_scope", "device", "FileWriter", "GFile", "GradientTape", "gradient_override_map", "init_scope",
    "InteractiveSession", "lock", "MonitoredSession", "MonitoredTrainingSession", "name_scope", "nullcontext", "open",
    "scope", "Session", "sess", "session", "variable_scope",
}  # fmt: skip
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


class Definitions:
    """The bindings that reach each use of a name, for uses in the scope that owns the name."""

    def __init__(self, tree: Tree, opened: Iterable[Scope] = (), afar: Container[str] = ()) -> None:
        """Walk the module body and every function; the result is in `reaching`.

        Any name of the scopes in `opened`, and the module-level names in `afar`, may change at any time.
        """
        self.tree = tree
        self._opened = {id(scope) for scope in opened}
        self._afar = afar
        self.reaching: dict[cst.Name, Reaching] = {}
        self.hidden: set[str] = set()  #: module-level names that a star import may rebind
        self.ending: set[cst.FunctionDef] = set()  #: functions whose end is reachable, so that they may return None
        self._owners: dict[tuple[int, str], list[Scope]] = {}
        self._shared = set(self._declared())
        self._scope: Scope | None = None
        module = tree.module
        self._walk(module.body, (), self._scope_of(module.body))
        for node in tree.nodes():
            if type(node) is not cst.FunctionDef:
                continue
            if self._walk(_body(node.body), parameters_of(node.params), self._scope_of(_body(node.body))):
                self.ending.add(node)

    def bindings(self, node: cst.Name) -> Reaching:
        """Return the definitions that reach a use of a name, or the only one of a name of another scope."""
        if node in self.reaching:
            return self.reaching[node]
        scopes = [scope for scope in owners(self.tree, node.value, node) if id(scope) not in self._opened]
        if len(scopes) != 1 or node.value in self._afar or (id(scopes[0]), node.value) in self._shared:
            return None
        nodes = [one.node for one in scopes[0].assignments[node.value] if isinstance(one, Assignment)]
        return frozenset(nodes) if len(nodes) == 1 else None  # type: ignore[arg-type]

    def _scope_of(self, body: Iterable[cst.CSTNode]) -> Scope | None:
        return next((scope for node in body if (scope := self.tree.scope(node)) is not None), None)

    def _declared(self) -> Iterator[tuple[int, str]]:
        """Yield the names that a function binds in another scope, and those that patterns capture."""
        for node in self.tree.nodes():
            if type(node) in _CAPTURES and (name := captured(node)) is not None:
                around: cst.CSTNode | None = node
                while around is not None and self.tree.scope(around) is None:
                    around = self.tree.parent(around)
                for owner in owners(self.tree, name, around or node):
                    yield id(owner), name
            if type(node) in _DECLARING:
                assert isinstance(node, (cst.Global, cst.Nonlocal))
                for item in node.names:
                    for owner in owners(self.tree, item.name.value, node):
                        yield id(owner), item.name.value
                    if isinstance(node, cst.Global) and (scope := self.tree.scope(node)) is not None:
                        yield id(scope.globals), item.name.value

    def _walk(self, body: Iterable[cst.CSTNode], parameters: Iterable[cst.Param], scope: Scope | None) -> bool:
        """Record the definitions that reach each name in a body; True if the end of the body is reachable."""
        if scope is None:
            return True
        self._scope = scope
        environment: Environment = {}
        for parameter in parameters:
            self._define(environment, parameter.name)
        return self._block(body, environment) is not None

    # Names

    def _owns(self, name: str, node: cst.CSTNode) -> bool:
        """True for a name of the current scope that no other function, and no reflection, rebinds."""
        if self._scope is None or (id(self._scope), name) in self._shared or id(self._scope) in self._opened:
            return False
        if name in self._afar and self._scope is self._scope.globals:
            return False
        scope = self.tree.scope(node)
        key = id(scope), name
        if key not in self._owners:
            self._owners[key] = owners(self.tree, name, node)
        return any(owner is self._scope for owner in self._owners[key])

    def _define(self, environment: Environment, node: Binding, weakly: bool = False) -> None:
        """Record a definition: it replaces earlier ones, or with `weakly` is added to them."""
        name = node.value if isinstance(node, cst.Name) else bound_name(node)
        if self._owns(name, node):
            before = environment.get(name, NOTHING) if weakly else NOTHING
            environment[name] = either(before, frozenset((node,)))

    def _expressions(self, environment: Environment, *nodes: cst.CSTNode | None) -> None:
        """Record what each name reads and what `:=` binds; nested functions are walked separately."""
        pending = [node for node in reversed(nodes) if node is not None]
        while pending:
            node = pending.pop()
            kind = type(node)
            if kind is cst.Name:
                name = cast(cst.Name, node)
                if self._owns(name.value, name):
                    self.reaching[name] = environment.get(name.value, NOTHING)
            elif kind is cst.Attribute or kind is cst.Arg:
                pending.append(cast(cst.Arg, node).value)
            elif is_literal(kind) or is_layout(kind):
                continue
            elif isinstance(node, cst.NamedExpr):
                self._expressions(environment, node.value)
                self._define(environment, node.target, weakly=True)  # type: ignore[arg-type]
            elif isinstance(node, cst.Lambda):
                pending += [one.default for one in parameters_of(node.params) if one.default is not None]
            elif isinstance(node, cst.GeneratorExp):
                self._add_all(environment, node)  # runs only when its entries are read
                pending.append(node.for_in.iter)
            elif isinstance(node, _COMPREHENSIONS):
                pending += reversed(_in_order(node))
            else:
                pending += reversed(list(inside(node)))

    def _targets(self, environment: Environment, *targets: cst.CSTNode) -> None:
        """Record the definitions of assignment targets, and read the expressions inside of them."""
        for target in targets:
            pending = [target]
            while pending:
                node = pending.pop()
                if isinstance(node, cst.Name):
                    self._define(environment, node)
                elif isinstance(node, (cst.Tuple, cst.List)):
                    pending += [element.value for element in node.elements]
                else:
                    self._expressions(environment, node)

    # Statements

    def _block(self, body: Iterable[cst.CSTNode], environment: Environment | None) -> Environment | None:
        """Walk statements and return the environment after them; None if that point is unreachable."""
        for node in body:
            if environment is None:
                environment = {}  # dead code: no definition reaches it
            if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
                environment = self._block(node.body, environment)
            else:
                environment = _STATEMENTS.get(type(node), Definitions._other)(self, node, environment)
        return environment

    def _other(self, node: cst.CSTNode, environment: Environment) -> Environment | None:
        self._expressions(environment, *inside(node))
        return environment

    def _leave(self, node: cst.CSTNode, environment: Environment) -> Environment | None:
        self._expressions(environment, *inside(node))
        return None

    def _assign(self, node: cst.Assign, environment: Environment) -> Environment:
        self._expressions(environment, node.value)
        self._targets(environment, *(one.target for one in node.targets))
        return environment

    def _annotated(self, node: cst.AnnAssign, environment: Environment) -> Environment:
        self._expressions(environment, node.annotation, node.value)
        if node.value is not None:
            self._targets(environment, node.target)
        return environment

    def _augmented(self, node: cst.AugAssign, environment: Environment) -> Environment:
        self._expressions(environment, node.value, node.target)
        self._targets(environment, node.target)
        return environment

    def _imported(self, node: cst.Import | cst.ImportFrom, environment: Environment) -> Environment:
        if isinstance(node.names, cst.ImportStar):
            self._starred(node, environment)
            return environment
        for alias in node.names:
            self._define(environment, alias)
        return environment

    def _starred(self, node: cst.CSTNode, environment: Environment) -> None:
        """Let a star import of unanalysed code rebind names, except those that explicit imports have bound.

        What is imported from a module may be rebound, too, unless the star's module is one of a known library.
        """
        link, text = self.tree.link, self.tree.source(node)
        if link is not None and not link.hides(text):
            return
        any_name = link is not None and link.may_rebind(text)
        for name, bindings in environment.items():
            if bindings is None or any(self._is_rebound(one, any_name) for one in bindings):
                self.hidden.add(name)
                environment[name] = None

    def _is_rebound(self, binding: Binding | NotNone, any_name: bool) -> bool:
        if not isinstance(binding, cst.ImportAlias):
            return True
        return any_name and not isinstance(self.tree.parent(binding), cst.Import)

    def _defined(self, node: cst.FunctionDef | cst.ClassDef, environment: Environment) -> Environment:
        self._expressions(environment, *node.decorators)
        if isinstance(node, cst.ClassDef):
            self._expressions(environment, *node.bases, *node.keywords)
        else:
            self._expressions(environment, *(one.default for one in parameters_of(node.params)))
        self._define(environment, node.name)
        return environment

    def _if(self, node: cst.If, environment: Environment) -> Environment | None:
        self._expressions(environment, node.test)
        taken = self._block(_body(node.body), narrowed(environment, node.test, True))
        otherwise = narrowed(environment, node.test, False)
        other: Environment | None = otherwise
        if isinstance(node.orelse, cst.If):
            other = self._if(node.orelse, otherwise)
        elif node.orelse is not None:
            other = self._block(_body(node.orelse.body), otherwise)
        return merged(taken, other)

    def _loop(self, node: cst.For | cst.While, environment: Environment) -> Environment:
        """Walk a loop once; its head may be reached by everything that the loop assigns."""
        if isinstance(node, cst.For):
            self._expressions(environment, node.iter)
        self._add_all(environment, node)
        head = dict(environment)
        if isinstance(node, cst.For):
            self._targets(environment, node.target)
        else:
            self._expressions(environment, node.test)
        end = self._block(_body(node.body), environment)
        after = merged(end, head) or head
        if node.orelse is not None:
            after = merged(self._block(_body(node.orelse.body), dict(after)), after) or after
        return after

    def _try(self, node: cst.Try | cst.TryStar, environment: Environment) -> Environment | None:
        """Walk a `try`; each handler may be reached by any definition of the body."""
        broken = dict(environment)
        self._add_all(broken, node.body)
        end = self._block(_body(node.body), environment)
        if node.orelse is not None and end is not None:
            end = self._block(_body(node.orelse.body), end)
        ends = [end]
        for handler in node.handlers:
            caught = dict(broken)
            self._expressions(caught, handler.type)
            if handler.name is not None:
                self._targets(caught, handler.name.name)
            ends.append(self._block(_body(handler.body), caught))
        after: Environment | None = None
        for path in ends:
            after = merged(after, path)
        if node.finalbody is None:
            return after
        whole = merged(after, broken) or broken
        for handler in node.handlers:
            self._add_all(whole, handler)
        last = self._block(_body(node.finalbody.body), whole)
        return last if after is not None else None

    def _with(self, node: cst.With, environment: Environment) -> Environment | None:
        """Walk a `with`; the code after it is also reached from inside if an exception may be suppressed."""
        before = dict(environment)
        for item in node.items:
            self._expressions(environment, item.item)
            if item.asname is not None:
                self._targets(environment, item.asname.name)
        end = self._block(_body(node.body), environment)
        if all(_last_name(item.item) in _KEEP for item in node.items):
            return end
        self._add_all(before, node)  # the context manager may suppress an exception
        return merged(end, before)

    def _match(self, node: cst.Match, environment: Environment) -> Environment | None:
        self._expressions(environment, node.subject)
        after: Environment | None = dict(environment)
        for case in node.cases:
            inside = dict(environment)
            self._expressions(inside, case.guard)
            after = merged(after, self._block(_body(case.body), inside))
        return after

    def _deleted(self, node: cst.Del, environment: Environment) -> Environment:
        for name in names_in(node.target):
            environment.pop(name.value, None)
        return environment

    def _add_all(self, environment: Environment, node: cst.CSTNode) -> None:
        """Add all bindings inside `node` as possible definitions, in addition to the present ones."""
        pending = [node]
        while pending:
            part = pending.pop()
            kind = type(part)
            if kind in _BINDING:
                for name in bound(part):
                    self._define(environment, name, weakly=True)
            if kind not in _OWN and not is_layout(kind) and not is_literal(kind):
                pending += inside(part)


def _last_name(node: cst.BaseExpression) -> str:
    return dotted(node.func if isinstance(node, cst.Call) else node).rpartition(".")[2]


def _body(node: cst.BaseSuite) -> Iterable[cst.CSTNode]:
    return node.body


def _in_order(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the parts of a comprehension in evaluation order; its targets belong to its own scope."""
    parts: list[cst.CSTNode] = []
    loop: cst.CompFor | None = node.for_in  # type: ignore[attr-defined]
    while loop is not None:
        parts += [loop.iter, *loop.ifs]
        loop = loop.inner_for_in
    return [*parts, *([node.key, node.value] if isinstance(node, cst.DictComp) else [node.elt])]  # type: ignore[attr-defined]


_STATEMENTS: Mapping[type, Callable[..., Environment | None]] = {
    cst.AnnAssign: Definitions._annotated,
    cst.Assign: Definitions._assign,
    cst.AugAssign: Definitions._augmented,
    cst.Break: Definitions._leave,
    cst.ClassDef: Definitions._defined,
    cst.Continue: Definitions._leave,
    cst.Del: Definitions._deleted,
    cst.For: Definitions._loop,
    cst.FunctionDef: Definitions._defined,
    cst.If: Definitions._if,
    cst.Import: Definitions._imported,
    cst.ImportFrom: Definitions._imported,
    cst.Match: Definitions._match,
    cst.Raise: Definitions._leave,
    cst.Return: Definitions._leave,
    cst.Try: Definitions._try,
    cst.TryStar: Definitions._try,
    cst.While: Definitions._loop,
    cst.With: Definitions._with,
}
