"""Finds dynamic imports, e.g. `importlib.import_module("models." + name)`, and files that are run by their paths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from migrate.source.syntax.blocks import parsed

FUNCTIONS = ("import_module", "__import__", "run_module")
#: Functions that run a file, given by its path.
LOADERS = ("run_path", "spec_from_file_location", "SourceFileLoader", "load_source", "execfile")
#: The function that runs a text: that of a file whose path stands beside it, as in `exec(open("model.py").read())`.
RUNS = re.compile(r"\bexec\b")


@dataclass(frozen=True)
class Dynamic:
    """The module of a dynamic import, or the prefix of the modules that it may import."""

    start: str  #: the name, or its known prefix, without leading dots
    level: int  #: number of leading dots
    whole: bool  #: True if `start` is the complete name
    file: bool = False  #: True if `start` is the path of a file

    @property
    def open(self) -> bool:
        """True if any module may be imported."""
        return not (self.start or self.level or self.whole)


def dynamic_imports(text: str) -> Iterator[Dynamic]:
    """Yield the dynamic imports of `text`; nothing if it is not valid Python."""
    if not any(name in text for name in (*FUNCTIONS, *LOADERS)) and not RUNS.search(text):
        return
    tree, mentioned = parsed(text), set[str]()
    named = names_of_imports(tree)
    for node in ast.walk(tree):
        mentioned |= {_name(node)} if isinstance(node, (ast.Name, ast.Attribute)) else set()
        if isinstance(node, ast.Call) and (dynamic := dynamic_import(node, named)) is not None:
            yield dynamic
    loads = not mentioned.isdisjoint(LOADERS)
    if loads or "exec" in mentioned:
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        paths = [text for text in texts if isinstance(text, str) and text.endswith(".py") and "\n" not in text]
        yield from (Dynamic(path, 0, whole=True, file=True) for path in paths)
        if loads and not paths:
            yield Dynamic("", 0, whole=False)


def names_of_imports(tree: ast.AST) -> frozenset[str]:
    """Return the names of the functions that import modules by their names."""
    return frozenset([*FUNCTIONS, *_aliases(tree)])


def dynamic_import(call: ast.Call, named: frozenset[str]) -> Dynamic | None:
    """Return what a call of one of the functions `named` imports; None for other calls."""
    argument = _argument(call) if _name(call.func) in named else None
    start, whole = _beginning(argument) if argument is not None else ("/", False)
    name, package = start.lstrip("."), _package(call)
    level = len(start) - len(name)
    if level and package:  # relative to that package, not to the file
        outer = package.split(".")
        return Dynamic(".".join([*outer[: len(outer) - level + 1], name]), 0, whole)
    return Dynamic(name, level, whole) if "/" not in start else None


def _aliases(tree: ast.AST) -> Iterator[str]:
    """Yield the names that `from importlib import import_module as load` gives the functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (one.asname for one in node.names if one.name in FUNCTIONS and one.asname is not None)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _argument(call: ast.Call) -> ast.expr | None:
    named = [one.value for one in call.keywords if one.arg == "name"]
    return next(iter([*call.args, *named]), None)


def _package(call: ast.Call) -> str:
    """Return the package that a relative name is meant from, where a text spells it."""
    named = [one.value for one in call.keywords if one.arg == "package"]
    package = next(iter([*call.args[1:], *named]), None)
    return package.value if isinstance(package, ast.Constant) and isinstance(package.value, str) else ""


def _beginning(node: ast.expr) -> tuple[str, bool]:
    """Return the known prefix of a string expression, and whether it is complete."""
    if isinstance(node, ast.Constant):
        return (node.value, True) if isinstance(node.value, str) else ("", False)
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        return (_beginning(first)[0] if first is not None else "", False)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, whole = _beginning(node.left)
        right, rest = _beginning(node.right) if whole else ("", False)
        return left + right, whole and rest
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _beginning(node.left)[0].partition("%")[0], False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "format":
            return _beginning(node.func.value)[0].partition("{")[0], False
        if node.func.attr == "join" and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            parts = node.args[0].elts
            return (_beginning(parts[0])[0] if parts else "", False)
    return "", False
