"""Which code may run between two places of a program, across function boundaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow.names.frames import Frame, frame_of
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import Symbol
from migrate.source.syntax.tree import Tree

LOOPS = cst.For | cst.While | cst.BaseComp
#: The largest number of call chains to a place that is examined.
_MOST = 64


def outer_loop(tree: Tree, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the outermost loop, within its frame, that runs `node` repeatedly."""
    return next(reversed(list(loops_around(tree, node))), None)


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


@dataclass(frozen=True)
class _Region:
    """A contiguous range of the code of one frame."""

    frame: Frame
    start: int
    end: int


class Order:
    """Answers which code may run between two places of one analysed program."""

    def __init__(self, flow: ValueFlow, trees: Iterable[Tree]) -> None:
        self.flow = flow
        self._inside: dict[cst.CSTNode, list[cst.CSTNode]] = defaultdict(list)
        for tree in trees:
            pending: list[tuple[cst.CSTNode, cst.CSTNode]] = [(tree.module, tree.module)]
            while pending:
                node, frame = pending.pop()
                self._inside[frame].append(node)
                for child in node.children:
                    own = isinstance(node, cst.FunctionDef | cst.Lambda) and child is node.body
                    pending.append((child, node if own else frame))

    def between(self, first: cst.CSTNode, last: cst.CSTNode) -> list[cst.CSTNode] | None:
        """Return the nodes that may run after `first` and before the statement of `last`; None if this is not known."""
        starts, ends = self._chains(first), self._chains(last)
        if starts is None or ends is None:
            return None
        regions: set[_Region] = set()
        follows = False
        for start in starts:
            for end in ends:
                if self._frame(start[0]) is not self._frame(end[0]):
                    return None
                found = self._regions(start, end)
                follows |= found is not None
                regions |= set(found or ())
        return self._run(regions) if follows else None

    def in_frame(self, first: cst.CSTNode, last: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the nodes that may run between two places of one frame, in source order."""
        tree = self.flow.home(first)
        return self._run({_Region(self._frame(first), tree.span(first)[1], tree.span(last)[0])})

    def _frame(self, node: cst.CSTNode) -> Frame:
        return frame_of(self.flow.home(node), node)

    def _chains(self, node: cst.CSTNode) -> list[list[cst.CSTNode]] | None:
        """Return the call chains to `node`, each from an entry point of the program to `node` itself."""
        found: list[list[cst.CSTNode]] = []
        pending = [[node]]
        while pending:
            chain = pending.pop()
            frame = self._frame(chain[0])
            if len(found) + len(pending) > _MOST or any(self._frame(one) is frame for one in chain[1:]):
                return None
            if isinstance(frame, cst.Module):
                found.append(chain)
                continue
            sites = self.flow.sites(frame)
            if self.flow.is_lazy(frame) or any(self._hands_over(site) for site in sites):
                return None
            if self.flow.is_open(frame) or not sites:
                found.append(chain)
            pending += [[site, *chain] for site in sites]
        return found

    def _hands_over(self, site: cst.CSTNode) -> bool:
        """True for a call site at which external code calls the function, possibly later."""
        if not isinstance(site, cst.Call):
            return False
        return any(isinstance(value, Symbol) for value in self.flow.values(site.func))

    def _regions(self, start: list[cst.CSTNode], end: list[cst.CSTNode]) -> list[_Region] | None:
        """Return the code between the ends of two call chains; None if the second end comes first."""
        place = 0
        while place < min(len(start), len(end)) - 1 and start[place] is end[place]:
            place += 1
        first, last = start[place], end[place]
        if first is last:
            return None
        tree = self.flow.home(first)
        (_, begin), (stop, until) = tree.span(first), tree.span(last)
        loops = [loop for loop in (outer_loop(tree, first), outer_loop(tree, last)) if loop is not None]
        if tree.contains(last, first):
            stop = begin if place == len(end) - 1 else until
        elif begin > stop and not (len(loops) == 2 and loops[0] is loops[1]):
            return None
        begin = min([begin, *(tree.span(loop)[0] for loop in loops)])
        stop = max([stop, *(tree.span(loop)[1] for loop in loops)])
        found = [_Region(self._frame(first), begin, stop)]
        found += [self._after(one) for one in start[place + 1 :]]
        return found + [self._before(one) for one in end[place + 1 :]]

    def _after(self, node: cst.CSTNode) -> _Region:
        tree, frame = self.flow.home(node), self._frame(node)
        loop = outer_loop(tree, node)
        left = next((a for a in tree.ancestors(node) if isinstance(a, cst.Return | cst.Lambda)), None)
        inside = isinstance(left, cst.Return) and self._frame(left) is frame and loop is None
        whole = left if inside and left is not None else frame
        return _Region(frame, tree.span(loop)[0] if loop is not None else tree.span(node)[1], tree.span(whole)[1])

    def _before(self, node: cst.CSTNode) -> _Region:
        tree, frame = self.flow.home(node), self._frame(node)
        loop = outer_loop(tree, node)
        return _Region(frame, tree.span(frame)[0], tree.span(loop)[1] if loop is not None else tree.span(node)[0])

    def _run(self, regions: Iterable[_Region]) -> list[cst.CSTNode]:
        """Return the nodes of the regions, and those of all functions that these run."""
        found: list[cst.CSTNode] = []
        for region in regions:
            tree = self.flow.home(region.frame)
            for node in self._inside[region.frame]:
                if (
                    isinstance(node, cst.BaseExpression | cst.WithItem)
                    and region.start <= tree.span(node)[0] < region.end
                ):
                    found.append(node)
        functions: set[cst.CSTNode] = set()
        pending = list(found)
        while pending:
            for function in self.flow.runs(pending.pop()):
                if function not in functions:
                    functions.add(function)
                    found += self._inside[function]
                    pending += self._inside[function]
        return found
