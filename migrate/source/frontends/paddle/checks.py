"""Refusals that need no interpretation: names that would collide, returns that would skip the constructor's end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from migrate.source.frontends.paddle import modules
from migrate.source.frontends.paddle.api import LAYER, known
from migrate.source.frontends.paddle.interpreter import Frame, Interpreter
from migrate.source.frontends.paddle.module import RESERVED
from migrate.source.frontends.paddle.program import Program
from migrate.source.frontends.paddle.values import Module, named_layers


def defines_model(text: str) -> bool:
    """Return whether a file has a class that derives from `nn.Layer`; raises SyntaxError."""
    tree = ast.parse(text)
    names = modules.imported_names(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return any(modules.dotted_name(base, names) == LAYER for node in classes for base in node.bases)


def add_problem(run: Interpreter, module: Module, node: ast.AST, message: str) -> None:
    """Record a problem at a node of a file."""
    run.frames.append(Frame(module, _scope(module, node)))
    run.problem(node, message)
    run.frames.pop()


def _scope(module: Module, node: ast.AST) -> str:
    for name, start, stop in scopes(module.tree):
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
    """Refuse names that collide with the emitted ones, and layers that would not end up where the source has them."""
    names = modules.imported_names(program.module.tree)
    for node in ast.walk(program.module.tree):
        bound = _bound_name(node)
        if bound in RESERVED or bound in names:
            message = f"the name `{bound}` means something else after conversion, rename it"
            add_problem(program.run, program.module, node, message)
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            add_problem(program.run, program.module, node, f"the decorators of `{node.name}` are not understood")
    _check_constructor(program)
    _check_registered(program)


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def check_references(run: Interpreter, module: Module) -> None:
    """Every framework name must be in the table, also in code that never runs; other modules stay behind."""
    names = modules.imported_names(module.tree)
    reported = {span[:2] for path, span in run.problems if path == module.path}
    inside: set[int] = set()
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Attribute | ast.Name) or isinstance(node.ctx, ast.Store) or id(node) in inside:
            continue
        dotted = modules.dotted_name(node, names)
        if dotted is None:
            continue
        inside |= {id(child) for child in ast.walk(node)}
        if module.span(node)[:2] in reported:
            continue
        root = dotted.partition(".")[0]
        if root == "paddle" and not known(dotted):
            add_problem(run, module, node, f"`{dotted}` is not in the table of what can be carried over")
        elif root != "paddle" and root not in modules.STANDARD:
            message = f"`{dotted}` comes from another module, which the converted file does not import"
            add_problem(run, module, node, message)


def _check_constructor(program: Program) -> None:
    assert program.model.cls is not None
    own = [
        node for node in program.model.cls.node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]
    if not own:
        add_problem(
            program.run, program.module, program.model.cls.node, f"{program.name} needs a constructor of its own"
        )
    for function in own:
        for node in ast.walk(function):
            if isinstance(node, ast.Return):
                add_problem(
                    program.run,
                    program.module,
                    node,
                    "a `return` in the model's constructor could skip what is added at its end",
                )


def _check_registered(program: Program) -> None:
    """A layer that is called but not registered never trains in Paddle: refuse rather than train it."""
    registered = {id(layer) for _, layer in named_layers(program.model)}
    for layer in program.run.linears:
        if layer.used and id(layer) not in registered:
            node = ast.Constant(0, lineno=layer.span[0], col_offset=0, end_lineno=layer.span[2], end_col_offset=0)
            message = "this layer is used but not registered, so Paddle never trains it; use add_sublayer or LayerList"
            add_problem(program.run, program.module, node, message)
