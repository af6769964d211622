"""Finds the variables of recorded runs that a table stands for, and how each run used them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.evidence.runs import Evidence, within
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.trace.record import Use, Variable


@dataclass(frozen=True)
class Span:
    """Lines of a file, by the record's name of it."""

    name: str
    first: int
    last: int

    def holds(self, use: Use) -> bool:
        """True if the call stack of an op leads through these lines."""
        return within(use.at, self.name, self.first, self.last)

    def holds_first(self, use: Use) -> bool:
        """True if the innermost line of the call stack of an op is one of these."""
        return within(use.at[:1], self.name, self.first, self.last)


@dataclass(frozen=True)
class Seen:
    """The variables of one graph of one run that a table stands for."""

    run: Evidence
    graph: int
    variables: tuple[Variable, ...]


@dataclass(frozen=True)
class Runs:
    """Recorded runs, as one program's code sees them."""

    file: File
    evidence: tuple[Evidence, ...]

    def span(self, run: Evidence, node: cst.CSTNode) -> Span | None:
        """Return the lines of a node by the record's name of its file; None if the record does not know the file."""
        home = self.file.part(node).tree
        place = self.file.tree.location(node)
        name = run.recorded(place.path, home.text)
        if not name:
            return None
        return Span(name, 0, 0) if isinstance(node, cst.Module) else Span(name, place.line, place.end_line)

    def end(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return line and column behind a node as Python counts them: the column from 0, in bytes of UTF-8."""
        tree = self.file.part(node).tree
        end = tree.span(node)[1]
        begin = max(tree.text.rfind(one, 0, end) for one in "\r\n") + 1
        return tree.location(node).end_line, len(tree.text[begin:end].encode(errors="surrogatepass"))

    def files(self, run: Evidence, node: cst.CSTNode) -> frozenset[str]:
        """Return the record's names of the files that are analysed together with that of the node."""
        module = self.file.part(node).tree.module
        trees = [one.tree for one in self.file.program(module)]
        return frozenset(run.recorded(one.location(one.module).path, one.text) for one in trees) - {""}

    def reached(self, run: Evidence, node: cst.CSTNode) -> bool:
        """True if the run executed a line of the node."""
        span = self.span(run, node)
        return span is not None and run.ran(span.name, span.first, span.last)

    def seen(self, table: Table) -> Iterator[Seen]:
        """Yield, for each graph of each run, the variables that the call which creates the table made there."""
        for run in self.evidence:
            span = self.span(run, table.creation.call)
            for number, graph in enumerate(run.record.graphs if span is not None else ()):
                assert span is not None
                made = [one for one in graph.variables if within(one.made, span.name, span.first, span.last)]
                if made:
                    yield Seen(run, number, tuple(made))

    def spans(self, run: Evidence, nodes: Iterable[cst.CSTNode]) -> list[Span]:
        """Return the lines of nodes in files that the record knows."""
        return [span for node in nodes if (span := self.span(run, node)) is not None]


def reached_by(file: File, node: cst.CSTNode) -> str:
    """Return the records of the completed runs that executed a line of the node; empty if none did."""
    runs = Runs(file, file.evidence)
    return ", ".join(run.place for run in file.evidence if run.completed and runs.reached(run, node))
