"""Reads and writes of entries in lists, dicts and objects, by key."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.flow.arguments import Caller, Given
from migrate.source.flow.attributes import Attributes
from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.stores import Stores
from migrate.source.flow.values import (
    ANY,
    Computed,
    Holder,
    Member,
    Symbol,
    Unknown,
    Value,
)


class Entries:
    """Models reads and writes of entries; `caller` runs `__getitem__` and similar methods of the program's classes."""

    def __init__(self, program: Program, caller: Caller) -> None:
        self.program = program
        self.graph = program.graph
        self.call = caller.call
        self.attributes = Attributes(program, self.run)
        self.stores = Stores(program, self.attributes, self.run)

    def run(self, callee: Variable, arguments: Sequence[Variable], site: cst.CSTNode, out: Variable) -> None:
        """Call with arguments for which there is no expression in the source."""
        self.call(callee, [Given(one) for one in arguments], site, out)

    def items(self, variable: Variable, node: cst.CSTNode) -> Variable:
        """Return the variable of what iterating over `variable` yields."""
        self.program.opened.setdefault(variable, node)
        out = self.program.named(("items", id(variable)), node)
        if ("items", id(variable)) not in self.program.asked:
            self.program.asked.add(("items", id(variable)))
            self.graph.watch(variable, lambda value: self._item(value, ANY, out, node, loops=True))
        return out

    def item(self, variable: Variable, key: object, out: Variable, node: cst.CSTNode | None) -> None:
        """Add to `out` every value that may be stored under a key."""
        self.program.opened.setdefault(variable, node)
        self.graph.watch(variable, lambda value: self._item(value, key, out, node))

    def _item(self, value: Value, key: object, out: Variable, node: cst.CSTNode | None, loops: bool = False) -> None:
        """Add to `out` the entry of one value under a key; `loops` if all entries are iterated."""
        program = self.program
        if isinstance(value, Holder) and value.kind == "dict" and loops:
            self.graph.put(out, program.interned(("keys", node), lambda: Computed(node)))
            self.graph.edge(program.named(("keys of", id(value))), out)
        elif isinstance(value, Holder) and value.cls is not None and value.kind == "object":
            self._by_method(value, out, node, loops or isinstance(key, int))
        elif isinstance(value, Holder):
            self.graph.edge(program.read(value, key), out)
        elif isinstance(value, Unknown) or _is_deep(value):
            self.graph.put(out, value)
        else:
            self.graph.put(
                out, program.interned(("item", node, value, str(key)), lambda: Member(node, value, "[]", key))
            )
            if isinstance(value, Symbol) and value.name == "sys.modules" and isinstance(node, cst.Subscript):
                index = node.slice[0].slice
                for module in program.modules(index.value if isinstance(index, cst.Index) else None):
                    self.graph.put(out, module)

    def _by_method(self, value: Holder, out: Variable, node: cst.CSTNode | None, loops: bool) -> None:
        """Read an entry of an instance through its class's own methods. `vars(x)` does not use them."""
        program = self.program
        assert value.cls is not None
        site = node or cst.Name("_")
        self.graph.edge(program.read(value, ANY), out)
        unknown = program.unknown(site, "an own method gives its entries")
        for name in ("__getitem__", *(("__next__", "__anext__") if loops else ())):
            self.call(self.attributes.special(value, name), [Given(program.named(("key", site)))], site, out)
        for name in ("__iter__", "__aiter__", "__reversed__") if loops else ():
            result = program.named(("entries of", id(value), name, site))
            self.run(self.attributes.special(value, name), (), site, result)
            self.graph.edge(self.items(result, site), out)
            self.graph.watch(
                result, lambda iterator: self.graph.put(out, unknown) if not isinstance(iterator, Holder) else None
            )

    def put(self, variable: Variable, key: object, value: Variable, source: cst.CSTNode | None) -> None:
        """Store the values of `value` under a key of every holder in `variable`."""
        self.graph.watch(variable, lambda holder: self._put(holder, key, value, source))

    def _put(self, holder: Value, key: object, value: Variable, source: cst.CSTNode | None) -> None:
        """Store values under a key of one holder; a value that goes to anything else escapes."""
        if isinstance(holder, Holder):
            self.graph.edge(value, self.program.written(holder, key))
            if holder.kind == "object" and holder.cls is not None:
                site = source or cst.Name("_")
                arguments = (self.program.named(("key", site)), value)
                self.run(self.attributes.special(holder, "__setitem__"), arguments, site, Variable())
        elif source is not None:
            self.program.handed_out.add(source)

    def shift(self, value: Value) -> None:
        """Let every entry of a list move to any index, as after a deletion."""
        if isinstance(value, Holder) and value.kind == "list":
            self.graph.edge(self.program.read(value, ANY), self.program.written(value, ANY))

    def copy(self, variable: Variable, target: Value, keep: bool = True) -> None:
        """Copy all entries of `variable` to `target`: under the same keys if `keep`, else under any key."""
        self.program.opened.setdefault(variable, target.node)
        self.graph.watch(variable, lambda value: self._copy(value, target, keep))

    def _copy(self, value: Value, target: Value, keep: bool) -> None:
        """Copy the entries of one value."""
        program = self.program
        if not isinstance(value, Holder):
            node = value.node
            if not isinstance(value, Computed):
                item = program.interned(("copied", value), lambda: Member(node, value, "[]"))
                self.graph.put(program.written(target, ANY), item)
            return
        if value.kind == "object" and value.cls is not None:
            self.graph.put(program.written(target, ANY), program.unknown(value.node, "an own method gives its entries"))
        if not keep or value is target:
            self.graph.edge(program.read(value, ANY), program.written(target, ANY))
            return
        program.on_keys(value, lambda key: self.graph.edge(program.written(value, key), program.written(target, key)))


def _is_deep(value: Value) -> bool:
    """True for an entry of an entry of an external value; deeper nesting is not distinguished."""
    return isinstance(value, Member) and isinstance(value.base, Member) and value.name == "[]"
