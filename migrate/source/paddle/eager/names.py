"""The names of Paddle that a file uses, and which of these `runtime.compat.paddle` has.

What the façade has stands in `names.txt`: a module in a line of its own, its names in the indented lines behind it.
`python -m tests.support.paddle.facade_names` writes the file; a test compares it with the façade.
"""

from __future__ import annotations

import ast
import difflib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources

from migrate.source.paddle.abstract.modules import dotted_name, imported_names, imports_of

PADDLE = "paddle"
FILE = "names.txt"
_CLOSE = 0.75  #: how alike two names are, of which one may be meant for the other


@dataclass(frozen=True)
class Use:
    """One place where a file uses a name of Paddle."""

    node: ast.expr | ast.stmt
    dotted: str
    certain: bool = True  #: it runs when the file does: it is in no function, and in no branch


@functools.cache
def facade_names() -> Mapping[str, frozenset[str]]:
    """Return the modules of the façade -> their names."""
    lines = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8").splitlines()
    modules: dict[str, set[str]] = {}
    module = ""
    for line in lines:
        if line.startswith(" "):
            modules[module].update(line.split())
        else:
            module = line
            modules[module] = set()
    return {module: frozenset(names) for module, names in modules.items()}


def missing(tree: ast.Module) -> dict[str, Use]:
    """Return the names of Paddle that a file uses and the façade lacks -> the first place of each, a certain one first.

    What a `try` with handlers reads is left out: the program goes on without it.
    """
    lacked: dict[str, Use] = {}
    tries = (node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers)
    tried = {id(part) for node in tries for statement in node.body for part in ast.walk(statement)}
    for use in sorted(uses(tree), key=lambda use: not use.certain):
        name = _lacked(use.dotted) if id(use.node) not in tried else ""
        if name:
            lacked.setdefault(name, use)
    return lacked


def uses(tree: ast.Module) -> Iterator[Use]:
    """Yield the names of Paddle in a file, in the order of its text: imports, attributes, `getattr` with a word."""
    imports, bound = imported_names(imports_of(tree)), _bound(tree)
    names = {name: dotted for name, dotted in imports.items() if name not in bound}
    inner: set[int] = set()
    places: list[Use] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            places += [Use(node, item.name) for item in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            places += [Use(node, f"{node.module}.{item.name}".removesuffix(".*")) for item in node.names]
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            inner.update(id(part) for part in ast.walk(node.value))
            places.append(Use(node, dotted_name(node, names)))
        elif isinstance(node, ast.Call):
            places.append(Use(node, _read_by_word(node, names)))
    paddle = [use for use in places if use.dotted.partition(".")[0] == PADDLE]
    later = _later(tree) if paddle else set()
    for use in sorted(paddle, key=lambda use: (use.node.lineno, use.node.col_offset)):
        yield replace(use, certain=id(use.node) not in later)


def _later(tree: ast.Module) -> set[int]:
    """Return the nodes in functions and branches, which may never run; those under `__name__` run with the program."""
    later: set[int] = set()
    for node in ast.walk(tree):
        bodies: list[ast.AST] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bodies = list(node.body)
        elif isinstance(node, ast.Lambda):
            bodies = [node.body]
        elif isinstance(node, ast.If) and "__name__" not in ast.unparse(node.test):
            bodies = [*node.body, *node.orelse]
        later.update(id(part) for body in bodies for part in ast.walk(body))
    return later


def close_to(dotted: str) -> tuple[str, ...]:
    """Return names of the façade that may serve in the place of one that it lacks."""
    module, _, name = dotted.rpartition(".")
    elsewhere = [f"{other}.{name}" for other, names in facade_names().items() if name in names]
    if elsewhere:
        return tuple(sorted(elsewhere, key=len)[:1])
    alike = difflib.get_close_matches(name, sorted(facade_names().get(module, ())), 1, _CLOSE)
    return tuple(f"{module}.{other}" for other in alike)


def _lacked(dotted: str) -> str:
    """Return the part of a dotted name that the façade lacks; empty where it has it all."""
    modules = facade_names()
    module = PADDLE
    for part in dotted.split(".")[1:]:
        inner = f"{module}.{part}"
        if inner not in modules:
            return "" if part in modules[module] or part.startswith("__") else inner
        module = inner
    return "" if modules[module] else module  # a module without names can be imported, and that is all


def _bound(tree: ast.Module) -> set[str]:
    """Return the names that are bound by more than imports, so that they may be something else."""
    return {
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    }


def _read_by_word(node: ast.Call, names: Mapping[str, str]) -> str:
    """Return the name that `getattr(paddle, "name")` reads; with a third argument it may be missing."""
    if not isinstance(node.func, ast.Name) or node.func.id != "getattr" or len(node.args) != 2:
        return ""
    owner, word = dotted_name(node.args[0], names), node.args[1]
    name = word.value if isinstance(word, ast.Constant) else None
    return f"{owner}.{name}" if owner and isinstance(name, str) else ""
