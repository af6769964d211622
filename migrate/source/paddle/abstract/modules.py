"""Parses files and executes their top level: imports, constants, functions and classes."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence

from migrate.source.paddle.abstract.run import Frame, Run
from migrate.source.paddle.abstract.values import Api, Module, Refuse, Stop, Value
from migrate.source.paddle.model_files import absolute, module_of
from migrate.source.paddle.ops import registry

_HIDE_PADDLE = ("paddle/__init__.py", "paddle.py")
_INSTALLED = sys.stdlib_module_names | {"paddle", "numpy", "scipy", "pandas", "yaml"}


def load(run: Run, path: str, text: str) -> Module:
    """Parse a file and execute its top level; raises SyntaxError."""
    module = Module(path, text, ast.parse(text, path))
    compile(module.tree, path, "exec", dont_inherit=True)  # finds a `break` outside of a loop, and its like
    run.modules[module_of(path)] = module
    run.frames.append(Frame(module, "", module.names))
    try:
        for node in module.tree.body:
            with contextlib.suppress(Stop):
                if not _skipped(node):
                    run.run([node])
    finally:
        run.frames.pop()
    return module


def _skipped(node: ast.stmt) -> bool:
    """Whether a statement of the top level is only for running the file as a program."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def imported(run: Run, node: ast.Import | ast.ImportFrom) -> dict[str, Value]:
    """Return the names that an import statement binds."""
    names: dict[str, Value] = {}
    if isinstance(node, ast.Import):
        for item in node.names:
            whole = _module(run, item.name)
            names[item.asname or item.name.partition(".")[0]] = (
                whole if item.asname else _module(run, item.name.partition(".")[0])
            )
        return names
    source = absolute(node.module, node.level, run.frame.module.path)
    for item in node.names:
        if item.name == "*":
            whole = _module(run, source)
            if not isinstance(whole, Module):
                raise Refuse(f"`from {node.module} import *` does not tell which names it binds")
            names |= {name: value for name, value in whole.names.items() if not name.startswith("_")}
        else:
            names[item.asname or item.name] = _module(run, f"{source}.{item.name}" if source else item.name)
    return names


def _module(run: Run, dotted: str) -> Value:
    """Return a file of the program, a package, a name in one, or the name of another module's part."""
    first, *parts = dotted.split(".")
    hidden = next((name for name in _HIDE_PADDLE if first == "paddle" and name in run.files), None)
    if hidden is not None:
        raise Refuse(f"`{hidden}` of this folder hides Paddle, which this line imports; rename it")
    resolved: Value = _file(run, first)
    if resolved is None:
        return Api(registry.canonical(dotted))
    for part in parts:
        if part in resolved.names:
            resolved = resolved.names[part]
            continue
        inner = _file(run, f"{module_of(resolved.path)}.{part}")
        if inner is None:
            raise Refuse(f"`{part}` is not defined in {resolved.path}")
        resolved.names[part] = resolved = inner
    return resolved


def _file(run: Run, dotted: str) -> Module | None:
    """Return the module of a file or package, which is executed when it is imported first."""
    if dotted in run.modules:
        return run.modules[dotted]
    path = dotted.replace(".", "/")
    for name in (f"{path}/__init__.py", f"{path}.py"):
        if name in run.files:
            return load(run, name, run.files[name])
    # A folder without `__init__.py` is a package only where nothing that is installed has its name.
    if dotted not in _INSTALLED and any(name.startswith(f"{path}/") for name in run.files):
        return load(run, f"{path}/__init__.py", "")
    return None


def imported_files(path: str, files: Mapping[str, str]) -> set[str]:
    """Return which of the program's files one of them imports, with the packages that these are in."""
    needed: set[str] = set()
    for node in ast.walk(ast.parse(files[path])):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = absolute(node.module, node.level, path)
            names = [f"{source}.{item.name}" if source else item.name for item in node.names]
        for name in names:
            parts = name.split(".")
            places = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
            needed |= {file for place in places for file in (f"{place}.py", f"{place}/__init__.py") if file in files}
    return needed - {path}


def imports_of(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Return all imports of a file, those in functions too."""
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imported_modules(tree: ast.Module) -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """Yield the modules that a file imports by their whole names, each with its statement."""
    for node in imports_of(tree):
        if isinstance(node, ast.Import):
            yield from ((item.name, node) for item in node.names)
        elif node.module and not node.level:
            yield node.module, node


def dotted_name(node: ast.AST, imports: Mapping[str, str]) -> str:
    """Return the dotted name of an expression that begins with an imported name, or an empty text."""
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value, imports)
        return f"{owner}.{node.attr}" if owner else ""
    return imports.get(node.id, "") if isinstance(node, ast.Name) else ""


def imported_names(body: Sequence[ast.stmt]) -> Mapping[str, str]:
    """Return local name -> dotted name for the imports in a list of statements."""
    names: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.Import):
            for item in node.names:
                names[item.asname or item.name.partition(".")[0]] = (
                    item.name if item.asname else item.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                names[item.asname or item.name] = f"{node.module}.{item.name}" if node.module else item.name
    return {name: dotted for name, dotted in names.items() if name != "*"}
