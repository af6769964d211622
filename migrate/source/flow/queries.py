"""What the analysis answers."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

import libcst as cst
from libcst.metadata import Scope

from migrate.source.flow.calls import Calls
from migrate.source.flow.collecting import no_collections
from migrate.source.flow.expressions import Expressions
from migrate.source.flow.graph import Variable
from migrate.source.flow.library.functions import changes, external
from migrate.source.flow.program import Outside, Program
from migrate.source.flow.statements import Statements
from migrate.source.flow.values import Class, Constant, Function, Holder, Symbol, Value
from migrate.source.syntax.tree import Tree


class ValueFlow:
    """The analysis of the files of one program."""

    @no_collections()
    def __init__(
        self,
        trees: Sequence[Tree],
        outside: Outside = lambda tree, name: None,
        passes: Mapping[str, int] | None = None,
        tame: Iterable[str] = (),
        by_name: Iterable[str] = (),
    ) -> None:
        """Analyse the files.

        `outside` says which file of the program, and which name there, a qualified name means in a file; None for
        names from outside. `passes` are outside functions that return the argument of that number, `tame` the
        libraries beside Python's own that change nothing in the lists and objects that they are given. `by_name` are
        attributes that an object of which nothing is known is taken to have from the program: all that it puts there.
        """
        known = frozenset({*sys.stdlib_module_names, "builtins", *tame})
        self._program = Program(trees, outside, dict(passes or {}), known, frozenset(by_name))
        self.trees = list(trees)
        self.memory: dict[str, object] = {}  #: what clients found out about the program, for as long as it is analysed
        self._calls = Calls(self._program, external, changes)
        self._expressions = Expressions(self._program, self._calls)
        statements = Statements(self._program, self._calls, self._expressions)
        for tree in trees:
            statements.run(tree)
        self._solve()
        self._open()
        self._settle()

    def _solve(self) -> None:
        self._program.graph.solve()
        while self._program.pending:
            self._expressions.run()
            self._program.graph.solve()

    def _open(self) -> None:
        """Let functions that nothing here calls be called from outside; first those that nothing mentions."""
        program = self._program
        kinds = {cst.FunctionDef, cst.Lambda}  # by type: libcst's checks of instances are slow
        nodes = (node for tree in program.trees for node in tree.nodes() if type(node) in kinds)
        functions = cast(list[cst.FunctionDef | cst.Lambda], list(nodes))
        for entry in (True, False):
            for node in functions:
                if node not in program.entered and not program.function(node).open:
                    if entry and (isinstance(node, cst.Lambda) or self._is_mentioned(node)):
                        continue
                    self._open_one(node)
                    if not entry:
                        self._solve()
            self._solve()

    def _settle(self) -> None:
        """Let anything be where nothing arrived: it comes from what is not followed, or the code never runs."""
        program = self._program
        while empty := [node for node, variable in program.expressions() if not variable.values]:
            for node in empty:
                variable = program.known(node)
                if variable is not None and not variable.values:
                    reason = "nothing that is read gives it a value"
                    program.graph.put(variable, program.unknown(node, reason))
            self._solve()

    def _is_mentioned(self, node: cst.FunctionDef) -> bool:
        tree = self._program.home(node)
        name = node.name.value
        return len(tree.names.get(name, ())) > 1 or bool(tree.attributes.get(name))

    def _open_one(self, node: cst.FunctionDef | cst.Lambda) -> None:
        """Let code that is not seen call a function; a method then with any object of its class."""
        cls = self._program.home(node).enclosing(node, cst.ClassDef) if isinstance(node, cst.FunctionDef) else None
        if cls is not None and cls not in self._program.entered:
            self._calls.escapes.open_object(cls)
            self._solve()
            if node in self._program.entered:
                return  # its constructor calls it
        self._calls.escapes.open(self._program.function(node), "nothing that is read calls the function")

    # Questions

    def values(self, node: cst.BaseExpression) -> list[Value]:
        """Return all that an expression may be; nothing for what is no expression of these files."""
        found = self._program.known(node)
        return list(found.values) if found is not None else []

    def bound(self, scope: Scope, name: str) -> list[Value]:
        """Return all that a name of a scope may be, whichever assignment it was."""
        return list(self._program.name(scope, name).values)

    def uses(self, value: Value) -> list[cst.BaseExpression]:
        """Return the expressions that may be `value` and do more than hand it on to where it is followed."""
        return [node for node in self._by_value.get(value, ()) if self.is_used(value, node)]

    def is_used(self, value: Value, node: cst.BaseExpression) -> bool:
        """True for an expression that may be `value` and does more than hand it on to where it is followed."""
        operand = isinstance(self.home(node).parent(node), cst.BinaryOperation | cst.AugAssign)
        return not self.hands_on(node) or self.leaves(node) or (operand and not isinstance(value, Holder))

    def mentions(self, value: Value) -> list[cst.BaseExpression]:
        """Return all expressions that may be `value`."""
        return self._by_value.get(value, [])

    def escapes(self, value: Value) -> list[cst.CSTNode]:
        """Return the expressions and calls by which code that is not seen gets `value`, or what holds it."""
        given = [node for node in self._by_value.get(value, ()) if node in self._program.given]
        return [*given, *self._program.escaped.get(value, ())]

    def may_be_changed_unseen(self, value: Value) -> bool:
        """True when code that is not seen may change what `value` holds."""
        return ("spoiled", value) in self._program.asked

    def opened(self, value: Value) -> list[cst.CSTNode]:
        """Return where the entries of `value` are taken: by loops, stars, unpacking and what reads them all."""
        found = [(variable.node or node) for variable, node in self._program.opened.items() if value in variable.values]
        return [node for node in found if node is not None]

    def holders(self, value: Value) -> list[Holder]:
        """Return all that may hold `value`, or what holds it."""
        found: dict[Value, None] = {}
        pending = [value]
        while pending:
            for holder, _ in self._held_by.get(pending.pop(), ()):
                if holder not in found:
                    found[holder] = None
                    pending.append(holder)
        return [one for one in found if isinstance(one, Holder) and one.kind != "module"]

    def entries(self, value: Value) -> list[Value]:
        """Return what is put into a list, a dict or an object."""
        return list(dict.fromkeys(one for _, one in self.items(value)))

    def attributes(self, value: Value) -> set[str]:
        """Return the attributes of objects and classes of the program that may be `value`, or what holds it."""
        found = [pair for one in (value, *self.holders(value)) for pair in self._held_by.get(one, ())]
        made = [
            key for one, key in found if isinstance(one, Class) or (isinstance(one, Holder) and one.cls is not None)
        ]
        return {key for key in made if isinstance(key, str)}

    def runs(self, site: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the functions that run when `site` does: those that a call calls, and methods that Python calls."""
        return self._runs.get(site, [])

    def sites(self, function: cst.FunctionDef | cst.Lambda) -> set[cst.CSTNode]:
        """Return the places that run a function; others may, too, where it is open."""
        return set(self._program.entered.get(function, ()))

    def home(self, node: cst.CSTNode) -> Tree:
        """Return the file in which `node` stands."""
        return self._program.home(node)

    def knows(self, node: cst.CSTNode) -> bool:
        """True for a node of one of the files."""
        return self._program.knows(node)

    def is_lazy(self, function: cst.FunctionDef | cst.Lambda) -> bool:
        """True for a generator, which runs later than it is called."""
        return function in self._program.generators

    def path(self, value: Value, node: cst.BaseExpression) -> list[cst.CSTNode]:
        """Return the places by which `value` came to `node`, from the first."""
        found: list[cst.CSTNode] = []
        variable = self._program.known(node)
        seen: set[Variable] = set()
        while variable is not None and variable not in seen:
            seen.add(variable)
            if variable.node is not None and (not found or found[-1] is not variable.node):
                found.append(variable.node)
            variable = variable.values.get(value)
        return found[::-1]

    def entry(self, value: Value, node: cst.BaseExpression, beside: Collection[Value]) -> cst.CSTNode:
        """Return the last place on the way of `value` to `node` where none of the values `beside` may be."""
        variable = self._program.known(node)
        seen: set[Variable] = set()
        while variable is not None and variable not in seen:
            seen.add(variable)
            if variable.node is not None and not any(one in variable.values for one in beside):
                return variable.node
            variable = variable.values.get(value)
        return value.node if value.node is not None else node

    def carried(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """Return `node` and the expressions that are what it is, by names, parameters and what functions return.

        Where a value is put into a container or an object, or asked for, its way ends.
        """
        first = self._program.known(node)
        found = {first: None} if first is not None else {}
        pending = list(found)
        while pending:
            new = [one for one in pending.pop().receivers if one not in found]
            found |= dict.fromkeys(new)
            pending += new
        nodes = [one.node for one in found if one.node is not None and self._program.known(one.node) is one]
        return cast(list[cst.BaseExpression], nodes)

    def calls(self, function: cst.FunctionDef | cst.Lambda) -> set[cst.CSTNode] | None:
        """Return the places that run a function; None when others may, too."""
        if self._program.function(function).open:
            return None
        return set(self._program.entered.get(function, ()))

    def is_open(self, function: cst.FunctionDef | cst.Lambda) -> bool:
        """True when code that is not seen may call the function."""
        return self._program.function(function).open

    def called_for(self, value: Value) -> list[cst.CSTNode]:
        """Return the places where something else calls a function from outside: `map`, a partial, a decorator."""
        sites = self._program.left.get(value, ())
        return [one for one in sites if not isinstance(one, cst.Call) or value not in self.values(one.func)]

    def run_by(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the functions that a call runs, or that reading an attribute or an entry does."""
        return self._runs.get(node, [])

    def where(self, accepts: Callable[[Value], bool]) -> Iterator[tuple[cst.BaseExpression, Value]]:
        """Yield the expressions that may be values of that kind, each with the value."""
        for node, variable in self._program.expressions():
            for value in variable.values:
                if accepts(value):
                    yield cast(cst.BaseExpression, node), value

    def held(self, value: Value) -> list[tuple[Value, object]]:
        """Return what holds `value`, each with the key under which it does."""
        return self._held_by.get(value, [])

    def items(self, holder: Value) -> list[tuple[object, Value]]:
        """Return what a holder may hold, with the keys."""
        return self._held_in.get(holder, [])

    def leaves(self, node: cst.BaseExpression) -> bool:
        """True for what a function gives back to code that is not seen."""
        tree = self.home(node)
        around = tree.parent(node)
        if isinstance(around, cst.Lambda):
            function: cst.CSTNode | None = around if around.body is node else None
        elif isinstance(around, cst.Return | cst.Yield | cst.From):
            function = tree.enclosing(node, cst.FunctionDef)
        else:
            return False
        return isinstance(function, cst.FunctionDef | cst.Lambda) and self.is_open(function)

    def hands_on(self, node: cst.BaseExpression) -> bool:
        """True for an expression whose value only goes on to where it is followed."""
        return node in self._program.moves and node not in self._program.given

    @cached_property
    def _held_by(self) -> dict[Value, list[tuple[Value, object]]]:
        return self._program.held_by()

    @cached_property
    def _held_in(self) -> dict[Value, list[tuple[object, Value]]]:
        found: dict[Value, list[tuple[object, Value]]] = defaultdict(list)
        for value, pairs in self._held_by.items():
            for holder, key in pairs:
                found[holder].append((key, value))
        return found

    @cached_property
    def _runs(self) -> dict[cst.CSTNode, list[cst.CSTNode]]:
        found: dict[cst.CSTNode, list[cst.CSTNode]] = defaultdict(list)
        for function, sites in self._program.entered.items():
            for site in sites:
                found[site].append(function)
        return found

    @cached_property
    def _by_value(self) -> dict[Value, list[cst.BaseExpression]]:
        found: dict[Value, list[cst.BaseExpression]] = defaultdict(list)
        for node, variable in self._program.expressions():
            for value in variable.values:
                if not isinstance(value, Constant | Symbol | Function):
                    found[value].append(node)  # type: ignore[arg-type]
        return found
