"""The parents and spans of all nodes of a file, computed in one walk and one code generation."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar, cast

import libcst as cst
from libcst.metadata import CodePosition
from libcst.metadata.span_provider import SpanProvidingCodegenState

Node = TypeVar("Node", bound=cst.CSTNode)

#: Statements with parts that may run never or several times.
CONDITIONAL = (
    cst.If, cst.For, cst.While, cst.Match, cst.Try, cst.TryStar, cst.ExceptHandler, cst.ExceptStarHandler,
)  # fmt: skip
#: Line ends, as libcst counts them.
LINE_END = re.compile(r"\r\n?|\n")


class Spans(SpanProvidingCodegenState):
    """Generates the code of a module and records the span of each node, in characters."""

    def __init__(self, module: cst.Module) -> None:
        """Generate the code; `found` has the spans, and `code` the text."""
        super().__init__(module.default_indent, module.default_newline, provider=cast(Any, None))
        self.found: dict[cst.CSTNode, tuple[int, int]] = {}
        module._codegen(self)
        self.code = "".join(self.tokens)

    def add_indent_tokens(self) -> None:
        self.tokens.extend(self.indent_tokens)
        self.position += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.position += len(value)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._stack.pop()
        if node not in self.found:
            self.found[node] = start, self.position

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = self.position
        try:
            yield
        finally:
            start = self.found[start_node][0] if start_node is not None else start
            self.found[node] = start, self.found[end_node][1] if end_node is not None else self.position


class _Kinds(dict[type, "tuple[str, ...] | None"]):
    """Type of a node -> names of its fields; None for other types."""

    def __missing__(self, kind: type) -> tuple[str, ...] | None:
        found = tuple(field.name for field in fields(kind)) if issubclass(kind, cst.CSTNode) else None
        self[kind] = found
        return found


_KINDS = _Kinds()


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the direct children of `node`, in the order of its fields."""
    for name in _KINDS[type(node)] or ():
        value = getattr(node, name)
        if _KINDS[type(value)] is not None:
            yield value
        elif isinstance(value, list | tuple):
            yield from (one for one in value if _KINDS[type(one)] is not None)


def nodes_in(node: cst.CSTNode, *kinds: type[Node]) -> list[Node]:
    """Return the nodes of these classes inside of `node`, which may be one itself, each before those inside of it.

    The module `libcst.matchers` does so, too, and takes longer to import than the rest of libcst.
    """
    found: list[Node] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if type(current) in kinds:
            found.append(cast(Node, current))
        pending += reversed([*children(current)])
    return found


class Lines:
    """Converts offsets to lines and columns."""

    def __init__(self, text: str) -> None:
        """Index the lines of a text."""
        self._starts = [0, *(end.end() for end in LINE_END.finditer(text))]

    def position(self, offset: int) -> CodePosition:
        """Return the line (from 1) and the column (from 0)."""
        line = bisect_right(self._starts, offset)
        return CodePosition(line, offset - self._starts[line - 1])


class Index:
    """The parent of each node, and nodes by kind and name in source order."""

    def __init__(self, module: cst.Module, spans: Mapping[cst.CSTNode, tuple[int, int]]) -> None:
        """Walk the module."""
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.calls: list[cst.Call] = []
        self.classes: list[cst.ClassDef] = []
        self.names: dict[str, list[cst.Name]] = defaultdict(list)
        self.attributes: dict[str, list[cst.Attribute]] = defaultdict(list)
        self.imports: list[cst.Import | cst.ImportFrom] = []
        self.strings: list[cst.SimpleString] = []
        self._walk(module)
        # Of nodes with the same start, which are nested, the outer one comes first.
        for named in (self.names, self.attributes):
            for uses in cast(dict[str, list[cst.CSTNode]], named).values():
                uses.sort(key=lambda node: spans[node][0])
        for found in cast(list[list[cst.CSTNode]], [self.calls, self.classes, self.imports, self.strings]):
            found.sort(key=lambda node: spans[node][0])

    def _walk(self, module: cst.Module) -> None:
        pending: list[cst.CSTNode] = [module]
        while pending:
            node = pending.pop()
            self._note(node)
            for child in children(node):
                self.parents[child] = node
                pending.append(child)

    def _note(self, node: cst.CSTNode) -> None:
        # Compared by type because libcst's instance checks are slow.
        if type(node) is cst.Name:
            self.names[node.value].append(node)
        elif type(node) is cst.Attribute:
            self.attributes[node.attr.value].append(node)
        elif type(node) is cst.Call:
            self.calls.append(node)
        elif type(node) is cst.SimpleString:
            self.strings.append(node)
        elif type(node) is cst.ClassDef:
            self.classes.append(node)
        elif type(node) is cst.Import or type(node) is cst.ImportFrom:
            self.imports.append(node)
