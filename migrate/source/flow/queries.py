"""What the analysis answers."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import libcst as cst

from migrate.source.flow.calls import Calls
from migrate.source.flow.expressions import Expressions
from migrate.source.flow.graph import Variable
from migrate.source.flow.library import changes, external
from migrate.source.flow.program import Outside, Program
from migrate.source.flow.statements import Statements
from migrate.source.flow.values import Constant, Function, Holder, Symbol, Value
from migrate.source.tree import Tree


class ValueFlow:
    """The analysis of the files of one program."""

    def __init__(
        self,
        trees: Sequence[Tree],
        outside: Outside = lambda tree, name: None,
        passes: Mapping[str, int] | None = None,
        tame: Iterable[str] = (),
    ) -> None:
        """Analyse the files.

        `outside` says which file of the program, and which name there, a qualified name means in a file; None for
        names from outside. `passes` are outside functions that return the argument of that number, `tame` the
        libraries beside Python's own that change nothing in the lists and objects that they are given.
        """
        known = frozenset({*sys.stdlib_module_names, "builtins", *tame})
        self._program = Program(trees, outside, dict(passes or {}), known)
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
        functions = [node for tree in program.trees for node in tree.nodes() if isinstance(node, cst.FunctionDef)]
        for entry in (True, False):
            for node in functions:
                if node not in program.entered and not program.function(node).open:
                    if entry and self._is_mentioned(node):
                        continue
                    self._open_one(node)
                    if not entry:
                        self._solve()
            self._solve()

    def _settle(self) -> None:
        """Let anything be where nothing arrived: it comes from what is not followed, or the code never runs."""
        program = self._program
        for tree in program.trees:
            for node in tree.nodes():
                if type(node) is cst.FunctionDef and node not in program.returning:
                    program.graph.put(program.named(("return", node)), program.none)
        self._solve()
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

    def _open_one(self, node: cst.FunctionDef) -> None:
        program = self._program
        reason = "nothing that is read calls the function"
        cls = program.home(node).enclosing(node, cst.ClassDef)
        inside = program.home(node).enclosing(node, cst.FunctionDef)
        value = program.function(node)
        if cls is None or (inside is not None and program.home(node).contains(cls, inside)):
            self._calls.open(value, reason)
            return
        receiver = program.holder(cls, "object", "open", program.cls(cls))
        self._calls.open(self._calls.attributes.bound(value, receiver), reason)
        for made in list(program.handed):
            if self._calls.attributes.has(made, node.name.value, value):
                self._calls.open(self._calls.attributes.bound(value, made), reason)
        program.function(node).open = True

    # Questions

    def values(self, node: cst.BaseExpression) -> list[Value]:
        """Return all that an expression may be; nothing for what is no expression of these files."""
        found = self._program.known(node)
        return list(found.values) if found is not None else []

    def uses(self, value: Value) -> list[cst.BaseExpression]:
        """Return the expressions that may be `value` and do more than hand it on to where it is followed."""
        moves, given = self._program.moves, self._program.given
        return [node for node in self._by_value.get(value, ()) if node not in moves or node in given]

    def mentions(self, value: Value) -> list[cst.BaseExpression]:
        """Return all expressions that may be `value`."""
        return self._by_value.get(value, [])

    def escapes(self, value: Value) -> list[cst.CSTNode]:
        """Return the expressions and calls by which code that is not seen gets `value`, or what holds it."""
        given = [node for node in self._by_value.get(value, ()) if node in self._program.given]
        return [*given, *self._program.escaped.get(value, ())]

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

    def calls(self, function: cst.FunctionDef | cst.Lambda) -> set[cst.CSTNode] | None:
        """Return the places that run a function; None when others may, too."""
        if self._program.function(function).open:
            return None
        return set(self._program.entered.get(function, ()))

    def is_open(self, function: cst.FunctionDef | cst.Lambda) -> bool:
        """True when code that is not seen may call the function."""
        return self._program.function(function).open

    @cached_property
    def _by_value(self) -> dict[Value, list[cst.BaseExpression]]:
        found: dict[Value, list[cst.BaseExpression]] = defaultdict(list)
        for node, variable in self._program.expressions():
            for value in variable.values:
                if not isinstance(value, Constant | Symbol | Function | Holder):
                    found[value].append(node)  # type: ignore[arg-type]
        return found
