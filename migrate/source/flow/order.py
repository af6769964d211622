"""Which code may run between two places of a function, that of the functions which it calls included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import libcst as cst

from migrate.source.flow.names.bindings import frame_of
from migrate.source.flow.queries import ValueFlow
from migrate.source.syntax.tree import Tree

LOOPS = cst.For | cst.While | cst.BaseComp


def loops_around(tree: Tree, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the loops, within its frame, that run `node` repeatedly, innermost first."""
    before, frame = node, frame_of(tree, node)
    for around in tree.ancestors(node):
        if around is frame:
            return
        once = isinstance(around, cst.For) and (before is around.iter or before is around.orelse)
        once |= isinstance(before, cst.CompFor) and tree.contains(before.iter, node)
        if isinstance(around, LOOPS) and not once:
            yield around
        before = around


class Order:
    """Answers which code may run between two places of one function."""

    def __init__(self, flow: ValueFlow, trees: Iterable[Tree]) -> None:
        self.flow = flow
        self._inside: dict[cst.CSTNode, list[cst.CSTNode]] = defaultdict(list)
        for tree in trees:
            pending: list[tuple[cst.CSTNode, cst.CSTNode]] = [(tree.module, tree.module)]
            while pending:
                node, frame = pending.pop()
                self._inside[frame].append(node)
                for child in node.children:
                    own = isinstance(node, (cst.FunctionDef, cst.Lambda)) and child is node.body
                    pending.append((child, node if own else frame))

    def in_frame(self, first: cst.CSTNode, last: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the nodes that may run between two places of one frame, and those of all functions that these run."""
        tree = self.flow.home(first)
        start, end = tree.span(first)[1], tree.span(last)[0]
        kinds = cst.BaseExpression | cst.WithItem
        inside = self._inside[frame_of(tree, first)]
        nodes: list[cst.CSTNode] = [
            one for one in inside if isinstance(one, kinds) and start <= tree.span(one)[0] < end
        ]
        functions: set[cst.CSTNode] = set()
        pending = list(nodes)
        while pending:
            for function in self.flow.runs(pending.pop()):
                if function not in functions:
                    functions.add(function)
                    nodes += self._inside[function]
                    pending += self._inside[function]
        return nodes
