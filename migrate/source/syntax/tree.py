"""One parsed file: the syntax tree with parents, spans, scopes and an index of names."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

import libcst as cst
from libcst.metadata import Assignment, GlobalScope, QualifiedNameSource, Scope

from migrate.report.model import Location
from migrate.source.syntax.node_index import Index, Lines, Spans
from migrate.source.syntax.plain_nodes import make_plain
from migrate.source.syntax.scopes import Scopes

Node = TypeVar("Node", bound=cst.CSTNode)
make_plain()


def is_star(node: cst.CSTNode) -> bool:
    """True for `from module import *`."""
    return isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar)


class Link(Protocol):
    """Resolves names of a file in its project."""

    def outside(self, qualified: str) -> frozenset[str]:
        """Return the names that `qualified` may have outside of the project; itself if it is defined in the project."""

    def defines(self, qualified: str) -> bool:
        """True for a name that is defined in a file of the project."""

    def starred(self, name: str, statement: str | None = None) -> str:
        """Return the qualified name of a name that a star import of a project file binds, else an empty string.

        With `statement`, only this star import is asked.
        """

    def may_rebind(self, statement: str) -> bool:
        """True if a star import may bind any name: its module is neither in the project nor of a known library."""

    def is_first(self, words: re.Pattern[str]) -> bool:
        """True unless a file that imports this one has a text with these words as well."""

    def started(self) -> str:
        """Return the only program that runs this file; where there are more, the file itself."""

    def hides(self, statement: str) -> bool:
        """True if a star import may bind names that are not defined in files of the project."""

    def below(self, module: str, path: str) -> str | None:
        """Return the name of the file at `path` relative to `module`, as imported here; None if it is not below."""

    def crowded(self) -> bool:
        """True if the files of its programs are too large to be analysed together."""

    def opened(self) -> tuple[str, ...]:
        """Return the files of the project with a dynamic import that may be of any module."""

    def imports(self, path: str) -> bool:
        """True if this file imports that one, directly or indirectly."""

    def loads(self, paths: Container[str]) -> bool:
        """True if importing this file imports one of these; functions may import others later."""

    def programs(self) -> frozenset[str]:
        """Return the texts of the files that a program may run with this one, its own among them."""

    def not_given(self) -> dict[str, str]:
        """Return path -> text of the files that this one imports and that are not in the project."""


#: Characters of the source text that a message shows.
EXCERPT = 80


class Tree:
    """A parsed source file, read-only."""

    def __init__(self, path: str, text: str, link: Link | None = None) -> None:
        self.path = path
        self.link = link  #: resolves this file's imports in its project
        self.text = text
        self._linked: dict[cst.CSTNode, tuple[frozenset[str], bool]] = {}
        self.answers: dict[tuple[Any, ...], Any] = {}  #: cache of front ends, by their queries
        self.module = cst.parse_module(text)
        self._scopes = Scopes(self.module).by_node
        printed = Spans(self.module)
        self.spans = printed.by_node
        self.code = printed.code  #: the code that libcst generates; must equal `text`
        index = Index(self.module, self.spans)
        self.parents = index.parents  #: node -> parent
        self.calls, self.names, self.attributes = index.calls, index.names, index.attributes
        self.imports, self.strings, self.classes = index.imports, index.strings, index.classes

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.code)

    def linked(self, link: Link | None) -> Tree:
        """Return the same file in another project, without parsing it again."""
        tree = copy.copy(self)
        tree.link = link
        tree._linked = {}
        tree.answers = {}
        return tree

    @property
    def newline(self) -> str:
        """The line end of this file."""
        return self.module.default_newline

    def nodes(self) -> Iterable[cst.CSTNode]:
        """Return all nodes of the file."""
        return (self.module, *self.parents)

    @cached_property
    def top_level(self) -> dict[str, cst.ClassDef | cst.FunctionDef]:
        """The classes and functions that the module itself defines, by name."""
        body = self.module.body
        return {s.name.value: s for s in body if isinstance(s, (cst.ClassDef, cst.FunctionDef))}

    @cached_property
    def aliases(self) -> frozenset[str]:
        """The names that imports of this file bind with `as`."""
        named = [one for node in self.imports if not isinstance(node.names, cst.ImportStar) for one in node.names]
        return frozenset(one.evaluated_alias or "" for one in named if one.asname is not None)

    def home(self, node: cst.CSTNode) -> Tree:
        """Return the file that contains `node`; raises KeyError if there is none."""
        return self

    def module_of(self, node: cst.CSTNode) -> cst.Module:
        """Return the module that contains `node`."""
        return self.home(node).module

    def related(self, first: cst.CSTNode, second: cst.CSTNode) -> bool:
        """True if one program may run the code of both nodes."""
        return True

    def stands_before(self, first: cst.CSTNode, second: cst.CSTNode) -> bool:
        """True if the text of `first` begins before that of `second`, in its file or in one that this imports."""
        return self.span(first)[0] < self.span(second)[0]

    def is_inside(self, node: cst.CSTNode) -> bool:
        """True for a name of another file that is analysed, or that uses no framework."""
        return False

    def mentioned(self, start: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """Return the top-level classes and functions that the code of `start` references."""
        names = {use.value for use in self.names_in(start)}
        return [node for name, node in self.top_level.items() if name in names]

    def names_in(self, node: cst.CSTNode) -> Sequence[cst.Name]:
        """Return the names in the code of `node`, those of the same text together."""
        if node is self.module:
            return [use for uses in self.names.values() for use in uses]
        whole = self._outermost(node)
        uses = self._names_in_statements[whole]
        return uses if node is whole else [use for use in uses if self.contains(node, use)]

    @cached_property
    def _names_in_statements(self) -> Mapping[cst.CSTNode, list[cst.Name]]:
        """The names in each statement of the module: a search in one of them does not read the whole file."""
        by_statement: dict[cst.CSTNode, list[cst.Name]] = defaultdict(list)
        for uses in self.names.values():
            for use in uses:
                by_statement[self._outermost(use)].append(use)
        return by_statement

    def _outermost(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the statement of the module that contains `node`."""
        return next((a for a in self.ancestors(node) if self.parents.get(a) is self.module), node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the parent of `node`."""
        return self.parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the ancestors of `node`, nearest first."""
        current = self.parents.get(node)
        while current is not None:
            yield current
            current = self.parents.get(current)

    def call_with(self, node: cst.CSTNode | None) -> cst.Call | None:
        """Return the call that an expression, or an `Arg`, is an argument of; None for other places."""
        arg = node if node is None or isinstance(node, cst.Arg) else self.parent(node)
        call = self.parent(arg) if isinstance(arg, cst.Arg) else None
        return call if isinstance(call, cst.Call) else None

    def call_of(self, func: cst.CSTNode) -> cst.Call | None:
        """Return the call of which an expression is the function, or None."""
        call = self.parent(func)
        return call if isinstance(call, cst.Call) and call.func is func else None

    def display_with(self, node: cst.CSTNode | None) -> cst.List | cst.Tuple | cst.Set | cst.Dict | None:
        """Return the list, tuple, set or dict that an expression is an entry of where it is written, or None."""
        around = self.parent(node) if node is not None else None
        whole = self.parent(around) if isinstance(around, (cst.Element, cst.DictElement)) else None
        return whole if isinstance(whole, (cst.List, cst.Tuple, cst.Set, cst.Dict)) else None

    def is_target(self, node: cst.CSTNode) -> bool:
        """True if `node` is bound, assigned or deleted here rather than read."""
        inner, around = node, self.parent(node)
        while isinstance(around, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
            inner, around = around, self.parent(around)
        if isinstance(around, (cst.AssignTarget, cst.Del, cst.NameItem, cst.AsName)):
            return True
        if isinstance(around, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)):
            return around.target is inner
        return isinstance(around, cst.Param) and around.name is inner

    def enclosing(self, node: cst.CSTNode, kind: type[Node]) -> Node | None:
        """Return the nearest ancestor of a type, or None."""
        return next((a for a in self.ancestors(node) if isinstance(a, kind)), None)

    def contains(self, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
        """True if `inner` is `outer` or a descendant of it."""
        return outer is inner or any(a is outer for a in self.ancestors(inner))

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return start and end of the node's text; raises KeyError for a node without text."""
        return self.spans[node]

    def source(self, node: cst.CSTNode) -> str:
        """Return the node's source text, with its parentheses."""
        start, end = self.span(node)
        if isinstance(node, cst.BaseExpression):
            start, end = self.outer_span(node)
        return self.home(node).text[start:end]

    def one_line(self, node: cst.CSTNode) -> str:
        """Return the node's source text in one line."""
        return " ".join(self.source(node).split())

    def excerpt(self, node: cst.CSTNode, longest: int = EXCERPT) -> str:
        """Return the node's source text for a message: in one line of at most `longest` characters."""
        text = self.one_line(node)
        return text if len(text) <= longest else f"{text[: longest - 3]}..."

    def outer_span(self, node: cst.BaseExpression) -> tuple[int, int]:
        """Return the span of a node with its parentheses."""
        spans = self.spans
        start, end = spans[node]
        for opening in node.lpar:
            start = min(start, spans[opening][0])
        for closing in node.rpar:
            end = max(end, spans[closing][1])
        return start, end

    def location(self, node: cst.CSTNode) -> Location:
        """Return the node's location for reports."""
        home = self.home(node)
        first, last = map(home._lines.position, self.spans[node])
        return Location(home.path, first.line, last.line, self.qualname(node))

    def qualname(self, node: cst.CSTNode) -> str:
        """Return the qualified name of the classes and functions around `node`."""
        around = [a.name.value for a in self.ancestors(node) if isinstance(a, (cst.FunctionDef, cst.ClassDef))]
        return ".".join(reversed(around))

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """Return the scope of the node's names, or None."""
        return self.home(node)._scopes.get(node)

    def qualified_names(self, node: cst.CSTNode) -> set[str]:
        """Return the qualified names that the scope of a name gives it, those of Python itself among them."""
        scope = self.scope(node)
        return {one.name for one in scope.get_qualified_names_for(node)} if scope is not None else set()

    def imported_names(self, node: cst.CSTNode) -> tuple[frozenset[str], bool]:
        """Return the qualified names that imports give `node`, and whether something else may define it as well.

        What other files of the project import and hand on has the name that it has outside.
        """
        imported, shadowed = self.linked_names(node)
        if (link := self.home(node).link) is not None:
            imported = frozenset().union(*map(link.outside, imported))
        return imported, shadowed

    def linked_names(self, node: cst.CSTNode) -> tuple[frozenset[str], bool]:
        """Return the qualified names as the imports of this file spell them; star imports of the project included."""
        home = self.home(node)
        if node not in home._linked:
            home._linked[node] = home._link_names(node)
        return home._linked[node]

    def _link_names(self, node: cst.CSTNode) -> tuple[frozenset[str], bool]:
        scope = self.scope(node)
        if scope is None:
            return frozenset(), False
        names = scope.get_qualified_names_for(node)
        imported = frozenset(n.name for n in names if n.source is QualifiedNameSource.IMPORT)
        shadowed = len(imported) < len(names)
        known = names and not self.stars
        if known or self.link is None or not isinstance(node, (cst.Name, cst.Attribute)):
            return imported, shadowed
        first, _, rest = self.source(node).partition(".")
        if not names:
            starred, only, unknown = frozenset(filter(None, [self.link.starred(first)])), True, False
        else:
            starred, only, unknown = self._starred(scope, first)
        starred = frozenset(f"{name}.{rest}" if rest else name for name in starred)
        return (starred, unknown) if only else (imported | starred, shadowed or unknown)

    @cached_property
    def stars(self) -> list[cst.ImportFrom]:
        """The star imports of the file."""
        return [node for node in self.imports if isinstance(node, cst.ImportFrom) and is_star(node)]

    def _starred(self, scope: Scope, name: str) -> tuple[frozenset[str], bool, bool]:
        """Return the qualified names that star imports may give a name, by what else binds it.

        Also whether nothing before the last star import counts, and whether it may be any name. A module bound by
        `import` is taken to keep its name through a star import of an unknown module, which most often imports it, too.
        """
        link, bindings = self.link, [one for one in scope[name] if isinstance(one, Assignment)]
        if link is None or any(not isinstance(one.scope, GlobalScope) for one in bindings):
            return frozenset(), False, False
        nodes = [one.node for one in bindings]
        places = [self.span(node)[0] for node in nodes]
        fixed = all(map(self._is_at_top, nodes))
        modules: set[str] = set()
        only = unknown = False
        for star in self.stars:
            if places and fixed and self.span(star)[0] < min(places):
                continue
            starred, text = link.starred(name, self.source(star)), self.source(star)
            later = not nodes or (fixed and self._is_at_top(star) and self.span(star)[0] > max(places))
            if starred:
                modules, only = {starred} if later else {*modules, starred}, only or later
            elif nodes and not any(isinstance(node, cst.Import) for node in nodes) and link.may_rebind(text):
                unknown = True
        return frozenset(modules), only, unknown

    def _is_at_top(self, node: cst.CSTNode) -> bool:
        """True for a statement of the module, outside of any block, or the target of one."""
        statement = next((a for a in (node, *self.ancestors(node)) if isinstance(a, cst.BaseStatement)), None)
        simple = isinstance(statement, cst.SimpleStatementLine) or statement is node
        return simple and statement is not None and self.parent(statement) is self.module

    def statement(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the simple statement line or compound statement that contains `node`."""
        kinds = (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.BaseCompoundStatement)
        return next((a for a in (node, *self.ancestors(node)) if isinstance(a, kinds)), None)

    def line_start(self, node: cst.CSTNode) -> int:
        """Return the offset of the first character of the line on which `node` begins."""
        start, text = self.span(node)[0], self.home(node).text
        return max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1

    def lead(self, node: cst.CSTNode) -> str:
        """Return the text before `node` on its line."""
        return self.home(node).text[self.line_start(node) : self.span(node)[0]]

    def indent(self, node: cst.CSTNode) -> str:
        """Return the indentation of the line on which `node` begins."""
        lead = self.lead(node)
        return lead[: len(lead) - len(lead.lstrip())]

    def identifiers(self) -> set[str]:
        """Return all identifiers of the file, which new names must avoid."""
        return set(self.names) | set(self.attributes)

    def bound(self) -> set[str]:
        """Return the identifiers that occur as names, not only as attributes or keywords."""
        return {name for name, uses in self.names.items() if not all(self._is_label(use) for use in uses)}

    def _is_label(self, use: cst.Name) -> bool:
        around = self.parent(use)
        if isinstance(around, cst.Attribute):
            return around.attr is use
        return isinstance(around, cst.Arg) and around.keyword is use
