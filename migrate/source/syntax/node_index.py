"""The parents and spans of all nodes of a file, computed in one walk and one code generation."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar, cast

import libcst as cst
from libcst.metadata import CodePosition
from libcst.metadata.span_provider import SpanProvidingCodegenState

Node = TypeVar("Node", bound=cst.CSTNode)

#: Statements with parts that may run never or several times.
CONDITIONAL = (
    cst.If, cst.For, cst.While, cst.Match, cst.Try, cst.TryStar, cst.ExceptHandler, cst.ExceptStarHandler,
)  # fmt: skip
#: Nodes without names and values, of which there are as many as of all others: nobody asks for their places or parents.
BLANK = frozenset({cst.Comment, cst.EmptyLine, cst.Newline, cst.SimpleWhitespace, cst.TrailingWhitespace})
#: Line ends, as libcst counts them.
LINE_END = re.compile(r"\r\n?|\n")


class Spans(SpanProvidingCodegenState):
    """Generates the code of a module and records the span of each node, in characters."""

    def __init__(self, module: cst.Module) -> None:
        """Generate the code; `by_node` has the spans, and `code` the text."""
        super().__init__(module.default_indent, module.default_newline, provider=cast(Any, None))
        self.by_node: dict[cst.CSTNode, tuple[int, int]] = {}
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
        if type(node) not in BLANK and node not in self.by_node:
            self.by_node[node] = start, self.position

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Position:
        return _Position(self, node, start_node, end_node)


class _Position:
    """What is printed inside of this block is the span of a node; a class, as a generator takes twice as long."""

    __slots__ = ("end_node", "node", "spans", "start", "start_node")

    def __init__(
        self, spans: Spans, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
        self.spans, self.node, self.start_node, self.end_node = spans, node, start_node, end_node

    def __enter__(self) -> None:
        self.start = self.spans.position

    def __exit__(self, *raised: object) -> None:
        spans = self.spans.by_node
        start = spans[self.start_node][0] if self.start_node is not None else self.start
        spans[self.node] = start, spans[self.end_node][1] if self.end_node is not None else self.spans.position


class _Fields(dict[type, "Callable[[Any], tuple[Any, ...]] | None"]):
    """Type of a node -> what gives the values of its fields; None for other types."""

    def __missing__(self, kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
        self[kind] = _getter([field.name for field in fields(kind)]) if issubclass(kind, cst.CSTNode) else None
        return self[kind]


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: tuple(getattr(node, name) for name in names)


_FIELDS = _Fields()


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the direct children of `node`, in the order of its fields, without blanks and comments."""
    inside: list[cst.CSTNode] = []
    values = _FIELDS[type(node)]
    for value in values(node) if values is not None else ():
        kind = type(value)
        if kind is tuple or kind is list:
            inside += [part for part in value if type(part) not in BLANK]
        elif kind not in BLANK and _FIELDS[kind] is not None:
            inside.append(value)
    return inside


def dotted(node: cst.CSTNode, other: str = "") -> str:
    """Return `a.b.c` as text, without what may be between its parts; `other` stands for what is no name before them."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.insert(0, node.attr.value)
        node = node.value
    return ".".join([node.value if isinstance(node, cst.Name) else other, *parts])


def nodes_in(node: cst.CSTNode, *kinds: type[Node]) -> list[Node]:
    """Return the nodes of these classes inside of `node`, which may be one itself, each before those inside of it.

    Blanks and comments are not among them. The module `libcst.matchers` does so, too, and takes longer to import than
    the rest of libcst.
    """
    nodes: list[Node] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if type(current) in kinds:
            nodes.append(cast(Node, current))
        pending += reversed(children(current))
    return nodes


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
        for nodes in cast(list[list[cst.CSTNode]], [self.calls, self.classes, self.imports, self.strings]):
            nodes.sort(key=lambda node: spans[node][0])

    def _walk(self, module: cst.Module) -> None:
        pending: list[cst.CSTNode] = [module]
        while pending:
            node = pending.pop()
            self._note(node)
            inside = children(node)
            if inside:
                self.parents.update(dict.fromkeys(inside, node))
                pending += inside

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
