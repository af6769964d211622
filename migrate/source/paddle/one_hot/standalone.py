"""What a module for another SDK carries of `runtime.nn`, as it imports TensorFlow and that SDK alone."""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from migrate.source.paddle.abstract.values import Refuse
from migrate.source.paddle.emission.names import Names

_NN = "nn"


@dataclass
class OwnNames(Names):
    """The spelling of such a module: a class in it has the names of `runtime.nn`, as far as they are known."""

    def nn(self, name: str) -> str:
        """Return the spelling of a name that the class has; raises `Refuse` if it has not."""
        if name not in _members():
            short = name.rpartition(".")[2] or name
            raise Refuse(
                f"`{short}` cannot be written in plain TensorFlow with these arguments, which this target needs"
            )
        return super().nn(name)

    def lacks(self, function: str, positional: int, keywords: list[str]) -> str:
        """Return which argument a function of the class, as it is spelled, does not take; empty where it takes all."""
        node = _members().get(function.removeprefix(f"{self.layers}."))
        if node is None or isinstance(node, ast.Assign) or not function.startswith(f"{self.layers}."):
            return ""
        if isinstance(node, ast.ClassDef):
            layer = _members()["Layer"]
            bodies = [*node.body, *getattr(layer, "body", ())]
            node = next(item for item in bodies if isinstance(item, ast.FunctionDef) and item.name == "__init__")
        assert isinstance(node, ast.FunctionDef)
        names = [item.arg for item in node.args.args if item.arg != "self"]
        if positional > len(names) and node.args.vararg is None:
            return "an argument by position"
        return "" if node.args.kwarg is not None else next((name for name in keywords if name not in names), "")


@functools.cache
def _source() -> tuple[str, ast.ClassDef]:
    text = resources.files("migrate.templates").joinpath("paddle_layers.py").read_text(encoding="utf-8")
    return text, next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))


@functools.cache
def _members() -> Mapping[str, ast.stmt]:
    """Return the layers, initializers and functions of the class by their dotted names in it."""
    return dict(_named(_source()[1], ""))


def _named(owner: ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    for node in owner.body:
        if isinstance(node, ast.Assign):
            targets = [name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)]
            yield from ((prefix + name, node) for name in targets)
        elif isinstance(node, ast.ClassDef) and node.name.islower():
            yield from _named(node, f"{node.name}.")
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield prefix + node.name, node


def definition(used_in: str, layers: str) -> str:
    """Return the class with what a text uses of it, under the name `layers`; empty where it uses nothing."""
    text, owner = _source()
    kept: set[ast.stmt] = set()
    waiting = [re.sub(rf"(?<!\.)\b{layers}\.", f"{_NN}.", used_in)]
    while waiting:
        part = waiting.pop()
        for name, node in _members().items():
            if node not in kept and re.search(rf"((?<!\.)\b{_NN}\.|\(){re.escape(name)}\b", part):
                kept.add(node)
                waiting.append(_segment(text, node))
    return re.sub(rf"(?<!\.)\b{_NN}\b(?=[.:])", layers, _class(text, owner, kept)) if kept else ""


def _segment(text: str, node: ast.stmt) -> str:
    """Return the text of a member with its decorators."""
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
    return textwrap.dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno]))


def _class(text: str, owner: ast.ClassDef, kept: set[ast.stmt]) -> str:
    parts = [f"class {owner.name}:\n    {_segment(text, owner.body[0]).strip()}"]
    for node in owner.body[1:]:
        inner = isinstance(node, ast.ClassDef) and node.name.islower()
        below = _class(text, node, kept) if inner and isinstance(node, ast.ClassDef) else _segment(text, node)
        if node in kept or (isinstance(node, ast.ClassDef) and inner and kept & set(node.body)):
            parts.append(textwrap.indent(below, "    "))
    return "\n\n".join(parts)
