"""Where option objects come from: only those that a call of the same file makes are known to become the runtime's."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst
from libcst.metadata import FunctionScope, GlobalScope

from migrate.source.frontends.tensorflow.args import literal
from migrate.source.frontends.tensorflow.deeprec.symbols import option_of
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.values import assigned_value, is_target, local_names, scope_of_name
from migrate.source.tree import Tree

#: What asks a collection and puts nothing into it.
_READS = {"get", "items", "keys", "values"}


class Made:
    """The calls that make what an expression may be, through names, collections and functions of the file."""

    def __init__(self, file: File, node: cst.BaseExpression) -> None:
        """Follow `node`."""
        self.file, self.tree = file, file.tree
        self.options: list[cst.Call] = []  #: calls that make option objects
        self.unseen: list[cst.CSTNode] = []  #: expressions that are not followed
        self._seen: set[int] = set()
        self._follow(node)

    def _follow(self, node: cst.BaseExpression) -> None:
        if id(node) in self._seen or literal(node) is None:
            return
        self._seen.add(id(node))
        match node:
            case cst.Call():
                self._call(node)
            case cst.IfExp():
                self._all([node.body, node.orelse])
            case cst.BooleanOperation():
                self._all([node.left, node.right])
            case cst.NamedExpr():
                self._follow(node.value)
            case cst.Subscript() if isinstance(node.value, cst.Name):
                self._collection(node, node.value)
            case cst.Name():
                self._name(node)
            case cst.Attribute():
                self._attribute(node)
            case _:
                self.unseen.append(node)

    def _all(self, nodes: list[cst.BaseExpression]) -> None:
        for node in nodes:
            self._follow(node)

    def _call(self, call: cst.Call) -> None:
        if option_of(self.file.names.of(call.func) or ""):
            self.options.append(call)
            return
        name = _last(call.func)
        functions = self._functions(name)
        if not functions or self.tree.imported_names(call.func)[0] or self._is_rebound(name):
            self.unseen.append(call)
        for function in functions:
            self._returned(function)

    def _functions(self, name: str) -> list[cst.FunctionDef]:
        nodes = (self.tree.parent(use) for use in self.tree.names.get(name, ()))
        return [node for node in nodes if isinstance(node, cst.FunctionDef)]

    def _is_rebound(self, name: str) -> bool:
        uses = [*self.tree.names.get(name, ()), *self.tree.attributes.get(name, ())]
        return any(is_target(self.tree, use) for use in uses)

    def _returned(self, function: cst.FunctionDef) -> None:
        inside = _statements(self.file.tree).get(id(function), [])
        if function.asynchronous is not None or any(isinstance(node, cst.Yield) for node in inside):
            self.unseen.append(function.name)
        for node in inside:
            if isinstance(node, cst.Return) and node.value is not None:
                self._follow(node.value)

    def _collection(self, node: cst.Subscript, name: cst.Name) -> None:
        """Follow whatever is put into a list or dict: any of it may be read."""
        scope = scope_of_name(self.tree, name)
        uses = local_names(self.tree, name.value, scope) if isinstance(scope, FunctionScope | GlobalScope) else []
        if not any(is_target(self.tree, use) for use in uses) or self.tree.imported_names(name)[0]:
            self.unseen.append(node)
            return
        for use in uses:
            around = self.tree.parent(use)
            if is_target(self.tree, use):
                self._elements(assigned_value(self.tree, use), node)
            elif isinstance(around, cst.Subscript) and around.value is use:
                if is_target(self.tree, around):
                    self._given(assigned_value(self.tree, around), node)
            elif not (isinstance(around, cst.Attribute) and around.attr.value in _READS):
                self.unseen.append(node)

    def _elements(self, listed: cst.BaseExpression | None, node: cst.BaseExpression) -> None:
        whole = isinstance(listed, cst.List | cst.Tuple | cst.Dict)
        elements = listed.elements if isinstance(listed, cst.List | cst.Tuple | cst.Dict) else ()
        if not whole or not all(isinstance(one, cst.Element | cst.DictElement) for one in elements):
            self.unseen.append(node)
        for one in elements:
            self._follow(one.value)

    def _given(self, value: cst.BaseExpression | None, node: cst.BaseExpression) -> None:
        if value is None:
            self.unseen.append(node)
        else:
            self._follow(value)

    def _name(self, node: cst.Name) -> None:
        scope = scope_of_name(self.tree, node)
        uses = local_names(self.tree, node.value, scope) if isinstance(scope, FunctionScope | GlobalScope) else []
        targets = [use for use in uses if is_target(self.tree, use)]
        if not targets or self.tree.imported_names(node)[0]:
            self.unseen.append(node)
        for target in targets:
            self._target(target, node)

    def _target(self, target: cst.BaseExpression, node: cst.BaseExpression) -> None:
        around = self.tree.parent(target)
        if isinstance(around, cst.Param):
            self._parameter(around, node)
        elif isinstance(around, cst.For | cst.CompFor):
            self._elements(around.iter, node)
        elif isinstance(around, cst.NamedExpr):
            self._follow(around.value)
        elif not isinstance(around, cst.Del | cst.NameItem):
            self._given(assigned_value(self.tree, target), node)

    def _attribute(self, node: cst.Attribute) -> None:
        name = node.attr.value
        written = [one for one in self.tree.attributes.get(name, ()) if is_target(self.tree, one)]
        of_class = [one for one in self.tree.names.get(name, ()) if self._is_of_class(one)]
        if (not written and not of_class) or self.tree.imported_names(node)[0]:
            self.unseen.append(node)
        for target in (*written, *of_class):
            self._target(target, node)

    def _is_of_class(self, use: cst.Name) -> bool:
        line = self.tree.statement(use)
        block = self.tree.parent(line) if line is not None else None
        within = self.tree.parent(block) if block is not None else None
        return isinstance(within, cst.ClassDef) and is_target(self.tree, use)

    def _parameter(self, param: cst.Param, node: cst.BaseExpression) -> None:
        """Follow what the calls of a function give to one of its parameters."""
        tree = self.tree
        kinds = cst.FunctionDef | cst.Lambda
        function = next((node for node in tree.ancestors(param) if isinstance(node, kinds)), None)
        values = [*self._passed(function, param)] if isinstance(function, cst.FunctionDef) else [None]
        if not values or (tree.link is not None and tree.link.imported()):
            self.unseen.append(node)
        for value in values:
            self._given(value, node)
        if param.default is not None:
            self._follow(param.default)

    def _passed(self, function: cst.FunctionDef, param: cst.Param) -> Iterator[cst.BaseExpression | None]:
        """Yield what each call passes; None where that is not seen."""
        tree = self.tree
        within = tree.enclosing(function, cst.ClassDef)
        constructs = function.name.value == "__init__" and within is not None
        name = within.name.value if within is not None and constructs else function.name.value
        for use in (*tree.names.get(name, ()), *tree.attributes.get(name, ())):
            around = tree.parent(use)
            if isinstance(around, cst.FunctionDef | cst.ClassDef | cst.Attribute):
                continue
            if not isinstance(around, cst.Call) or around.func is not use:
                yield None
                continue
            bound = within is not None and (constructs or isinstance(use, cst.Attribute))
            yield from _argument(around, function, param, bound)


def _statements(tree: Tree) -> dict[int, list[cst.Return | cst.Yield]]:
    """Return what each function of a file returns or yields."""
    if tree not in _RETURNED:
        found = _RETURNED[tree] = {}
        for node in tree.nodes():
            if isinstance(node, cst.Return | cst.Yield):
                found.setdefault(id(tree.enclosing(node, cst.FunctionDef)), []).append(node)
    return _RETURNED[tree]


_RETURNED: WeakKeyDictionary[Tree, dict[int, list[cst.Return | cst.Yield]]] = WeakKeyDictionary()


def _argument(
    call: cst.Call, function: cst.FunctionDef, param: cst.Param, bound: bool
) -> Iterator[cst.BaseExpression | None]:
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == param.name.value]
    plain = [arg for arg in call.args if arg.keyword is None]
    places = [*function.params.posonly_params, *function.params.params]
    at = next((place for place, one in enumerate(places) if one is param), len(places)) - bound
    if any(arg.star for arg in call.args) or at < 0:
        yield None
    elif named:
        yield named[0]
    elif at < len(plain) and at + bound < len(places):
        yield plain[at].value
    elif param.default is None:
        yield None


def _last(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""
