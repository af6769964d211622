"""Combines several parsed files to one tree, which delegates queries about a node to its file.

Rules and the value flow ask a `Tree`. For a program of several files they get a `Joined` one: it has the calls and
names of all files, or of the one in `focus`, and answers about a node in any of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import libcst as cst

from migrate.source.project.discovery import mentions_framework
from migrate.source.project.import_graph import Origin, Project
from migrate.source.syntax.tree import Tree

N = TypeVar("N", cst.Name, cst.Attribute)


class Parts:
    """The files of one analysis, and their imports of each other."""

    def __init__(
        self,
        project: Project,
        trees: Sequence[Tree],
        related: Callable[[str, str], bool],
    ) -> None:
        """Take the trees; `related` says of two paths whether these files may run in one program."""
        self.project = project
        self.trees = {tree.path: tree for tree in trees}
        self.related = related
        self.answers: dict[tuple[Any, ...], Any] = {}  #: cache of front ends, by their queries about all files
        self._beside: dict[str, tuple[str, ...]] = {}
        self._mentioned: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        self._homes: dict[cst.CSTNode, Tree] = {}
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.spans: dict[cst.CSTNode, tuple[int, int]] = {}
        for tree in trees:
            self._homes.update(dict.fromkeys(tree.nodes(), tree))
            self.parents.update(tree.parents)
            self.spans.update(tree.spans)

    def home(self, node: cst.CSTNode) -> Tree:
        """Return the file that contains `node`; raises KeyError if there is none."""
        return self._homes[node]

    def beside(self, path: str) -> tuple[str, ...]:
        """Return the files that may run in one program with the file `path`, in order, with itself."""
        if path not in self._beside:
            self._beside[path] = tuple(other for other in self.trees if self.related(other, path))
        return self._beside[path]

    def is_covered(self, path: str) -> bool:
        """True for a file that is analysed, or is irrelevant because it names no framework."""
        return path in self.trees or not mentions_framework(self.project.text(path).encode())

    def outside(self, tree: Tree, qualified: str) -> tuple[Tree, str] | None:
        """Resolve a qualified name of a file to (file, name there); None if no file defines it."""
        origin = self.project.origin(tree.path, qualified)
        home = self.trees.get(origin.path) if origin is not None else None
        return (home, origin.name) if home is not None and origin is not None else None

    def origin(self, node: cst.CSTNode) -> Origin | None:
        """Resolve a name or attribute that an import binds; None if it is unknown or ambiguous."""
        tree = self.home(node)
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return None
        imported, shadowed = tree.linked_names(node)
        origins = {self.project.origin(tree.path, name) for name in imported} if not shadowed else set()
        return origins.pop() if len(origins) == 1 else None

    def definition(self, node: cst.CSTNode) -> cst.ClassDef | cst.FunctionDef | None:
        """Return the class or function of another file that `node` refers to, or None."""
        origin = self.origin(node)
        tree = self.trees.get(origin.path) if origin is not None else None
        return tree.top_level.get(origin.name) if tree is not None and origin is not None else None

    def mentioned(self, start: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """Return the top-level classes and functions, of all files, that the code of `start` references."""
        if start not in self._mentioned:
            home = self.home(start)
            uses = [use for use in home.names_in(start) if use.value not in home.top_level]
            others = (self._behind(home, use) for use in uses)
            definitions = dict.fromkeys((*home.mentioned(start), *(one for one in others if one is not None)))
            self._mentioned[start] = tuple(definitions)
        return self._mentioned[start]

    def _behind(self, home: Tree, use: cst.Name) -> cst.CSTNode | None:
        """Return the class or function of another file that a name, or an attribute of it, refers to."""
        node: cst.CSTNode = use
        while True:
            definition = self.definition(node)
            around = home.parent(node)
            if definition is not None or not isinstance(around, cst.Attribute) or around.value is not node:
                return definition
            node = around


class Joined(Tree):
    """The files of `parts` as one tree; with `focus`, the file that is judged, only its calls and names are listed.

    A rule that is asked about one file sees its own calls, and follows values into the others. Without `focus` there is
    no `path`, `text` and `module`, which belong to one file: `module_of(node)` and the like have those of a node.
    """

    def __init__(self, parts: Parts, focus: Tree | None = None) -> None:
        """Combine the files, without parsing them again."""
        self.parts = parts
        self.answers, self.parents, self.spans = {}, parts.parents, parts.spans
        self.link = focus.link if focus is not None else None
        self._trees = trees = [focus] if focus is not None else list(parts.trees.values())
        if focus is not None:
            self.path, self.text, self.module = focus.path, focus.text, focus.module
        self.calls = [call for tree in trees for call in tree.calls]
        self.classes = [node for tree in trees for node in tree.classes]
        self.imports = [node for tree in trees for node in tree.imports]
        self.strings = [node for tree in trees for node in tree.strings]
        self.names = _merged([tree.names for tree in trees])
        self.attributes = _merged([tree.attributes for tree in trees])

    def nodes(self) -> Iterable[cst.CSTNode]:
        return [node for tree in self._trees for node in tree.nodes()]

    def home(self, node: cst.CSTNode) -> Tree:
        return self.parts.home(node)

    def related(self, first: cst.CSTNode, second: cst.CSTNode) -> bool:
        return self.parts.related(self.home(first).path, self.home(second).path)

    def stands_before(self, first: cst.CSTNode, second: cst.CSTNode) -> bool:
        mine, others = self.home(first), self.home(second)
        if mine is others:
            return super().stands_before(first, second)
        return mine.path in self.parts.project.closure(others.path)

    def is_inside(self, node: cst.CSTNode) -> bool:
        origin = self.parts.origin(node)
        return origin is not None and bool(origin.path) and self.parts.is_covered(origin.path)

    def mentioned(self, start: cst.CSTNode) -> Sequence[cst.CSTNode]:
        return self.parts.mentioned(start)


def _merged(indexes: Sequence[dict[str, list[N]]]) -> dict[str, list[N]]:
    merged: dict[str, list[N]] = defaultdict(list)
    for index in indexes:
        for name, nodes in index.items():
            merged[name] += nodes
    return merged
