"""Constraints of expressions: the values of each kind of expression, derived from those of its parts."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable

import libcst as cst

from migrate.source.flow.arguments import arguments_of
from migrate.source.flow.calls import Calls
from migrate.source.flow.graph import Variable
from migrate.source.flow.keys import literal, with_key
from migrate.source.flow.kinds import expressions_in, inside, is_literal, is_slice
from migrate.source.flow.names.bindings import may_be_unbound, parameters_of
from migrate.source.flow.names.reaching import none_where
from migrate.source.flow.program import Program, mangled
from migrate.source.flow.targets import Targets, parts_of_slices
from migrate.source.flow.values import ANY, Computed, Constant, Holder, Unknown, Value, is_none

_NAMES = frozenset(dir(builtins))
#: Comparisons whose result is True or False for all operands; no special method decides.
_ASKS = (cst.Is, cst.IsNot, cst.In, cst.NotIn)


class Expressions:
    """Reads expressions on demand from a work list, without recursion, so that nesting depth does not matter."""

    def __init__(self, program: Program, calls: Calls) -> None:
        self.program = program
        self.calls = calls
        self.graph = program.graph
        self.targets = Targets(program, calls)

    def run(self) -> None:
        """Read all pending expressions, including those that become pending on the way."""
        pending = self.program.pending
        while pending:
            node = pending.pop()
            out = self.program.value_of(node)
            read = _READERS.get(type(node))
            if read is not None:
                read(self, node, out)
            elif is_literal(type(node)):
                self.graph.put(out, self.program.constant(node))
            else:
                self._computed(node, out)

    def parts(self, node: cst.CSTNode) -> None:
        """Read the expressions inside `node` without any constraint on their values."""
        for part in expressions_in(node):
            self.program.value_of(part)

    def _computed(self, node: cst.BaseExpression, out: Variable) -> None:
        self.parts(node)
        self.graph.put(out, self.program.interned(("computed", node), lambda: Computed(node)))

    def _name(self, node: cst.Name, out: Variable) -> None:
        """Read a name: through its definitions, a star import, or as a builtin."""
        program = self.program
        if node.value in {"None", "True", "False"}:
            self.graph.put(out, program.constant(node))
            return
        variables = program.read_name(node)
        for variable in variables:
            self.graph.edge(variable, out)
        tree = program.home(node)
        starred = tree.link.starred(node.value) if tree.link is not None else ""
        if starred:
            self.calls.attributes.outside(starred, out, node)
        if variables:
            if node.value in _NAMES and may_be_unbound(tree, node):
                self._builtin(node.value, out)
        elif starred:
            pass
        elif tree.scope(node) is not None and node.value in program.definitions[id(tree.module)].reaching:
            return
        elif node.value in _NAMES:  # assumes that star imports do not rebind builtins
            self._builtin(node.value, out)
        else:
            self.graph.put(out, program.unknown(node, f"no code of the given files binds `{node.value}`"))

    def _builtin(self, name: str, out: Variable) -> None:
        self.graph.put(out, self.program.symbol(f"builtins.{name}"))
        self.graph.edge(self.program.patched(f"builtins.{name}"), out)

    def _attribute(self, node: cst.Attribute, out: Variable) -> None:
        name = mangled(self.program.home(node), node)
        self.calls.attributes.load(self.program.value_of(node.value), name, out, node)

    def _subscript(self, node: cst.Subscript, out: Variable) -> None:
        """Read an entry, or a slice as a new list."""
        base = self.program.value_of(node.value)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(index, cst.Index):
            with_key(self.program, index.value, lambda key: self.calls.entries.item(base, key, out, node))
            self.graph.edge(self.program.value_of(index.value), self.program.named(("key", node)))
            return
        parts_of_slices(self.program, node)
        if not is_slice(node):
            self.calls.entries.item(base, ANY, out, node)
            return

        def arrived(value: Value) -> None:
            if isinstance(value, Holder):
                holder = self.program.holder(node, "list", value)
                self.graph.put(out, holder)
                self._slice(value, holder, _bounds(node))
            else:
                self.graph.put(out, self.program.interned(("computed", node), lambda: Computed(node)))

        self.graph.watch(base, arrived)

    def _slice(self, source: Holder, copy: Holder, bounds: tuple[int, int] | None) -> None:
        """Copy a slice of a list: with new indices if the bounds are known, else to any index."""
        program = self.program

        def arrived(key: object) -> None:
            if bounds is None or not isinstance(key, int) or key < 0:
                self.graph.edge(program.written(source, key), program.written(copy, ANY))
            elif bounds[0] <= key < bounds[1]:
                self.graph.edge(program.written(source, key), program.written(copy, key - bounds[0]))

        program.on_keys(source, arrived)

    def _call(self, node: cst.Call, out: Variable) -> None:
        self.calls.call(self.program.value_of(node.func), arguments_of(self.program, node), node, out)

    def _sequence(self, node: cst.List | cst.Tuple | cst.Set, out: Variable) -> None:
        holder = self.program.holder(node, "list")
        self.graph.put(out, holder)
        certain = not isinstance(node, cst.Set)
        for number, element in enumerate(node.elements):
            value = self.program.moved(element.value)
            if isinstance(element, cst.StarredElement):
                certain = False
                items = self.calls.entries.items(value, element.value)
                self.graph.edge(items, self.program.written(holder, ANY))
            else:
                self.graph.edge(value, self.program.written(holder, number if certain else ANY))

    def _dict(self, node: cst.Dict, out: Variable) -> None:
        holder = self.program.holder(node, "dict")
        self.graph.put(out, holder)
        for element in node.elements:
            value = self.program.moved(element.value)
            if isinstance(element, cst.DictElement):
                self._entry(holder, element.key, value)
            else:
                self.calls.entries.copy(value, holder)

    def _entry(self, holder: Holder, key: cst.BaseExpression, value: Variable) -> None:
        with_key(self.program, key, lambda known: self.graph.edge(value, self.program.written(holder, known)))
        self.graph.edge(self.program.moved(key), self.program.named(("keys of", id(holder))))

    def _choice(self, node: cst.IfExp, out: Variable) -> None:
        """Read `a if c else b`; a test for None excludes None from one branch."""
        self.program.value_of(node.test)
        guard = none_where(node.test)
        for side, holds in ((node.body, True), (node.orelse, False)):
            if guard is not None and guard[1] is holds and isinstance(side, cst.Name) and side.value == guard[0].value:
                self.graph.pass_on(self.program.moved(side), out, lambda value: not is_none(value))
            else:
                self.graph.edge(self.program.moved(side), out)

    def _either(self, node: cst.BooleanOperation, out: Variable) -> None:
        left = self.program.moved(node.left)
        if isinstance(node.operator, cst.Or):  # `or` never returns None from its left operand
            self.graph.pass_on(left, out, lambda value: not is_none(value))
        else:
            self.graph.edge(left, out)
        self.graph.edge(self.program.moved(node.right), out)

    def _named(self, node: cst.NamedExpr, out: Variable) -> None:
        value = self.program.moved(node.value)
        self.graph.edge(value, out)
        self.targets.bind(node.target, value, node.value)

    def _lambda(self, node: cst.Lambda, out: Variable) -> None:
        self.graph.put(out, self.program.function(node))
        self.defaults(node.params)
        if _yields(node.body):
            self.program.generators.add(node)
        self.graph.edge(self.program.moved(node.body), self.program.named(("return", node)))

    def defaults(self, params: cst.Parameters) -> None:
        """Bind parameters to their default values."""
        for parameter in parameters_of(params):
            if parameter.default is not None:
                self.graph.edge(self.program.moved(parameter.default), self.program.definition(parameter.name))
            if parameter.annotation is not None:
                self.parts(parameter.annotation)

    def _comprehension(self, node: cst.BaseSimpleComp, out: Variable) -> None:
        self._loops(node.for_in)
        holder = self.program.holder(node, "list")
        self.graph.put(out, holder)
        self.graph.edge(self.program.moved(node.elt), self.program.written(holder, ANY))

    def _dict_comprehension(self, node: cst.DictComp, out: Variable) -> None:
        self._loops(node.for_in)
        holder = self.program.holder(node, "dict")
        self.graph.put(out, holder)
        self._entry(holder, node.key, self.program.moved(node.value))

    def _loops(self, loop: cst.CompFor | None) -> None:
        while loop is not None:
            self.targets.bind(loop.target, self.calls.entries.items(self.program.moved(loop.iter), loop.iter), None)
            for condition in loop.ifs:
                self.program.value_of(condition.test)
            loop = loop.inner_for_in

    def _operation(self, node: cst.BinaryOperation, out: Variable) -> None:
        self.graph.watch(self.program.value_of(node.left), lambda value: self._operand(node, value, node.right, out))
        self.graph.watch(self.program.value_of(node.right), lambda value: self._operand(node, value, node.left, out))

    def _operand(self, node: cst.BinaryOperation, value: Value, other: cst.BaseExpression, out: Variable) -> None:
        """Add the result of a binary operator for one value of its left or right operand, beside the `other` one."""
        if isinstance(value, Constant) and isinstance(node.operator, cst.Multiply):
            self.graph.watch(self.program.value_of(other), lambda operand: self._product(node, operand, out))
            return
        if not isinstance(value, Holder) or value.kind not in {"list", "dict", "record"}:
            self._operated(node, value, out)
            return
        for side in (node.left, node.right):
            self.program.opened.setdefault(self.program.moved(side), side)
        holder = self.program.holder(node, "dict" if value.kind == "dict" else "list")
        self.graph.put(out, holder)
        variable = self.program.named(("operand", node, id(value)))
        self.graph.put(variable, value)
        self.calls.entries.copy(variable, holder, keep=value.kind == "dict")

    def _product(self, node: cst.BinaryOperation, other: Value, out: Variable) -> None:
        """Add the product of two literals; one literal leaves it to the other operand what the result is."""
        if isinstance(other, Constant):
            self._operated(node, other, out)

    def _unary(self, node: cst.UnaryOperation, out: Variable) -> None:
        operand = self.program.value_of(node.expression)
        self.graph.watch(operand, lambda value: self._operated(node, value, out))
        if isinstance(node.operator, cst.Not):
            self.graph.put(out, self.program.interned(("computed", node), lambda: Computed(node)))

    def _comparison(self, node: cst.Comparison, out: Variable) -> None:
        self._computed(node, out)
        if any(not isinstance(one.operator, _ASKS) for one in node.comparisons):
            for side in (node.left, *(one.comparator for one in node.comparisons)):
                self.graph.watch(self.program.value_of(side), lambda value: self._operated(node, value, out))
        for target in node.comparisons:
            if isinstance(target.operator, (cst.In, cst.NotIn)):
                self.graph.watch(
                    self.program.value_of(target.comparator), lambda value: self._searched(node, value, out)
                )

    def _searched(self, node: cst.Comparison, value: Value, out: Variable) -> None:
        """Call `__contains__` of an object of the program with the searched value."""
        if isinstance(value, Holder) and value.kind == "object":
            self._operated(node, value, out)

    def _operated(self, node: cst.BaseExpression, value: Value, out: Variable) -> None:
        """Let the result of an operator on an object be anything, since a special method computes it."""
        if isinstance(value, Unknown) or (isinstance(value, Holder) and value.kind == "object"):
            self.graph.put(out, self.program.unknown(node, "a method of an object computes it"))
            for part in expressions_in(node) if isinstance(value, Holder) else ():
                self.program.handed_out.add(part)
                self.graph.watch(self.program.value_of(part), lambda operand: self.calls.escapes.spoil(operand, node))
        else:
            self.graph.put(out, self.program.interned(("computed", node), lambda: Computed(node)))

    def _awaited(self, node: cst.Await, out: Variable) -> None:
        self.graph.edge(self.program.moved(node.expression), out)

    def _yield(self, node: cst.Yield, out: Variable) -> None:
        function = self.program.home(node).enclosing(node, cst.FunctionDef)
        self.graph.put(out, self.program.unknown(node, "what is sent into a generator"))
        if function is None or node.value is None:
            return
        yielded = self.program.named(("yield", function))
        if isinstance(node.value, cst.From):
            value = self.program.moved(node.value.item)
            self.graph.edge(self.calls.entries.items(value, node.value.item), yielded)
            self.graph.watch(value, lambda generator: self._ended(generator, out))
        else:
            self.graph.edge(self.program.moved(node.value), yielded)

    def _ended(self, value: Value, out: Variable) -> None:
        """Let `yield from` evaluate to the return value of the generator."""
        if isinstance(value, Holder) and value.part == "generator":
            self.graph.edge(self.program.named(("return", value.node)), out)


def _bounds(node: cst.Subscript) -> tuple[int, int] | None:
    """Return the bounds of `l[a:b]`; None if they are not literals or are negative."""
    part = node.slice[0].slice if len(node.slice) == 1 else None
    if not isinstance(part, cst.Slice) or part.step is not None:
        return None
    lower = 0 if part.lower is None else literal(part.lower)
    upper = sys.maxsize if part.upper is None else literal(part.upper)
    if not isinstance(lower, int) or not isinstance(upper, int) or min(lower, upper) < 0:
        return None
    return lower, upper


def _yields(node: cst.CSTNode) -> bool:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.Yield):
            return True
        if not isinstance(part, (cst.Lambda, cst.FunctionDef)):
            pending += inside(part)
    return False


_READERS: dict[type, Callable[..., None]] = {
    cst.Attribute: Expressions._attribute,
    cst.Await: Expressions._awaited,
    cst.BinaryOperation: Expressions._operation,
    cst.BooleanOperation: Expressions._either,
    cst.Call: Expressions._call,
    cst.Comparison: Expressions._comparison,
    cst.Dict: Expressions._dict,
    cst.DictComp: Expressions._dict_comprehension,
    cst.GeneratorExp: Expressions._comprehension,
    cst.IfExp: Expressions._choice,
    cst.Lambda: Expressions._lambda,
    cst.List: Expressions._sequence,
    cst.ListComp: Expressions._comprehension,
    cst.Name: Expressions._name,
    cst.NamedExpr: Expressions._named,
    cst.Set: Expressions._sequence,
    cst.SetComp: Expressions._comprehension,
    cst.Subscript: Expressions._subscript,
    cst.Tuple: Expressions._sequence,
    cst.UnaryOperation: Expressions._unary,
    cst.Yield: Expressions._yield,
}
