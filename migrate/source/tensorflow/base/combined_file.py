"""Presents several TensorFlow files of one program to the rules as a single file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.project.combined_tree import Joined, Parts
from migrate.source.tensorflow.base.initializers import Initializers
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import TfNames


class JoinedNames(TfNames):
    """Resolves symbols across files: each node is resolved in the file that contains it."""

    def __init__(self, tree: Joined, names: Mapping[str, TfNames], focus: str = "") -> None:
        """Take the names of each file by path; with `focus`, `calls` and spellings are those of that file."""
        self.tree = tree
        self._names = dict(names)
        listed = [names[focus]] if focus else list(names.values())
        self.calls = [found for one in listed for found in one.calls]
        self._aliases = {name for one in listed for name in one._aliases}
        self.v1_prefix = listed[0].v1_prefix if focus else ""

    def of(self, node: cst.CSTNode) -> str | None:
        """Return the canonical name of a symbol, resolved in the file that contains `node`."""
        return self._home(node).of(node)

    def is_module(self, node: cst.CSTNode) -> bool:
        """True if `node` denotes a module of TensorFlow in the file that contains it."""
        return self._home(node).is_module(node)

    def _home(self, node: cst.CSTNode) -> TfNames:
        home = self.tree.home(node)
        if home.path not in self._names:
            self._names[home.path] = TfNames(home)
        return self._names[home.path]


@dataclass(frozen=True)
class JoinedFile(File):
    """Several files analysed together, or one of them that can refer to the others."""

    members: dict[str, File] = field(default_factory=dict)  #: by path: each file, with the others reachable from it

    @property
    def files(self) -> Sequence[File]:
        """The files of the program."""
        return tuple(self.members.values())

    def program(self, node: cst.CSTNode) -> Sequence[File]:
        """Return the files that may belong to one program with the file that contains `node`."""
        tree = self.tree
        assert isinstance(tree, Joined)
        home = tree.parts.home(node).path
        return [self.members[path] for path in tree.parts.beside(home) if path in self.members]

    def part(self, node: cst.CSTNode) -> File:
        """Return the member that contains `node`."""
        return self.members[self.tree.home(node).path]


def join(parts: Parts, files: Mapping[str, File]) -> JoinedFile:
    """Combine files. Their trees are not modified; each file is also a member with its own calls."""
    names = {path: file.names for path, file in files.items()}
    members: dict[str, File] = {}
    for path, file in files.items():
        members[path] = _joined(file, Joined(parts, file.tree), names, path, members)
    first = next(iter(files.values()))
    return _joined(first, Joined(parts), names, "", members)


def _joined(file: File, tree: Joined, names: Mapping[str, TfNames], focus: str, members: dict[str, File]) -> JoinedFile:
    joined = JoinedNames(tree, names, focus)
    fields = {name: getattr(file, name) for name in file.__dataclass_fields__}
    fields |= {"tree": tree, "names": joined, "initializers": Initializers(joined)}
    return JoinedFile(**fields, members=members)
