"""Assignment targets of assignments, loops and `with`: names, attributes, entries, and tuples of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.flow.calls import Calls
from migrate.source.flow.graph import Variable
from migrate.source.flow.keys import with_key
from migrate.source.flow.kinds import expressions_in, is_slice
from migrate.source.flow.program import Program, mangled
from migrate.source.flow.values import ANY, Holder


class Targets:
    """Adds the constraints of assignments to targets."""

    def __init__(self, program: Program, calls: Calls) -> None:
        self.program = program
        self.calls = calls
        self.graph = program.graph

    def bind(self, target: cst.CSTNode, value: Variable, source: cst.BaseExpression | None) -> None:
        """Assign the values of `value` to a name, an attribute, an entry, or the parts of a tuple.

        `source` is the assigned expression, if there is one.
        """
        pending = [(target, value, source)]
        while pending:
            node, assigned, origin = pending.pop()
            if isinstance(node, cst.Name):
                self.graph.edge(assigned, self.program.definition(node))
            elif isinstance(node, cst.Attribute):
                name = mangled(self.program.home(node), node)
                self.calls.stores.store(self.program.value_of(node.value), name, assigned, origin)
            elif isinstance(node, cst.Subscript):
                self._bind_entry(node, assigned, origin)
            elif isinstance(node, (cst.Tuple, cst.List)):
                pending += self._unpacked(node, assigned)

    def _bind_entry(self, node: cst.Subscript, value: Variable, source: cst.BaseExpression | None) -> None:
        base = self.program.value_of(node.value)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(index, cst.Index):
            with_key(self.program, index.value, lambda key: self.calls.entries.put(base, key, value, source))
            if source is not None:
                self.graph.edge(self.program.value_of(index.value), self.program.named(("key", source)))
            key = self.program.moved(index.value)
            keys = self.program.named
            self.graph.watch_kind(base, Holder, lambda holder: self.graph.edge(key, keys(("keys of", id(holder)))))
        else:
            parts_of_slices(self.program, node)
            if not is_slice(node):
                self.calls.entries.put(base, ANY, value, source)
                return
            self.calls.entries.put(base, ANY, self.calls.entries.items(value, node), source)
            self.graph.watch(base, self.calls.entries.shift)

    def _unpacked(
        self, node: cst.Tuple | cst.List, value: Variable
    ) -> Iterator[tuple[cst.CSTNode, Variable, cst.BaseExpression | None]]:
        """Yield the parts of a tuple target with the variable that each receives."""
        certain = True
        for number, element in enumerate(node.elements):
            part = self.program.named(("part", element))
            if isinstance(element, cst.StarredElement):
                certain = False
                rest = self.program.holder(element, "list")
                self.graph.put(part, rest)
                self.graph.edge(self.calls.entries.items(value, node), self.program.written(rest, ANY))
            else:
                self.calls.entries.item(value, number if certain else ANY, part, element.value)
            yield element.value, part, None


def parts_of_slices(program: Program, node: cst.Subscript) -> None:
    """Read the expressions between the brackets of a subscript."""
    for element in node.slice:
        for part in expressions_in(element):
            program.value_of(part)
