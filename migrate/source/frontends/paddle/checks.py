"""Refusals that need no interpretation: names that would collide, returns that would skip the constructor's end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from migrate.source.frontends.paddle import modules
from migrate.source.frontends.paddle.api import LAYER, known
from migrate.source.frontends.paddle.interpreter import Frame
from migrate.source.frontends.paddle.module import RESERVED
from migrate.source.frontends.paddle.program import Program
from migrate.source.frontends.paddle.values import named_layers


def defines_model(text: str) -> bool:
    """Return whether a file has a class that derives from `nn.Layer`; raises SyntaxError."""
    tree = ast.parse(text)
    names = modules.imported_names(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return any(modules.dotted_name(base, names) == LAYER for node in classes for base in node.bases)


def add_problem(program: Program, node: ast.AST, message: str) -> None:
    """Record a problem at a node of the model's file."""
    program.run.frames.append(Frame(program.module, _scope(program, node)))
    program.run.problem(node, message)
    program.run.frames.pop()


def _scope(program: Program, node: ast.AST) -> str:
    for name, start, stop in scopes(program.module.tree):
        if start <= getattr(node, "lineno", 0) <= stop:
            return name
    return ""


def scopes(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Yield (qualified name, first line, last line) of methods, functions and classes, innermost first."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    yield f"{node.name}.{item.name}", item.lineno, item.end_lineno or item.lineno
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, node.lineno, node.end_lineno or node.lineno


def check_names(program: Program) -> None:
    """Refuse names that collide with the emitted ones, framework names that are unknown, and other modules' names."""
    tree, names = program.module.tree, modules.imported_names(program.module.tree)
    for node in ast.walk(tree):
        bound = _bound_name(node)
        if bound in RESERVED or bound in names:
            add_problem(program, node, f"the name `{bound}` means something else in the converted file, rename it")
    _check_references(program, tree, names)
    _check_constructor(program)
    _check_registered(program)


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def _check_references(program: Program, tree: ast.Module, names: dict[str, str]) -> None:
    """Every framework name must be in the table, also in code that never runs; other modules stay behind."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute | ast.Name) or id(node) in inside:
            continue
        dotted = modules.dotted_name(node, names)
        if dotted is None:
            continue
        inside |= {id(child) for child in ast.walk(node)}
        root = dotted.partition(".")[0]
        if root == "paddle" and not known(dotted):
            add_problem(program, node, f"`{dotted}` is not in the table of what can be carried over")
        elif root != "paddle" and root not in modules.STANDARD:
            add_problem(
                program, node, f"`{dotted}` comes from another module, which the converted file does not import"
            )


def _check_constructor(program: Program) -> None:
    assert program.model.cls is not None
    own = [
        node for node in program.model.cls.node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]
    if not own:
        add_problem(program, program.model.cls.node, f"{program.name} needs a constructor of its own")
    for function in own:
        for node in ast.walk(function):
            if isinstance(node, ast.Return):
                add_problem(program, node, "a `return` in the model's constructor could skip what is added at its end")


def _check_registered(program: Program) -> None:
    """A layer that is called but not registered never trains in Paddle: refuse rather than train it."""
    registered = {id(layer) for _, layer in named_layers(program.model)}
    for layer in program.run.linears:
        if layer.used and id(layer) not in registered:
            node = ast.Constant(0, lineno=layer.span[0], col_offset=0, end_lineno=layer.span[2], end_col_offset=0)
            message = "this layer is used but not registered, so Paddle never trains it; use add_sublayer or LayerList"
            add_problem(program, node, message)
