"""Code that TensorFlow runs in graphs of its own: loops, maps over elements, cells of recurrent networks.

A function reaches such a place in many ways: by its name, in a variable or a dict, through `functools.partial`, as a
method or an object that is called, passed on by a helper, or called by a function that is itself run there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.syntax.node_index import children
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import bind
from migrate.source.tensorflow.base.bindings import (
    assigned_value,
    is_target,
    local_names,
    scope_of_name,
    value_elsewhere,
)
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.object_attributes import ancestors, class_named
from migrate.source.tensorflow.facts.calls.variable_scopes import call_sites

#: TensorFlow functions that build a graph of their own for functions, and how many of these come first.
RUNNERS = {
    "while_loop": 2,
    "map_fn": 1,
    "scan": 1,
    "foldl": 1,
    "foldr": 1,
    "vectorized_map": 1,
    "keras.layers.Lambda": 1,
    "keras.layers.RNN": 1,
    "nn.dynamic_rnn": 1,
    "nn.bidirectional_dynamic_rnn": 2,
    "nn.raw_rnn": 2,
    "contrib.seq2seq.dynamic_decode": 1,
    "py_func": 1,
    "py_function": 1,
    "numpy_function": 1,
}
FUNCTION_ARGUMENTS = {"fn", "cond", "body", "func", "function", "map_func", "cell", "cell_fw", "cell_bw", "loop_fn"}
#: Methods of data sets that do the same.
ELEMENTS = {"map", "flat_map", "interleave", "filter", "apply"}
#: What chooses between functions: a lookup there is trained, but a variable made there belongs to the branch.
BRANCHES = ("cond", "case", "switch_case")
#: Namespaces whose functions call what they are given once, in a graph that is built as usual, or outside of graphs.
OUTSIDE = ("app.", "estimator.", "flags.", "logging.", "test.", "train.", "contrib.learn.", "contrib.training.")
#: Ops and scopes that take no function, by their namespace and for want of such a word at the end of the name.
PLAIN = re.compile(
    r"(python\.(ops|framework)\.\w+\.|(bitwise|image|io|linalg|losses|math|metrics|nn|random|sets|sparse|strings|summary)\.)?"
    r"(?!\w*(map|scan|fold|loop|func|fn|rnn|cell|grad|template|cond|case|register))\w+",
    re.IGNORECASE,
)
#: Functions that only name functions, or run them where they are given.
IN_PLACE = re.compile(r"(.*\.)?(\w*arg_scope|repeat|stack)")
DECORATORS = re.compile(r"(.*\.)?(custom_gradient|recompute_grad|[Dd]efun)")
#: Base classes whose methods run inside of loops.
STEPWISE = re.compile(r"(.*\.)?(rnn|rnn_cell|seq2seq)\..*|(.*\.)?\w*(RNN|Cell|Decoder)")

Reached = dict[int, cst.BaseExpression]


def run_apart(file: File, node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return what runs the code of `node` in a graph of its own: the function that does, or the base of a cell."""
    return _around(file, node, once(file, ("run apart",), lambda: _apart(file)))


def in_branch(file: File, node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the `tf.cond` or `tf.case` whose branch runs the code of `node`."""
    return _around(file, node, once(file, ("in branches",), lambda: _branches(file)))


def _around(file: File, node: cst.CSTNode, found: Reached) -> cst.BaseExpression | None:
    return next((found[id(around)] for around in file.tree.ancestors(node) if id(around) in found), None)


def _apart(file: File) -> Reached:
    search = _Search(file)
    for cls in file.tree.classes:
        base = next((arg.value for arg in cls.bases if STEPWISE.fullmatch(file.names.of(arg.value) or "")), None)
        if base is not None:
            search.methods(cls, base)
    for call in file.tree.calls:
        name = file.names.of(call.func)
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if name is None and method not in ELEMENTS:
            continue
        first = RUNNERS.get(name, 0) if name is not None else 0
        if name is not None and not first and (name in BRANCHES or name.startswith(OUTSIDE) or _runs_nothing(name)):
            continue
        for position, arg in enumerate(call.args):
            named = arg.keyword is not None and arg.keyword.value in FUNCTION_ARGUMENTS
            is_function = bool(first) and (named or (arg.keyword is None and position < first))
            search.follow(arg.value, call.func, called=is_function)
    for function in _functions(file):
        for one in function.decorators:
            decorator = one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator
            if DECORATORS.fullmatch(file.names.of(decorator) or ""):
                search.code(function, decorator)
    return search.found


def _runs_nothing(name: str) -> bool:
    return (PLAIN.fullmatch(name) or IN_PLACE.fullmatch(name)) is not None


def _branches(file: File) -> Reached:
    search = _Search(file)
    for call, _ in file.calls(*BRANCHES):
        for arg in call.args:
            search.follow(arg.value, call.func, called=False)
    return search.found


def _functions(file: File, name: str = "") -> list[cst.FunctionDef]:
    """Return the functions and methods, all of them or those of that name."""
    named = once(file, ("functions",), lambda: _by_name(file))
    return named.get(name, []) if name else [one for functions in named.values() for one in functions]


def _by_name(file: File) -> dict[str, list[cst.FunctionDef]]:
    found: dict[str, list[cst.FunctionDef]] = {}
    for name, uses in file.tree.names.items():
        for use in uses:
            around = file.tree.parent(use)
            if isinstance(around, cst.FunctionDef) and around.name is use:
                found.setdefault(name, []).append(around)
    return found


def _methods(file: File) -> dict[int, list[cst.FunctionDef]]:
    """Return the methods by the id of their class."""
    found: dict[int, list[cst.FunctionDef]] = {}
    for one in _functions(file):
        found.setdefault(id(file.tree.parent(file.tree.parent(one) or one)), []).append(one)
    return found


def _set_attributes(file: File, name: str) -> list[cst.Attribute]:
    return [one for one in file.tree.attributes.get(name, ()) if is_target(file.tree, one)]


class _Search:
    """Marks the functions, lambdas and methods that are reached, each with what runs it."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.tree = file.tree
        self.found: Reached = {}
        self._asked: set[tuple[int, bool]] = set()

    def follow(self, node: cst.BaseExpression, runner: cst.BaseExpression, *, called: bool) -> None:
        """Mark the functions that `node` holds; one that is `called` may be anything that its parts are made of."""
        if (id(node), called) in self._asked:
            return
        self._asked.add((id(node), called))
        if isinstance(node, cst.Lambda):
            self.code(node, runner)
        elif isinstance(node, cst.Name | cst.Attribute):
            self._name(node, runner, called)
        elif isinstance(node, cst.Call) and self._is_partial(node) and node.args:
            self.follow(node.args[0].value, runner, called=True)
            for arg in node.args[1:]:
                self.follow(arg.value, runner, called=False)
        elif isinstance(node, cst.List | cst.Tuple | cst.Set | cst.Dict | cst.IfExp | cst.Subscript) or called:
            for child in node.children:
                self._parts(child, runner, called)

    def _parts(self, node: cst.CSTNode, runner: cst.BaseExpression, called: bool) -> None:
        if isinstance(node, cst.BaseExpression):
            self.follow(node, runner, called=called)
            return
        for child in node.children:
            self._parts(child, runner, called)

    def _is_partial(self, call: cst.Call) -> bool:
        return self.tree.source(call.func).rpartition(".")[2] == "partial"

    def _name(self, node: cst.Name | cst.Attribute, runner: cst.BaseExpression, called: bool) -> None:
        """Follow what a name or an attribute stands for."""
        if self.file.names.of(node) is not None:
            return
        cls = class_named(self.file, node)
        if cls is not None:
            self.methods(cls, runner)
            return
        for function in self._named(node):
            self.code(function, runner)
        for target in self._targets(node):
            value = assigned_value(self.tree, target)
            if value is not None:
                self.follow(value, runner, called=called)
            elif isinstance(param := self.tree.parent(target), cst.Param):
                self._given(param, runner)
        elsewhere = value_elsewhere(self.tree, node)
        if elsewhere is not None:
            self.follow(elsewhere, runner, called=called)

    def _named(self, node: cst.Name | cst.Attribute) -> Iterator[cst.FunctionDef]:
        """Yield the functions that `node` may mean; a method is known by its name alone."""
        known = self.tree.named(node)
        if isinstance(known, cst.FunctionDef):
            yield known
            return
        name = node.value if isinstance(node, cst.Name) else node.attr.value
        for function in _functions(self.file, name):
            is_method = isinstance(self.tree.parent(self.tree.parent(function) or function), cst.ClassDef)
            same_file = self.tree.module_of(function) is self.tree.module_of(node)
            if is_method if isinstance(node, cst.Attribute) else same_file and not is_method:
                yield function

    def _targets(self, node: cst.Name | cst.Attribute) -> list[cst.Name] | list[cst.Attribute]:
        if isinstance(node, cst.Attribute):
            name = node.attr.value
            return once(self.file, ("set attributes", name), lambda: _set_attributes(self.file, name))
        scope = scope_of_name(self.tree, node)
        same = local_names(self.tree, node.value, scope) if scope is not None else []
        return [one for one in same if is_target(self.tree, one)]

    def _given(self, param: cst.Param, runner: cst.BaseExpression) -> None:
        """Follow what the callers of a function pass to its parameter."""
        function = self.tree.enclosing(param, cst.FunctionDef)
        if function is None or not self.tree.contains(function.params, param):
            return
        names = [one.name.value for one in (*function.params.params, *function.params.kwonly_params)]
        for call in call_sites(self.file, function):
            for own in (names, names[1:]):  # a method is called without its `self`
                arg = (bind(call, own) or {}).get(param.name.value)
                if arg is not None:
                    self.follow(arg.value, runner, called=False)

    def methods(self, cls: cst.ClassDef, runner: cst.BaseExpression) -> None:
        """Mark the methods of objects of `cls`, other than those that make them."""
        for member in ancestors(self.file, cls):
            for function in once(self.file, ("methods",), lambda: _methods(self.file)).get(id(member), ()):
                if function.name.value not in {"__init__", "build"}:
                    self.code(function, runner)

    def code(self, function: cst.FunctionDef | cst.Lambda, runner: cst.BaseExpression) -> None:
        """Mark a function or lambda, and the functions that its code mentions."""
        if id(function) in self.found:
            return
        self.found[id(function)] = runner
        for mention in _mentions(self.tree, function):
            node: cst.BaseExpression = mention
            around = self.tree.parent(node)
            if isinstance(around, cst.Attribute) and around.attr is node:
                continue
            while isinstance(around, cst.Subscript) and around.value is node:
                node, around = around, self.tree.parent(around)
            self.follow(node, runner, called=isinstance(around, cst.Call) and around.func is node)


def _mentions(tree: Tree, function: cst.CSTNode) -> list[cst.Name | cst.Attribute]:
    """Return the names and attributes in a function, in source order; what holds another one comes before it."""
    found: list[cst.Name | cst.Attribute] = []
    pending = [function]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Name | cst.Attribute):
            found.append(node)
        pending += children(node)
    return sorted(found, key=lambda node: tree.span(node)[0])
