"""Parses a file and evaluates its top-level names."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping

from migrate.source.paddle.interpreter.interpreter import Interpreter
from migrate.source.paddle.interpreter.run import Frame
from migrate.source.paddle.mapping.api_table import LAYER, canonical
from migrate.source.paddle.mapping.values import Api, Class, Function, Module, Stop, Value

#: Modules that the interpreter knows and that converted files may import.
STANDARD = frozenset({"math", "__future__", "typing"})


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return local name -> dotted name for every import at the top of a file."""
    names: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for item in node.names:
                names[item.asname or item.name.partition(".")[0]] = (
                    item.name if item.asname else item.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for item in node.names:
                names[item.asname or item.name] = f"{node.module}.{item.name}"
    return names


def dotted_name(node: ast.expr, names: Mapping[str, str]) -> str | None:
    """Return the dotted framework name of a Name or Attribute chain, or None."""
    if isinstance(node, ast.Name):
        return canonical(names[node.id]) if node.id in names else None
    if isinstance(node, ast.Attribute):
        parent = dotted_name(node.value, names)
        return canonical(f"{parent}.{node.attr}") if parent else None
    return None


def load(run: Interpreter, path: str, text: str) -> Module:
    """Parse a file and define its imports, classes, functions and constants; raises SyntaxError."""
    module = Module(path, text, ast.parse(text))
    run.frames.append(Frame(module, "", module.names))
    for name, dotted in imported_names(module.tree).items():
        module.names[name] = run.modules.get(dotted, Api(canonical(dotted)))
    for node in module.tree.body:
        with contextlib.suppress(Stop):
            _define(run, module, node)
    run.frames.pop()
    return module


def _define(run: Interpreter, module: Module, node: ast.stmt) -> None:
    if isinstance(node, ast.ClassDef):
        module.names[node.name] = _class(run, module, node)
    elif isinstance(node, ast.FunctionDef):
        module.names[node.name] = Function(node, module)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        run.run([node])
    elif not isinstance(node, ast.Import | ast.ImportFrom) and not _is_text(node):
        run.problem(node, "only imports, constants, functions and classes are supported at the top of a model file")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _class(run: Interpreter, module: Module, node: ast.ClassDef) -> Class:
    base: Value = None
    if len(node.bases) == 1 and not node.keywords and not node.decorator_list:
        base = run.evaluate(node.bases[0])
    elif node.bases or node.keywords or node.decorator_list:
        run.problem(node, "a class with several bases, keywords or decorators is not supported")
    inherited = base if isinstance(base, Class) else None
    is_layer = (isinstance(base, Api) and base.name == LAYER) or (inherited is not None and inherited.is_layer)
    return Class(node.name, node, module, inherited, is_layer, _constants(run, module, node))


def _constants(run: Interpreter, module: Module, node: ast.ClassDef) -> dict[str, Value]:
    """Return the assignments of a class body, without functions, which would become methods."""
    names: dict[str, Value] = {}
    run.frames.append(Frame(module, node.name, names))
    try:
        run.run([item for item in node.body if isinstance(item, ast.Assign | ast.AnnAssign)])
    finally:
        run.frames.pop()
    return {name: value for name, value in names.items() if not isinstance(value, Api | Function | Class)}
