"""Computes the scopes of names in a file: libcst's scope objects, filled by one fast walk.

libcst's own provider walks a file three times and copies each node, which takes two thirds of the time of parsing.
Omitted here, because unused: names in quoted annotations, and the references of each assignment. As in Python, and
unlike libcst, `:=` in a comprehension binds outside of it, and `nonlocal` finds the binding function at any distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import libcst as cst
from libcst.metadata import Access, ClassScope, ComprehensionScope, FunctionScope, GlobalScope, Scope
from libcst.metadata.scope_provider import AnnotationScope, LocalScope

Comprehension = cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp

#: Nodes that bind names, which later reads see.
BINDING = frozenset({
    cst.AnnAssign, cst.AsName, cst.Assign, cst.AugAssign, cst.ClassDef, cst.CompFor, cst.FunctionDef, cst.Global,
    cst.Import, cst.ImportFrom, cst.NamedExpr, cst.Nonlocal, cst.Parameters, cst.WithItem, cst.TypeVar, cst.TypeAlias,
    cst.TypeVarTuple, cst.ParamSpec,
})  # fmt: skip
#: Fields without names: layout and punctuation.
LAYOUT = frozenset({
    "asynchronous", "colon", "comma", "dot", "empty_lines", "equal", "first_colon", "footer", "header", "indent",
    "lbrace", "lbracket", "leading_lines", "leading_whitespace", "lines_after_decorators", "lpar", "operator",
    "posonly_ind", "rbrace", "rbracket", "relative", "rpar", "second_colon", "semicolon", "separator",
    "trailing_comma", "trailing_whitespace",
})  # fmt: skip
#: Field orders of nodes whose fields are not in evaluation order.
ORDER: dict[type, tuple[str, ...]] = {
    cst.ExceptHandler: ("type", "name", "body"),
    cst.ExceptStarHandler: ("type", "name", "body"),
    cst.IfExp: ("body", "test", "orelse"),
    cst.MatchCase: ("pattern", "guard", "body"),
    cst.Parameters: ("posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg"),
}


class _Fields(dict[type, tuple[str, ...]]):
    """Type of a node -> the fields that can contain names."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        names = [field.name for field in fields(kind)] if issubclass(kind, cst.CSTNode) else []
        kept = (name for name in names if name not in LAYOUT and not name.startswith("whitespace"))
        self[kind] = ORDER.get(kind) or tuple(kept)
        return self[kind]


_FIELDS = _Fields()


class Scopes:
    """The scope of each node of a module, without layout nodes and names that are not variables."""

    def __init__(self, module: cst.Module) -> None:
        """Walk the module."""
        self._bound: dict[
            cst.CSTNode, set[str]
        ] = {}  #: names that each function binds; computed only if there is a `nonlocal`
        self._asks = False
        self._walk(module)
        if self._asks:
            self._bound = _bound_names(self.by_node)
            self._walk(module)
        for access, chain in self._accesses:
            _record(access, chain)

    def _walk(self, module: cst.Module) -> None:
        self.by_node: dict[cst.CSTNode, Scope] = {}
        self._scope: Scope = GlobalScope()
        self._stores = False  #: names that are visited now are assigned
        self._chain: cst.Attribute | None = None  #: the outermost attribute around the visited node
        self._accesses: list[tuple[Access, cst.Attribute | None]] = []
        self._visit(module)

    def _visit(self, node: cst.CSTNode) -> None:
        kind = type(node)
        special = _SPECIAL.get(kind)
        if special is not None:
            special(self, node)
        else:
            self._children(node)
        self.by_node[node] = self._scope
        if kind in BINDING:
            self._scope._assignment_count += 1

    def _children(self, node: cst.CSTNode) -> None:
        for name in _FIELDS[type(node)]:
            value = getattr(node, name)
            if isinstance(value, cst.CSTNode):
                self._visit(value)
            elif isinstance(value, (list, tuple)):
                self._all(value)

    def _all(self, nodes: Sequence[cst.CSTNode | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    @contextmanager
    def _storing(self, stores: bool) -> Iterator[None]:
        before, self._stores = self._stores, stores
        try:
            yield
        finally:
            self._stores = before

    @contextmanager
    def _inside(self, scope: Scope) -> Iterator[None]:
        before, self._scope = self._scope, scope
        try:
            yield
        finally:
            self._scope = before

    def _define(self, node: cst.FunctionDef | cst.ClassDef | cst.Param) -> None:
        self._scope.record_assignment(node.name.value, node)
        self.by_node[node.name] = self._scope

    def _target(self, node: cst.CSTNode) -> None:
        with self._storing(True):
            self._visit(node)

    def _name(self, node: cst.Name) -> None:
        if self._stores:
            self._scope.record_assignment(node.value, node)
        else:
            access = Access(node, self._scope, is_annotation=False, is_type_hint=False)
            self._accesses.append((access, self._chain))

    def _attribute(self, node: cst.Attribute) -> None:
        outermost = self._chain is None
        if outermost:
            self._chain = node
        with self._storing(False):
            self._visit(node.value)
        if outermost:
            self._chain = None

    def _subscript(self, node: cst.Subscript) -> None:
        with self._storing(False):
            self._children(node)

    def _call(self, node: cst.Call) -> None:
        chain, self._chain = self._chain, None
        self._children(node)
        self._chain = chain

    def _arg(self, node: cst.Arg) -> None:
        self._visit(node.value)

    def _assign(self, node: cst.Assign) -> None:
        with self._storing(True):
            self._all(node.targets)
        self._visit(node.value)

    def _one_target(self, node: cst.AnnAssign | cst.AugAssign) -> None:
        self._target(node.target)
        self._all([node.annotation if isinstance(node, cst.AnnAssign) else None, node.value])

    def _named(self, node: cst.NamedExpr) -> None:
        outer = self._scope
        while isinstance(outer, ComprehensionScope):
            outer = outer.parent
        with self._inside(outer):
            self._target(node.target)
        self._visit(node.value)
        outer._assignment_count += outer is not self._scope

    def _as_name(self, node: cst.AsName) -> None:
        self._target(node.name)

    def _import(self, node: cst.Import | cst.ImportFrom) -> None:
        for alias in () if isinstance(node.names, cst.ImportStar) else node.names:
            self.by_node[alias] = self._scope
            bound = alias.asname.name if alias.asname is not None else alias.name
            for name, _ in _dotted(bound):
                self._scope.record_import_assignment(name, node, bound)

    def _function(self, node: cst.FunctionDef) -> None:
        self._define(node)
        with self._inside(self._scope):
            self._type_parameters(node)
            with self._inside(FunctionScope(self._scope, node, node.name.value)):
                self._visit(node.params)
                self._visit(node.body)
            self._all([*node.decorators, node.returns])

    def _lambda(self, node: cst.Lambda) -> None:
        with self._inside(FunctionScope(self._scope, node)):
            self._visit(node.params)
            self._visit(node.body)

    def _param(self, node: cst.Param) -> None:
        self._define(node)
        with self._inside(self._scope.parent):
            self._all([node.default, node.annotation])

    def _class(self, node: cst.ClassDef) -> None:
        self._define(node)
        self._all(node.decorators)
        with self._inside(self._scope):
            self._type_parameters(node)
            self._all([*node.bases, *node.keywords])
            with self._inside(ClassScope(self._scope, node, node.name.value)):
                self._all(node.body.body)

    def _type_parameters(self, node: cst.FunctionDef | cst.ClassDef | cst.TypeAlias) -> None:
        """Enter the scope of type parameters, if there are any; the caller restores the previous scope."""
        if node.type_parameters is not None:
            self._scope = AnnotationScope(self._scope, node, None)
            self._visit(node.type_parameters)

    def _type_alias(self, node: cst.TypeAlias) -> None:
        self._scope.record_assignment(node.name.value, node)
        with self._inside(AnnotationScope(self._scope, node, None)):
            self._all([node.type_parameters, node.value])

    def _type_variable(self, node: cst.TypeVar | cst.TypeVarTuple | cst.ParamSpec) -> None:
        self._scope.record_assignment(node.name.value, node)
        self._all([node.bound] if isinstance(node, cst.TypeVar) else [])

    def _global(self, node: cst.Global) -> None:
        for item in node.names:
            self._scope.record_global_overwrite(item.name.value)

    def _nonlocal(self, node: cst.Nonlocal) -> None:
        self._asks = True
        for item in node.names if self._bound else ():
            name, owner = item.name.value, self._scope.parent
            while isinstance(owner, LocalScope) and name not in self._bound.get(owner.node, ()):
                owner = owner.parent
            if isinstance(self._scope, LocalScope) and isinstance(owner, FunctionScope):
                self._scope._scope_overwrites[name] = owner

    def _comprehension(self, node: Comprehension) -> None:
        loop = node.for_in
        self._visit(loop.iter)
        self.by_node[loop] = self._scope
        with self._inside(ComprehensionScope(self._scope, node)):
            self._target(loop.target)
            self._scope._assignment_count += 1
            self._all([*loop.ifs, loop.inner_for_in])
            self._all([node.key, node.value] if isinstance(node, cst.DictComp) else [node.elt])

    def _inner_loop(self, node: cst.CompFor) -> None:
        self._target(node.target)
        self._all([node.iter, *node.ifs, node.inner_for_in])

    def _for(self, node: cst.For) -> None:
        self._target(node.target)
        self._scope._assignment_count += 1
        self._all([node.iter, node.body, node.orelse])


#: Node types with a special visit method.
_SPECIAL: dict[type, Callable[[Scopes, Any], None]] = {
    cst.AnnAssign: Scopes._one_target,
    cst.Arg: Scopes._arg,
    cst.AsName: Scopes._as_name,
    cst.Assign: Scopes._assign,
    cst.Attribute: Scopes._attribute,
    cst.AugAssign: Scopes._one_target,
    cst.Call: Scopes._call,
    cst.ClassDef: Scopes._class,
    cst.CompFor: Scopes._inner_loop,
    cst.DictComp: Scopes._comprehension,
    cst.For: Scopes._for,
    cst.FunctionDef: Scopes._function,
    cst.GeneratorExp: Scopes._comprehension,
    cst.Global: Scopes._global,
    cst.Import: Scopes._import,
    cst.ImportFrom: Scopes._import,
    cst.Lambda: Scopes._lambda,
    cst.ListComp: Scopes._comprehension,
    cst.Name: Scopes._name,
    cst.NamedExpr: Scopes._named,
    cst.Nonlocal: Scopes._nonlocal,
    cst.Param: Scopes._param,
    cst.ParamSpec: Scopes._type_variable,
    cst.SetComp: Scopes._comprehension,
    cst.Subscript: Scopes._subscript,
    cst.TypeAlias: Scopes._type_alias,
    cst.TypeVar: Scopes._type_variable,
    cst.TypeVarTuple: Scopes._type_variable,
}


def _bound_names(scopes: Mapping[cst.CSTNode, Scope]) -> dict[cst.CSTNode, set[str]]:
    """Return the names that each function binds, without its `nonlocal` and `global` names."""
    names: dict[cst.CSTNode, set[str]] = {}
    for scope in {id(one): one for one in scopes.values()}.values():
        if isinstance(scope, FunctionScope):
            names[scope.node] = {name for name, held in scope._assignments.items() if held}
    for node, scope in scopes.items():
        if isinstance(node, (cst.Nonlocal, cst.Global)) and isinstance(scope, FunctionScope):
            names[scope.node] -= {item.name.value for item in node.names}
    return names


def _dotted(node: cst.BaseExpression) -> list[tuple[str, cst.Name | cst.Attribute]]:
    """Return `a.b.c`, `a.b` and `a` of `a.b.c`, each with its node; a call is treated as the called expression."""
    if isinstance(node, cst.Name):
        return [(node.value, node)]
    if not isinstance(node, cst.Attribute):
        return []
    if isinstance(node.value, cst.Call):
        return _dotted(node.value.func)
    inner = _dotted(node.value)
    return [(f"{inner[0][0]}.{node.attr.value}", node), *inner] if inner else []


def _record(access: Access, chain: cst.Attribute | None) -> None:
    """Record an access: of the longest prefix of `chain` that an import binds, else of the name."""
    name = access.node.value if isinstance(access.node, cst.Name) else ""
    for dotted, node in _dotted(chain) if chain is not None else ():
        if dotted in access.scope:
            access.node, name = node, dotted
            break
    access.record_assignments(name)
    access.scope.record_access(name, access)
