"""Code that TensorFlow runs in a graph of its own: loops, maps over elements, cells of recurrent networks.

A function gets there in many ways: by its name, through a variable, a dict or `functools.partial`, as a method or a
callable object, passed on by a helper, or called by a function that itself runs there.
"""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.flow import (
    Bound,
    Class,
    Constant,
    Function,
    Holder,
    Member,
    Partial,
    Result,
    Symbol,
    Unknown,
    Value,
)
from migrate.source.syntax.node_index import children
from migrate.source.tensorflow.base.arguments import keyword, method_of
from migrate.source.tensorflow.base.bindings import self_class
from migrate.source.tensorflow.base.rule_kinds import File, cached_query
from migrate.source.tensorflow.base.symbols import canonical
from migrate.source.tensorflow.base.value_flow import flow_of, partials
from migrate.source.tensorflow.facts.calls.object_attributes import ancestors, relatives

#: TensorFlow functions that run their function arguments in another graph, with the number of leading such arguments.
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
#: Methods of datasets that do the same.
ELEMENTS = {"map", "flat_map", "interleave", "filter", "apply"}
#: Pools of Python's library, whose `map` and `apply` run a function as any other code does.
POOLS = re.compile(r"multiprocessing\.([\w.]+\.)?(Thread)?Pool|concurrent\.futures\.([\w.]+\.)?\w+PoolExecutor")
#: Functions that choose between branches: a lookup there is trained, but a variable created there belongs to the
#: branch.
BRANCHES = ("cond", "case", "switch_case")
#: Namespaces whose functions call their arguments once, in the usual graph or outside of graphs.
OUTSIDE = ("app.", "estimator.", "flags.", "logging.", "test.", "train.", "contrib.learn.", "contrib.training.")
#: Ops and scopes that take no function, recognized by namespace and by the words that their names do not contain.
PLAIN = re.compile(
    r"(python\.(ops|framework)\.\w+\.|(contrib\.)?layers\.(python\.layers\.)?|(bitwise|image|io|linalg|losses|math|metrics|nn|random|sets|sparse|strings|summary)\.)?"
    r"(?!\w*(map|scan|fold|loop|func|fn|rnn|cell|grad|template|cond|case|register))\w+",
    re.IGNORECASE,
)
#: Functions that only refer to functions, or run them in place.
IN_PLACE = re.compile(r"(.*\.)?(\w*arg_scope|repeat|stack)")
DECORATORS = re.compile(r"(.*\.)?(custom_gradient|recompute_grad|[Dd]efun)")
#: Base classes whose methods run inside of loops.
STEPWISE = re.compile(r"(.*\.)?(rnn|rnn_cell|seq2seq)\..*|(.*\.)?\w*(RNN|Cell|Decoder)")

Reached = dict[int, cst.BaseExpression]


def run_apart(file: File, node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return what runs the code of `node` in a graph of its own: a TensorFlow function, or the base class of a cell."""
    return around(file, node, _apart(file))


def in_branch(file: File, node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the `tf.cond` or `tf.case` whose branch runs the code of `node`."""
    return around(file, node, _branches(file))


def around(file: File, node: cst.CSTNode, marked: Reached) -> cst.BaseExpression | None:
    """Return what runs the innermost code around `node` that a search has marked."""
    return next((marked[id(around)] for around in file.tree.ancestors(node) if id(around) in marked), None)


@cached_query
def _apart(file: File) -> Reached:
    """Find the functions that run in graphs of their own: methods of cells, arguments of runners, decorated ones."""
    search = Search(file)
    for cls in file.tree.classes:
        base = next((arg.value for arg in cls.bases if STEPWISE.fullmatch(file.names.of(arg.value) or "")), None)
        if base is not None:
            search.methods(cls, base)
    for call in file.tree.calls:
        name = file.names.of(call.func) or _runner(file, call.func)
        if name is None and (method_of(call) not in ELEMENTS or _is_of_pool(file, call.func)):
            continue
        first = RUNNERS.get(name, 0) if name is not None else 0
        if name is not None and not first and (name in BRANCHES or name.startswith(OUTSIDE) or _runs_nothing(name)):
            continue
        for position, arg in enumerate(_arguments(file, call)):
            named = keyword(arg) in FUNCTION_ARGUMENTS
            is_function = bool(first) and (named or (arg.keyword is None and position < first))
            search.follow(arg.value, call.func, called=is_function)
    for function in (one for functions in _functions(file).values() for one in functions):
        for decorator in function.decorators:
            callee = decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
            if DECORATORS.fullmatch(file.names.of(callee) or ""):
                search.code(function, callee)
    return search.reached()


def _runner(file: File, func: cst.BaseExpression) -> str | None:
    """Return the name of the runner that is called, where it is not written there: it came through other values."""
    names = {canonical(value.name) or "" for value in _called(file, func) if isinstance(value, Symbol)}
    return min(names & set(RUNNERS), default=None)


def _is_of_pool(file: File, func: cst.BaseExpression) -> bool:
    """True for a method of a pool of processes or threads, or of nothing else that could have it."""
    values = flow_of(file).values(func.value) if isinstance(func, cst.Attribute) else []
    objects = [value for value in values if not isinstance(value, Constant)]
    return bool(objects) and all(POOLS.fullmatch(_maker(value)) for value in objects)


def _maker(value: Value) -> str:
    """Return the dotted name of the function of a library that made an object; of `with` statements, too."""
    names: list[str] = []
    while isinstance(value, (Result, Member)):
        names += [value.name] if isinstance(value, Member) and value.name != "__enter__" else []
        value = value.callee if isinstance(value, Result) else value.base
    return ".".join([value.name, *reversed(names)]) if isinstance(value, Symbol) else ""


def _called(file: File, func: cst.BaseExpression) -> list[Value]:
    """Return what a call runs, within `functools.partial`, too."""
    flow = flow_of(file)
    inner = (made.args[0].value for made in partials(file, func))
    return [*flow.values(func), *(value for node in inner for value in flow.values(node))]


def _arguments(file: File, call: cst.Call) -> list[cst.Arg]:
    """Return the arguments of a call, behind those that a `functools.partial` was given for it."""
    return [*(arg for made in partials(file, call.func) for arg in made.args[1:]), *call.args]


def _runs_nothing(name: str) -> bool:
    return (PLAIN.fullmatch(name) or IN_PLACE.fullmatch(name)) is not None


@cached_query
def _branches(file: File) -> Reached:
    """Find the functions that run as branches of `tf.cond`, `tf.case` and `tf.switch_case`."""
    search = Search(file)
    for call, _ in file.calls(*BRANCHES):
        for arg in call.args:
            search.follow(arg.value, call.func, called=False)
    return search.reached()


@cached_query
def _functions(file: File) -> dict[str, list[cst.FunctionDef]]:
    """Return the functions and methods by name."""
    functions: dict[str, list[cst.FunctionDef]] = {}
    for name, uses in file.tree.names.items():
        around = ((use, file.tree.parent(use)) for use in uses)
        functions[name] = [one for use, one in around if isinstance(one, cst.FunctionDef) and one.name is use]
    return functions


class Search:
    """Marks code that runs somewhere, as functions in another graph, and all that it runs; with what runs it."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.flow = flow_of(file)
        self.runners: Reached = {}
        self._asked: set[tuple[object, bool]] = set()
        self._pending: list[cst.CSTNode] = []

    def follow(self, node: cst.BaseExpression, runner: cst.BaseExpression, *, called: bool) -> None:
        """Mark the functions that `node` may be or contain.

        With `called`, `node` is itself called, and may be a wrapper around any function that the call creating it
        received.
        """
        for function in self._of_self(node):
            self.code(function, runner)
        for value in self.flow.values(node):
            if not isinstance(value, Unknown):
                self._value(value, runner, called)
            elif self._is_new(node, called):
                self._unknown(node, value, runner, called)

    def _is_new(self, asked: object, called: bool) -> bool:
        """True on the first call with these arguments; ends the search in cyclic containers."""
        key, seen = (asked, called), self._asked
        new = key not in seen
        seen.add(key)
        return new

    def _value(self, value: Value, runner: cst.BaseExpression, called: bool) -> None:
        if not self._is_new(value, called):
            return
        node = value.function.node if isinstance(value, Bound) else value.node
        if isinstance(value, (Function, Bound)) and isinstance(node, (cst.FunctionDef, cst.Lambda)):
            self.code(node, runner)
        elif isinstance(value, Class) and isinstance(node, cst.ClassDef):
            self.methods(node, runner)
        elif isinstance(value, Holder):
            held = [value.cls] if value.cls is not None and called else self.flow.entries(value)
            for content in held if value.kind != "object" or called else ():
                self._value(content, runner, called)
        elif isinstance(value, Member) and value.name == "__call__":
            self._value(value.base, runner, called=True)
        elif isinstance(value, (Partial, Result)) and isinstance(node, cst.Call):
            for position, arg in enumerate(node.args):
                if called or isinstance(value, Partial):
                    self.follow(arg.value, runner, called=called if isinstance(value, Result) else position == 0)

    def _unknown(self, node: cst.BaseExpression, value: Value, runner: cst.BaseExpression, called: bool) -> None:
        """Mark all methods with that name, and the functions passed to the calls that created the value."""
        if isinstance(node, cst.Attribute) and not self._of_self(node):
            for function, _ in self._named(node):
                self.code(function, runner)
        creators = [one for one in self.flow.path(value, node) if isinstance(one, cst.Call)] if called else []
        for arg in (arg for call in creators for arg in call.args):
            self.follow(arg.value, runner, called=True)

    def _of_self(self, node: cst.CSTNode) -> list[cst.FunctionDef]:
        """Return the methods that `self.name` may be on any object of its class, whoever makes that."""
        own = self_class(self.file.tree, node) if isinstance(node, cst.Attribute) else None
        if own is None or not isinstance(node, cst.Attribute):
            return []
        family = relatives(self.file, own)
        return [function for function, cls in self._named(node) if any(cls is one for one in family)]

    def _named(self, node: cst.Attribute) -> list[tuple[cst.FunctionDef, cst.ClassDef]]:
        """Return the methods with the name of an attribute, and their classes."""
        tree = self.file.tree
        every = _functions(self.file).get(node.attr.value, ())
        around = ((function, tree.parent(tree.parent(function) or function)) for function in every)
        return [(function, cls) for function, cls in around if isinstance(cls, cst.ClassDef)]

    def methods(self, cls: cst.ClassDef, runner: cst.BaseExpression) -> None:
        """Mark the methods of objects of `cls`, except those that construct them."""
        for member in ancestors(self.file, cls):
            for function in (one for one in member.body.body if isinstance(one, cst.FunctionDef)):
                if function.name.value not in {"__init__", "build"}:
                    self.code(function, runner)

    def code(self, function: cst.CSTNode, runner: cst.BaseExpression) -> None:
        """Mark a function or lambda, or a statement."""
        if id(function) not in self.runners:
            self.runners[id(function)] = runner
            self._pending.append(function)

    def reached(self) -> Reached:
        """Also mark the functions that the code of marked functions mentions or calls, and return all."""
        while self._pending:
            function = self._pending.pop()
            runner, inside = self.runners[id(function)], [function]
            for node in inside:
                for inner in self.flow.runs(node):
                    if isinstance(inner, (cst.FunctionDef, cst.Lambda)):
                        self.code(inner, runner)
                if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
                    self.follow(node, runner, called=self.file.tree.call_of(node) is not None)
                inside += children(node)
        return self.runners
