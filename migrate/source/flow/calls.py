"""Calls: resolves callees, binds arguments to parameters, and propagates return values.

Of several `return` statements, constant arguments may say which a call reaches: `make(ids, with_table=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow.arguments import Arguments, Given
from migrate.source.flow.attributes import decorators
from migrate.source.flow.entries import Entries
from migrate.source.flow.escapes import Escapes
from migrate.source.flow.graph import Variable
from migrate.source.flow.keys import literal
from migrate.source.flow.kinds import inside, is_expression
from migrate.source.flow.objects import Objects
from migrate.source.flow.program import Program
from migrate.source.flow.values import (
    ANY,
    Bound,
    Class,
    Function,
    Holder,
    Member,
    Partial,
    RecordType,
    Symbol,
    Value,
)
from migrate.source.syntax.tree import Tree


@dataclass(frozen=True)
class Condition:
    """A condition on a parameter that is never rebound: its truth, or whether it equals a constant or is None."""

    name: str
    against: object  #: the constant; True for a test of truth
    equal: bool  #: True for a comparison with `against`, False for a test of truth
    holds: bool
    same: bool = False  #: compared with `is`: 1 equals True, but is another object

    def may_hold(self, constants: Mapping[str, object]) -> bool:
        """False if the constant arguments show that the condition does not hold."""
        if self.name not in constants:
            return True
        value = constants[self.name]
        holds = value == self.against if self.equal else bool(value)
        if self.same:
            holds = holds and type(value) is type(self.against)
        return holds is self.holds


@dataclass(frozen=True)
class ReturnPath:
    """One `return` statement with the conditions under which it is reached."""

    node: cst.Return
    conditions: tuple[Condition, ...]


def ways_out(tree: Tree, function: cst.FunctionDef) -> list[ReturnPath]:
    """Return the `return` statements of a function if conditions on parameters choose between them; else nothing."""
    paths = [ReturnPath(node, tuple(_conditions(tree, function, node))) for node in _returns(function)]
    return paths if len(paths) > 1 and any(one.conditions for one in paths) else []


def constant_arguments(
    function: cst.FunctionDef,
    names: list[cst.Param],
    arguments: Mapping[str, cst.BaseExpression | None],
    keeps_defaults: bool,
) -> dict[str, object]:
    """Return the constants of parameters: arguments by position or keyword, or defaults.

    `keeps_defaults` is False if the program may replace the defaults of a function.
    """
    constants: dict[str, object] = {}
    for parameter in (*names, *function.params.kwonly_params):
        name = parameter.name.value
        value = literal(arguments.get(name, parameter.default))
        if value is not ANY and (name in arguments or (keeps_defaults and parameter.default is not None)):
            constants[name] = value
    return constants


def _returns(function: cst.FunctionDef) -> Iterator[cst.Return]:
    """Yield the `return` statements of a function in source order, without those of nested functions."""
    pending: list[cst.CSTNode] = [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Return):
            yield node
        elif not isinstance(node, (cst.FunctionDef, cst.ClassDef)) and not is_expression(type(node)):
            pending += reversed(list(inside(node)))


def _conditions(tree: Tree, function: cst.FunctionDef, node: cst.CSTNode) -> Iterator[Condition]:
    """Yield the conditions that hold at a statement: of enclosing `if`s, and of earlier `if`s that leave."""
    inner: cst.CSTNode = node
    for around in tree.ancestors(node):
        if isinstance(around, cst.If) and inner is not around.test:
            yield from _of(tree, function, around.test, inner is around.body)
        if isinstance(around, cst.IndentedBlock):
            for line in around.body:
                if line is inner:
                    break
                if isinstance(line, cst.If):
                    yield from _behind(tree, function, line)
        if around is function:
            return
        inner = around


def _behind(tree: Tree, function: cst.FunctionDef, line: cst.If) -> Iterator[Condition]:
    """Yield what holds after an `if` of which one branch leaves the function."""
    other = line.orelse.body if isinstance(line.orelse, cst.Else) else None
    if _leaves(line.body):
        yield from _of(tree, function, line.test, False)
    elif other is not None and _leaves(other):
        yield from _of(tree, function, line.test, True)


def _leaves(block: cst.BaseSuite) -> bool:
    """True for a block that ends with `return` or `raise`."""
    last = block.body[-1] if block.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, (cst.Return, cst.Raise))


def _of(tree: Tree, function: cst.FunctionDef, test: cst.BaseExpression, holds: bool) -> Iterator[Condition]:
    """Yield the condition that a test states about a parameter; nothing for any other test."""
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, holds = test.expression, not holds
    against: object = True
    equal = same = False
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        compared = test.comparisons[0]
        against, equal = literal(compared.comparator), True
        if isinstance(compared.operator, (cst.IsNot, cst.NotEqual)):
            holds = not holds
        elif not isinstance(compared.operator, (cst.Is, cst.Equal)):
            return
        same = isinstance(compared.operator, (cst.Is, cst.IsNot))
        test = test.left
    if isinstance(test, cst.Name) and against is not ANY and _is_fixed(tree, function, test):
        yield Condition(test.value, against, equal, holds, same)


def _is_fixed(tree: Tree, function: cst.FunctionDef, name: cst.Name) -> bool:
    """True for a parameter of the function that is never rebound."""
    scope = tree.scope(name)
    bound = scope._assignments.get(name.value, set()) if scope is not None else set()
    nodes = [getattr(one, "node", None) for one in bound]
    # libcst's scopes do not record the names that patterns bind
    matched = cst.MatchAs | cst.MatchStar | cst.MatchMapping
    if any(isinstance(tree.parent(one), matched) for one in tree.names.get(name.value, ())):
        return False
    return len(nodes) == 1 and isinstance(nodes[0], cst.Param) and tree.enclosing(nodes[0], cst.FunctionDef) is function


CONTEXTS = {"contextmanager", "contextlib.contextmanager"}
#: Models a call of an external function. Gets the engine, the callee, the arguments, the call site and the result
#: variable; returns False if it does not know the callee.
External = Callable[["Calls", Value, Arguments, cst.CSTNode, Variable], bool]


class Calls:
    """Connects call sites with their callees as these become known."""

    def __init__(self, program: Program, external: External, changes: Callable[[str], bool]) -> None:
        """Take `external`, which models builtin functions and container methods.

        `changes` is True for the names of functions in non-mutating libraries that do modify their arguments.
        """
        self.program = program
        self.graph = program.graph
        self.entries = Entries(program, self)
        self.attributes, self.stores = self.entries.attributes, self.entries.stores
        self.escapes = Escapes(program, self.attributes, self, changes)
        self.objects = Objects(program, self.entries, self.escapes, self)
        self.external = external
        #: calls already connected; keeps the parts alive, since keys contain their `id`s
        self._same: dict[tuple[object, ...], object] = {}
        self._ways: dict[cst.CSTNode, list[ReturnPath]] = {}
        self._keeps_defaults = not any("defaults__" in tree.text for tree in program.trees)

    def call(self, callee: Variable, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Add to `out` everything that a call may return."""
        self.graph.watch(callee, lambda value: self.invoke(value, arguments, site, out))

    def invoke(self, value: Value, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Connect a call with one callee."""
        if isinstance(value, Function):
            self.enter(value, arguments, site, out)
        elif isinstance(value, Bound):
            self.enter(value.function, arguments, site, out, value.receiver)
        elif isinstance(value, Class):
            self.objects.construct(value, arguments, site, out)
        elif isinstance(value, Partial) and value in self.escapes.partials:
            self._invoke_partial(value, arguments, site, out)
        elif isinstance(value, RecordType):
            self.objects.record(value.names, arguments, site, out)
        elif isinstance(value, Holder) and value.cls is not None:
            method = self.program.named(("called as function", id(value), site))
            self.attributes.member(value.cls, "__call__", method, value, site)
            self.call(method, arguments, site, out)
        elif isinstance(value, (Symbol, Member)) and self.external(self, value, arguments, site, out):
            pass
        else:
            self.escapes.leave(value, arguments, site, out)

    def partial(self, callee: Variable, arguments: Arguments, site: cst.CSTNode) -> Value:
        """Return the value of `functools.partial(callee, *arguments)`."""
        value = self.program.interned(("partial", site), lambda: Partial(site))
        self.escapes.partials[value] = (callee, arguments)
        return value

    def _invoke_partial(self, value: Value, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Call a partial with its stored arguments first.

        One that wraps itself, such as `f = partial(f, 1)` in a loop, may return anything.
        """
        key = ("partial", value, site, id(out))
        if key in self.program.asked:
            self.escapes.open(value, "a partial call is made of itself")
            self.graph.put(out, self.program.unknown(site, "a partial call is made of itself"))
            return
        self.program.asked.add(key)
        callee, first = self.escapes.partials[value]
        self.call(callee, [*first, *arguments], site, out)

    # Functions of the program

    def enter(
        self,
        function: Function,
        arguments: Arguments,
        site: cst.CSTNode,
        out: Variable,
        receiver: Value | None = None,
    ) -> None:
        """Bind arguments to the parameters of a function and connect its return value with `out`."""
        program, node = self.program, function.node
        assert isinstance(node, (cst.FunctionDef, cst.Lambda))
        key = (function, id(arguments), id(site), id(out), receiver is not None)
        names = [*node.params.posonly_params, *node.params.params]
        own = program.definition(names[0].name) if names else program.named(("receiver", function, site))
        if receiver is not None:
            self.graph.put(own, receiver)
        if key in self._same:  # known call with another receiver: only the first parameter is new
            return
        self._same[key] = (arguments, site, out)
        program.entered.setdefault(node, set()).add(site)
        for argument in arguments:
            if argument.node is not None:
                program.moves.add(argument.node)
        if receiver is not None:
            arguments = arguments if names else [Given(own), *arguments]  # `self` is the first of `*args`
            names = names[1:]
        self._place(node.params, names, arguments)
        self.returned(node, site, out, names, arguments)

    def _place(self, params: cst.Parameters, names: Sequence[cst.Param], arguments: Arguments) -> None:
        """Bind arguments to parameters by position and keyword; positions after a `*` argument are unknown."""
        program = self.program
        rest = params.star_arg if isinstance(params.star_arg, cst.Param) else None
        by_name = {one.name.value: one for one in (*names, *params.kwonly_params)}
        position, certain = 0, True
        for argument in arguments:
            if argument.star == "*":
                self._unpack(argument, names[position:], rest)
                certain = False
            elif argument.star == "**":
                self._unpack_named(argument, by_name, params.star_kwarg)
            elif argument.keyword in by_name:
                self.graph.edge(argument.variable, program.definition(by_name[argument.keyword].name))
            elif argument.keyword and params.star_kwarg is not None:
                self._into(params.star_kwarg, "dict", argument.keyword, argument.variable)
            elif not argument.keyword:
                targets = names[position:] if not certain else names[position : position + 1]
                for target in targets:
                    self.graph.edge(argument.variable, program.definition(target.name))
                if rest is not None and (not certain or position >= len(names)):
                    self._into(rest, "list", position - len(names) if certain else ANY, argument.variable)
                position += 1
        if rest is not None:
            self._into(rest, "list", None, None)
        if params.star_kwarg is not None:
            self._into(params.star_kwarg, "dict", None, None)

    def _unpack(self, argument: Given, names: Sequence[cst.Param], rest: cst.Param | None) -> None:
        """Bind the entries of a `*` argument to the remaining positional parameters."""
        items = self.entries.items(argument.variable, argument.node or cst.Name("_"))
        for number, target in enumerate(names):
            self.entries.item(argument.variable, number, self.program.definition(target.name), argument.node)
        if rest is not None:
            self._into(rest, "list", ANY, items)

    def _unpack_named(self, argument: Given, by_name: dict[str, cst.Param], rest: cst.Param | None) -> None:
        """Bind the entries of a `**` argument to parameters by name."""
        for name, target in by_name.items():
            self.entries.item(argument.variable, name, self.program.definition(target.name), argument.node)
        if rest is not None:
            holder = self._into(rest, "dict", None, None)
            self.entries.copy(argument.variable, holder)

    def _into(self, parameter: cst.Param, kind: str, key: object, variable: Variable | None) -> Holder:
        """Store an argument in the list or dict of a starred parameter."""
        holder = self.program.holder(parameter, kind)
        self.graph.put(self.program.definition(parameter.name), holder)
        if variable is not None:
            self.graph.edge(variable, self.program.written(holder, key))
        return holder

    def returned(
        self,
        node: cst.FunctionDef | cst.Lambda,
        site: cst.CSTNode,
        out: Variable,
        names: Sequence[cst.Param],
        arguments: Arguments,
    ) -> None:
        """Connect `out` with what a function returns; for a generator, with an iterator over what it yields."""
        program = self.program
        if node not in program.generators:
            ways = self._ways_out(node)
            if isinstance(node, cst.FunctionDef) and ways and not any(one.star for one in arguments):
                self._by_flags(node, ways, _by_name(node.params, names, arguments), out)
            else:
                self.graph.edge(program.named(("return", node)), out)
            return
        manages = isinstance(node, cst.FunctionDef) and set(decorators(node)) & CONTEXTS
        kind = "context" if manages else "list"
        holder = program.holder(node, kind, "generator")
        self.graph.edge(program.named(("yield", node)), program.written(holder, ANY))
        self.graph.put(out, holder)

    def _ways_out(self, node: cst.FunctionDef | cst.Lambda) -> list[ReturnPath]:
        """Return `ways_out` of a function, cached."""
        if node not in self._ways:
            ways = ways_out(self.program.home(node), node) if isinstance(node, cst.FunctionDef) else []
            self._ways[node] = ways
        return self._ways[node]

    def _by_flags(
        self,
        node: cst.FunctionDef,
        ways: Sequence[ReturnPath],
        arguments: Mapping[str, cst.BaseExpression | None],
        out: Variable,
    ) -> None:
        """Connect `out` with those `return` statements that the constant arguments of the call do not exclude."""
        program = self.program
        names = [*node.params.posonly_params, *node.params.params]
        constants = constant_arguments(node, names, arguments, self._keeps_defaults)
        for way in ways:
            if all(one.may_hold(constants) for one in way.conditions):
                if way.node.value is None:
                    self.graph.put(out, program.none)
                else:
                    self.graph.edge(program.moved(way.node.value), out)
        if node in program.definitions[id(program.home(node).module)].ending:
            self.graph.put(out, program.none)
        self.graph.edge(program.named(("replaced", node)), out)


def _by_name(
    params: cst.Parameters, names: Sequence[cst.Param], arguments: Arguments
) -> dict[str, cst.BaseExpression | None]:
    """Return the argument expressions by parameter name, for keyword and positional arguments."""
    plain = [one for one in arguments if not one.keyword]
    by_name = {name.name.value: one.node for name, one in zip(names, plain, strict=False)}
    unnamed = {one.name.value for one in params.posonly_params}  # a keyword of such a name goes into `**`
    return by_name | {one.keyword: one.node for one in arguments if one.keyword and one.keyword not in unnamed}
