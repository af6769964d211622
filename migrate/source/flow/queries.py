"""The query interface of the points-to analysis."""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import cast

import libcst as cst

from migrate.source.flow.calls import Calls
from migrate.source.flow.expressions import Expressions
from migrate.source.flow.graph import Variable
from migrate.source.flow.library.functions import changes, external
from migrate.source.flow.program import Outside, Program
from migrate.source.flow.statements import Statements
from migrate.source.flow.values import Class, Constant, Function, Holder, Symbol, Value
from migrate.source.syntax.tree import Tree


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause Python's garbage collector: an analysis drops nothing, and looking through it takes longer than itself.

    On 60,000 lines the collector took more than half of the time; mypy pauses it as well. Afterwards, freezing and
    thawing moves all objects to the oldest generation: else the collector would look through them three times more.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not _others_froze():  # else what they froze would thaw
            gc.freeze()
            gc.unfreeze()
        gc.enable()


def _others_froze() -> bool:
    """Whether other code of this process froze objects, which thawing would undo.

    Once true, it is not asked again, since Python counts all frozen objects for the answer.
    """
    global _frozen
    _frozen = _frozen or gc.get_freeze_count() > 0
    return _frozen


_frozen = False


class ValueFlow:
    """The solved points-to analysis of one program: for each expression, the set of values that it may have.

    A value is what one place of the code creates (`values.py`); lists, dicts and objects are holders of others. A value
    escapes where code that is not read gets it. A function is open where such code may call it, and its parameters are
    then `Unknown`, which may be anything.
    """

    @_garbage_collection_paused()
    def __init__(
        self,
        trees: Sequence[Tree],
        outside: Outside = lambda tree, name: None,
        non_mutating: Iterable[str] = (),
    ) -> None:
        """Analyse the files.

        `outside` resolves a qualified name that a file uses to the file of the program that defines it and the name
        there; None for external names. `non_mutating` are the libraries, beside Python's own, that do not modify the
        lists and objects they receive.
        """
        known = frozenset({*sys.stdlib_module_names, "builtins", *non_mutating})
        self._program = Program(trees, outside, known)
        self.trees = list(trees)
        self._entries: dict[Value, list[Value]] = {}
        self.memory: dict[str, object] = {}  #: cache for clients, with the lifetime of the analysis
        self._calls = Calls(self._program, external, changes)
        self._expressions = Expressions(self._program, self._calls)
        statements = Statements(self._program, self._calls, self._expressions)
        for tree in trees:
            statements.run(tree)
        self._solve()
        self._open()
        self._settle()
        self._program.close()

    def _solve(self) -> None:
        self._program.graph.solve()
        while self._program.pending:
            self._expressions.run()
            self._program.graph.solve()

    def _open(self) -> None:
        """Open functions without a known call site to external callers; first those never mentioned."""
        program = self._program
        kinds = {cst.FunctionDef, cst.Lambda}  # compared by type because libcst's instance checks are slow
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
        """Assign "unknown" where no value arrived: its source is not modelled, or the code is dead."""
        program = self._program
        while empty := [node for node, variable in program.expressions() if not variable.values]:
            for node in empty:
                variable = program.known(node)
                if variable is not None and not variable.values:
                    reason = "no code of the given files gives it a value"
                    program.graph.put(variable, program.unknown(node, reason))
            self._solve()

    def _is_mentioned(self, node: cst.FunctionDef) -> bool:
        tree = self._program.home(node)
        name = node.name.value
        return len(tree.names.get(name, ())) > 1 or bool(tree.attributes.get(name))

    def _open_one(self, node: cst.FunctionDef | cst.Lambda) -> None:
        """Let unanalysed code call a function; for a method, with any instance of its class as the receiver."""
        cls = self._program.home(node).enclosing(node, cst.ClassDef) if isinstance(node, cst.FunctionDef) else None
        if cls is not None and cls not in self._program.entered:
            self._calls.escapes.open_object(cls)
            self._solve()
            if node in self._program.entered:
                return  # the class's constructor calls it
        self._calls.escapes.open(self._program.function(node), "nothing that is read calls the function")

    def forget(self) -> None:
        """Drop what was found, which is large; its parts know each other, so that only a search would free them."""
        self._program.forget()
        calls = self._calls
        parts = (calls.attributes.heritage, calls.attributes, calls.stores, calls.entries, calls.escapes, calls.objects)
        for part in (*parts, calls, self._expressions, self):
            vars(part).clear()

    # Questions

    def values(self, node: cst.BaseExpression) -> list[Value]:
        """Return the points-to set of an expression; empty for a node that is no expression of the program."""
        variable = self._program.known(node)
        return list(variable.values) if variable is not None else []

    def is_used(self, value: Value, node: cst.BaseExpression) -> bool:
        """True if an expression that may be `value` uses it, rather than only passes it on to a tracked place.

        An operand of `a + b` is used, even where the engine follows it into the result; but for a list or another
        holder, which only passes its entries on to the sum.
        """
        operand = isinstance(self.home(node).parent(node), (cst.BinaryOperation, cst.AugAssign))
        stays = self.is_only_copied(node) and not self.is_returned_outside(node)
        return not stays or (operand and not isinstance(value, Holder))

    def mentions(self, value: Value) -> list[cst.BaseExpression]:
        """Return all expressions that may be `value`."""
        return self._by_value.get(value, [])

    def escapes(self, value: Value) -> list[cst.CSTNode]:
        """Return the expressions and call sites by which `value`, or a holder of it, escapes to unanalysed code."""
        arguments = [node for node in self._by_value.get(value, ()) if node in self._program.handed_out]
        return [*arguments, *self._program.escaped.get(value, ())]

    def may_be_changed_unseen(self, value: Value) -> bool:
        """True if unanalysed code may modify the contents of `value`."""
        return value in self._program.spoiled

    def is_dropped(self, value: Value) -> bool:
        """True for a value that some places may have beside those of its mentions: they may have too many."""
        return value in self._program.graph.dropped

    def opened(self, value: Value) -> list[cst.CSTNode]:
        """Return where all entries of `value` are read: loops, unpacking, starred arguments and some calls."""
        return self._opened.get(value, [])

    def holders(self, value: Value) -> list[Holder]:
        """Return all holders that may contain `value`, directly or indirectly."""
        known: dict[Value, None] = {}
        pending = [value]
        while pending:
            for holder, _ in self._held_by.get(pending.pop(), ()):
                if holder not in known:
                    known[holder] = None
                    pending.append(holder)
        return [one for one in known if isinstance(one, Holder) and one.kind != "module"]

    def entries(self, value: Value) -> list[Value]:
        """Return the values stored in a list, a dict or an object."""
        if value not in self._entries:
            self._entries[value] = list(dict.fromkeys(one for _, one in self.items(value)))
        return self._entries[value]

    def attributes(self, value: Value) -> set[str]:
        """Return the names of attributes, of the program's objects and classes, that may lead to `value`."""
        places = [pair for one in (value, *self.holders(value)) for pair in self._held_by.get(one, ())]
        keys = [
            key for one, key in places if isinstance(one, Class) or (isinstance(one, Holder) and one.cls is not None)
        ]
        return {key for key in keys if isinstance(key, str)}

    def runs(self, site: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the functions that a call, or an attribute or entry access, may run; implicit calls among them."""
        return self._runs.get(site, [])

    def sites(self, function: cst.FunctionDef | cst.Lambda) -> set[cst.CSTNode]:
        """Return the known call sites of a function. An open function may have others."""
        return set(self._program.entered.get(function, ()))

    def home(self, node: cst.CSTNode) -> Tree:
        """Return the file that contains `node`."""
        return self._program.home(node)

    def knows(self, node: cst.CSTNode) -> bool:
        """True if `node` belongs to one of the analysed files."""
        return self._program.knows(node)

    def path(self, value: Value, node: cst.BaseExpression) -> list[cst.CSTNode]:
        """Return the places through which `value` flowed to `node`, from its origin on."""
        places: list[cst.CSTNode] = []
        for variable in self._back(value, node):
            if variable.node is not None and (not places or places[-1] is not variable.node):
                places.append(variable.node)
        return places[::-1]

    def entry(self, value: Value, node: cst.BaseExpression, beside: Collection[Value]) -> cst.CSTNode:
        """Return where `value` comes to the others that reach `node`: the last place on its path without `beside`."""
        for variable in self._back(value, node):
            if variable.node is not None and not any(one in variable.values for one in beside):
                return variable.node
        return value.node if value.node is not None else node

    def _back(self, value: Value, node: cst.BaseExpression) -> Iterator[Variable]:
        """Yield the variables through which `value` flowed to `node`, from there to its origin, each once."""
        variable = self._program.known(node)
        seen: set[Variable] = set()
        while variable is not None and variable not in seen:
            seen.add(variable)
            yield variable
            variable = variable.values.get(value)

    def carried(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """Return `node` and the expressions its value flows to through names, parameters and returns.

        If `node` is a target name, the expressions that read the name. The path ends where a value is stored in a
        container or an object, or used.
        """
        first = self._program.known(node)
        if first is None and isinstance(node, cst.Name):
            first = self._program.definition(node)
        reached = {first: None} if first is not None else {}
        pending = list(reached)
        while pending:
            new = [one for one in pending.pop().receivers if one not in reached]
            reached |= dict.fromkeys(new)
            pending += new
        nodes = [one.node for one in reached if one.node is not None and self._program.known(one.node) is one]
        return cast(list[cst.BaseExpression], nodes)

    def is_open(self, function: cst.FunctionDef | cst.Lambda) -> bool:
        """True if unanalysed code may call the function."""
        return self._program.function(function).open

    def where(self, accepts: Callable[[Value], bool]) -> Iterator[tuple[cst.BaseExpression, Value]]:
        """Yield the expressions that may have a value that `accepts` selects, with that value."""
        accepted = {value for value in self._values if accepts(value)}
        if not accepted:
            return
        for node, variable in self._program.expressions():
            if not accepted.isdisjoint(variable.values):
                yield from ((cast(cst.BaseExpression, node), value) for value in variable.values if value in accepted)

    @cached_property
    def _values(self) -> frozenset[Value]:
        """Every value that an expression may have: far fewer than pairs of an expression and a value."""
        return frozenset().union(*(variable.values for _, variable in self._program.expressions()))

    def held(self, value: Value) -> list[tuple[Value, object]]:
        """Return the holders that store `value` directly, with the key."""
        return self._held_by.get(value, [])

    def items(self, holder: Value) -> list[tuple[object, Value]]:
        """Return the entries of a holder: keys and values."""
        return self._held_in.get(holder, [])

    def is_returned_outside(self, node: cst.BaseExpression) -> bool:
        """True if a function returns or yields this expression to unanalysed code."""
        tree = self.home(node)
        around = tree.parent(node)
        if isinstance(around, cst.Lambda):
            function: cst.CSTNode | None = around if around.body is node else None
        elif isinstance(around, (cst.Return, cst.Yield, cst.From)):
            function = tree.enclosing(node, cst.FunctionDef)
        else:
            return False
        return isinstance(function, (cst.FunctionDef, cst.Lambda)) and self.is_open(function)

    def is_only_copied(self, node: cst.BaseExpression) -> bool:
        """True if the value of the expression only flows on to a place that the engine tracks."""
        return node in self._program.moves and node not in self._program.handed_out

    @cached_property
    def _held_by(self) -> dict[Value, list[tuple[Value, object]]]:
        return self._program.held_by()

    @cached_property
    def _held_in(self) -> dict[Value, list[tuple[object, Value]]]:
        fields_of: dict[Value, list[tuple[object, Value]]] = defaultdict(list)
        for value, pairs in self._held_by.items():
            for holder, key in pairs:
                fields_of[holder].append((key, value))
        return fields_of

    @cached_property
    def _runs(self) -> dict[cst.CSTNode, list[cst.CSTNode]]:
        runs: dict[cst.CSTNode, list[cst.CSTNode]] = defaultdict(list)
        for function, sites in self._program.entered.items():
            for site in sites:
                runs[site].append(function)
        return runs

    @cached_property
    def _opened(self) -> dict[Value, list[cst.CSTNode]]:
        places: dict[Value, list[cst.CSTNode]] = defaultdict(list)
        for variable, other in self._program.opened.items():
            node = variable.node or other
            if node is not None:
                for value in variable.values:
                    places[value].append(node)
        return places

    @cached_property
    def _by_value(self) -> dict[Value, list[cst.BaseExpression]]:
        expressions: dict[Value, list[cst.BaseExpression]] = defaultdict(list)
        for node, variable in self._program.expressions():
            for value in variable.values:
                if not isinstance(value, (Constant, Symbol, Function)):
                    expressions[value].append(node)  # type: ignore[arg-type]
        return expressions
