"""Parses files and executes their top level: imports, constants, functions and classes."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping

from migrate.source.paddle.abstract.run import Frame, Run
from migrate.source.paddle.abstract.values import Api, Module, Refuse, Stop, Value
from migrate.source.paddle.ops import registry


def load(run: Run, path: str, text: str) -> Module:
    """Parse a file and execute its top level; raises SyntaxError."""
    module = Module(path, text, ast.parse(text, path))
    compile(module.tree, path, "exec", dont_inherit=True)  # finds a `break` outside of a loop, and its like
    run.modules[path.removesuffix(".py").replace("/", ".")] = module
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
    for name, dotted in imported_names([node]).items():
        names[name] = _module(run, dotted)
    if isinstance(node, ast.ImportFrom) and any(item.name == "*" for item in node.names):
        source = _module(run, node.module or "")
        if not isinstance(source, Module):
            raise Refuse(f"`from {node.module} import *` does not tell which names it binds")
        names = {name: value for name, value in source.names.items() if not name.startswith("_")}
    return names


def _module(run: Run, dotted: str) -> Value:
    """Return a file of the program, a name in one, or the name of another module's part."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        found = _file(run, ".".join(parts[:length]))
        if found is not None:
            value: Value = found
            for part in parts[length:]:
                if part not in value.names:
                    raise Refuse(f"`{part}` is not defined in {value.path}")
                value = value.names[part]
            return value
    return Api(registry.canonical(dotted))


def _file(run: Run, dotted: str) -> Module | None:
    if dotted in run.modules:
        return run.modules[dotted]
    text = run.files.get(dotted.replace(".", "/") + ".py")
    return None if text is None else load(run, dotted.replace(".", "/") + ".py", text)


def imported_names(body: list[ast.stmt] | list[ast.Import | ast.ImportFrom]) -> Mapping[str, str]:
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
