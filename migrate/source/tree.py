"""One parsed file: the syntax tree with parents, spans, scopes and an index of names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import (
    CodePosition,
    CodeRange,
    CodeSpan,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    ProviderT,
    QualifiedNameSource,
    Scope,
    ScopeProvider,
)
from libcst.metadata.base_provider import BaseMetadataProvider
from libcst.metadata.span_provider import SpanProvidingCodegenState

from migrate.report.model import Location

Node = TypeVar("Node", bound=cst.CSTNode)
PROVIDERS: tuple[ProviderT, ...]


class CharSpanProvider(BaseMetadataProvider[CodeSpan]):
    """Where a node's own text lies in the source string, in characters."""

    def _gen_impl(self, module: cst.Module) -> None:
        state = SpanProvidingCodegenState(
            default_indent=module.default_indent,
            default_newline=module.default_newline,
            provider=self,
            get_length=len,
        )
        module._codegen(state)


PROVIDERS = (ParentNodeProvider, CharSpanProvider, PositionProvider, ScopeProvider)


class _Index(cst.CSTVisitor):
    """Collects the nodes that the analysis looks for, in source order."""

    def __init__(self) -> None:
        self.calls: list[cst.Call] = []
        self.names: dict[str, list[cst.Name]] = defaultdict(list)
        self.attributes: dict[str, list[cst.Attribute]] = defaultdict(list)
        self.imports: list[cst.Import | cst.ImportFrom] = []
        self.strings: list[cst.SimpleString] = []

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)

    def visit_Name(self, node: cst.Name) -> None:
        self.names[node.value].append(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self.attributes[node.attr.value].append(node)

    def visit_Import(self, node: cst.Import) -> None:
        self.imports.append(node)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        self.imports.append(node)

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self.strings.append(node)


class Tree:
    """Read-only questions about one source file."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        self.module = wrapper.module
        found = wrapper.resolve_many(PROVIDERS)
        self._parents = cast(Mapping[cst.CSTNode, cst.CSTNode], found[ParentNodeProvider])
        self._spans = cast(Mapping[cst.CSTNode, CodeSpan], found[CharSpanProvider])
        self._positions = cast(Mapping[cst.CSTNode, CodeRange], found[PositionProvider])
        self._scopes = cast(Mapping[cst.CSTNode, Scope | None], found[ScopeProvider])
        index = _Index()
        self.module.visit(index)
        self.calls, self.names, self.attributes = index.calls, index.names, index.attributes
        self.imports, self.strings = index.imports, index.strings

    @property
    def newline(self) -> str:
        """The line end this file uses."""
        return self.module.default_newline

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node around `node`."""
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes around `node`, the nearest first."""
        current = self._parents.get(node)
        while current is not None:
            yield current
            current = self._parents.get(current)

    def enclosing(self, node: cst.CSTNode, kind: type[Node]) -> Node | None:
        """Return the nearest node of that type around `node`."""
        return next((a for a in self.ancestors(node) if isinstance(a, kind)), None)

    def contains(self, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
        """True when `inner` is `outer` or lies inside it."""
        return outer is inner or any(a is outer for a in self.ancestors(inner))

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return start and end of the node's text; raises KeyError for a node without text."""
        span = self._spans[node]
        return span.start, span.start + span.length

    def source(self, node: cst.CSTNode) -> str:
        """Return the node's text exactly as written, with the parentheses that belong to it."""
        start, end = self.span(node)
        if isinstance(node, cst.BaseExpression):
            start, end = self.outer_span(node)
        return self.text[start:end]

    def outer_span(self, node: cst.BaseExpression) -> tuple[int, int]:
        """Return the span including the node's own parentheses."""
        start, end = self.span(node)
        for opening in node.lpar:
            start = min(start, self._spans[opening].start)
        for paren in node.rpar:
            closing = self._spans[paren]
            end = max(end, closing.start + closing.length)
        return start, end

    def start(self, node: cst.CSTNode) -> CodePosition:
        """Return the line (from 1) and column (from 0) where the node begins."""
        return self._positions[node].start

    def location(self, node: cst.CSTNode) -> Location:
        """Return the node's place for a report."""
        span = self._positions[node]
        return Location(self.path, span.start.line, span.end.line, self.qualname(node))

    def qualname(self, node: cst.CSTNode) -> str:
        """Return the dotted name of the class and functions around `node`."""
        around = [a.name.value for a in self.ancestors(node) if isinstance(a, cst.FunctionDef | cst.ClassDef)]
        return ".".join(reversed(around))

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """Return the scope in which the node's names are looked up."""
        return self._scopes.get(node)

    def imported_names(self, node: cst.CSTNode) -> tuple[frozenset[str], bool]:
        """Return the qualified names that imports give `node`, and whether something else may define it as well."""
        scope = self.scope(node)
        if scope is None:
            return frozenset(), False
        names = scope.get_qualified_names_for(node)
        imported = frozenset(n.name for n in names if n.source is QualifiedNameSource.IMPORT)
        return imported, len(imported) < len(names)

    def statement(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the statement line (or compound statement) that holds `node`."""
        kinds = (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.BaseCompoundStatement)
        return next((a for a in (node, *self.ancestors(node)) if isinstance(a, kinds)), None)

    def line_start(self, node: cst.CSTNode) -> int:
        """Return the offset of the first character of the line on which `node` begins."""
        start = self.span(node)[0]
        return max(self.text.rfind("\n", 0, start), self.text.rfind("\r", 0, start)) + 1

    def lead(self, node: cst.CSTNode) -> str:
        """Return the text before `node` on its line."""
        return self.text[self.line_start(node) : self.span(node)[0]]

    def indent(self, node: cst.CSTNode) -> str:
        """Return the white space before the statement that begins on that line."""
        line = self.line_start(node)
        rest = self.text[line : self.span(node)[0]]
        return rest[: len(rest) - len(rest.lstrip())]

    def identifiers(self) -> set[str]:
        """Return every identifier of the file, so that a new name can avoid them."""
        return set(self.names) | set(self.attributes)

    def bound(self) -> set[str]:
        """Return the identifiers that stand for something by themselves, not only after a dot or as a keyword."""
        return {name for name, uses in self.names.items() if not all(self._is_label(use) for use in uses)}

    def _is_label(self, use: cst.Name) -> bool:
        around = self.parent(use)
        if isinstance(around, cst.Attribute):
            return around.attr is use
        return isinstance(around, cst.Arg) and around.keyword is use
