"""What arrives where in a program: what really does when it runs, and what the value flow says."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from migrate.source.flow import Member, Result, Symbol, Unknown, ValueFlow
from migrate.source.project.combined_tree import Parts
from migrate.source.project.file_imports import FileLink
from migrate.source.project.import_graph import Project
from migrate.source.syntax.tree import Tree
from tests.support.source.projects import importable
from tests.support.source.splitting import Files
from tests.support.source.ways import blocks

HEAD = (
    "from maker import make, see\n"
    "import collections, contextlib, dataclasses, functools, itertools, operator, types\n"
    "flag = True"
)

#: Programs that try to get a value past the analysis: `make` makes one, `see` looks at what arrives.
HOSTILE = blocks("hostile.txt")
#: Names of `see`, which a file may import by another one.
SEES = {"see", "see_1"}


@dataclass(eq=False)
class Made:
    """What `make` makes, with the calls of `see` that it reached."""

    name: str
    seen: list[int] = field(default_factory=list)


def seen(text: str) -> dict[int, set[str]]:
    """Run a program; return the names of what each `see` got."""
    with watched() as found:
        _run(text)
    return found


def seen_of_files(root: Path, entry: str) -> dict[int, set[str]]:
    """Run a program of the files below `root`; return the names of what each `see` got."""
    with importable(root), watched() as found:
        _run((root / entry).read_text())
    return found


def _run(text: str) -> None:
    program = types.ModuleType("program")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "program", program)
        exec(compile(text, "program.py", "exec"), vars(program))


@contextmanager
def watched() -> Iterator[dict[int, set[str]]]:
    """Let programs import `maker`; yield what their calls of `see` get, which grows while they run."""
    found: dict[int, set[str]] = {}

    def make(name: str) -> Made:
        return Made(name)

    def see(place: int, value: Any) -> None:
        if isinstance(value, Made):
            found.setdefault(place, set()).add(value.name)

    maker = types.ModuleType("maker")
    vars(maker).update(make=make, see=see)
    known = dict(vars(builtins))  # a program that ends early leaves its own there
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "maker", maker)
        try:
            yield found
        finally:
            vars(builtins).update(known)


def told(text: str) -> dict[int, set[str] | None]:
    """Return what the analysis says that each `see` may get; None for anything."""
    tree = Tree("program.py", text)
    return _told(ValueFlow([tree], non_mutating=("maker",)), [tree])


def told_of_files(root: Path, files: Files) -> dict[int, set[str] | None]:
    """Return what the analysis of a program of several files says that each `see` may get; None for anything."""
    project = Project({name: root / name for name in files})
    trees = [Tree(name, text, FileLink(project, name)) for name, text in files.items()]
    parts = Parts(project, trees, lambda _first, _second: True)
    return _told(ValueFlow(trees, parts.outside, non_mutating=("maker",)), trees)


def _told(flow: ValueFlow, trees: Sequence[Tree]) -> dict[int, set[str] | None]:
    found: dict[int, set[str] | None] = {}
    calls = [call for tree in trees for call in tree.calls]
    for call in calls:
        if isinstance(call.func, cst.Name | cst.Attribute) and _last_name(call.func) in SEES:
            place = int(call.args[0].value.value)  # type: ignore[attr-defined]
            values = flow.values(call.args[1].value)
            made = {value.node.args[0].value.raw_value for value in values if _is_made(value)}  # type: ignore[union-attr]
            known = values and not any(_is_opaque(one) for one in values)
            found[place] = made if known else None
    return found


def _last_name(func: cst.Name | cst.Attribute) -> str:
    return func.value if isinstance(func, cst.Name) else func.attr.value


def _is_made(value: object) -> bool:
    if not isinstance(value, Result) or not isinstance(value.node, cst.Call):
        return False
    return isinstance(value.callee, Symbol) and value.callee.name == "maker.make"


def _is_opaque(value: object) -> bool:
    return isinstance(value, Unknown | Member) or (isinstance(value, Result) and not _is_made(value))
