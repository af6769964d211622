"""Checks that need no interpretation, e.g. for name collisions and `return` in the model's constructor."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator

from migrate.source.paddle.edits.module import RESERVED, scope_name
from migrate.source.paddle.facts import modules
from migrate.source.paddle.facts.program import Program
from migrate.source.paddle.interpreter.interpreter import Interpreter
from migrate.source.paddle.interpreter.layers import NAME, NAME_RULE, RESERVED_ATTRIBUTES
from migrate.source.paddle.interpreter.run import Frame
from migrate.source.paddle.mapping.api_table import LAYER, PLAIN, known
from migrate.source.paddle.mapping.values import Module, named_layers

_PLAIN_DUNDERS = frozenset({"__init__", "__doc__", "__repr__", "__str__", "__all__"})


def defines_model(text: str) -> bool:
    """Return whether a file defines a class that derives from `nn.Layer`; raises SyntaxError."""
    tree = ast.parse(text)
    names = modules.imported_names(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return any(modules.dotted_name(base, names) == LAYER for node in classes for base in node.bases)


def foreign_base(text: str) -> ast.ClassDef | None:
    """Return the first class whose base comes from another file and may be a layer; None if Paddle is not imported."""
    tree = ast.parse(text)
    names = modules.imported_names(tree)
    if not any(node.partition(".")[0] == "paddle" for node in _imports(tree)):
        return None
    known = {"paddle", *dir(builtins), *sys.stdlib_module_names}
    known |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            dotted = [modules.dotted_name(base, names) or ast.unparse(base) for base in node.bases]
            if any(name.partition(".")[0] not in known for name in dotted):
                return node
    return None


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


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
    """Record problems for names that collide with converted code, and for layers that Paddle does not register."""
    names = modules.imported_names(program.module.tree)
    for node in ast.walk(program.module.tree):
        bound = _bound_name(node)
        if bound in RESERVED or bound in names:
            message = f"the name `{bound}` is used by the converted code; rename it"
            add_problem(program.run, program.module, node, message)
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            add_problem(program.run, program.module, node, f"the decorators of `{node.name}` are not supported")
        if isinstance(node, ast.ClassDef):
            _check_members(program, node)
    _check_constructor(program)
    _check_registered(program)


def _check_members(program: Program, node: ast.ClassDef) -> None:
    """Record problems for class members that would replace those of the emitted layers, or change how calls work."""
    for item in node.body:
        targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        names += [item.name] if isinstance(item, ast.FunctionDef) else []
        for name in names:
            if name in RESERVED_ATTRIBUTES or name == "add_sublayer":
                add_problem(
                    program.run, program.module, item, f"the name `{name}` is used by the converted layers; rename it"
                )
            elif name.startswith("__") and name.endswith("__") and name not in _PLAIN_DUNDERS:
                add_problem(
                    program.run, program.module, item, f"the special method `{name}` is not supported; remove it"
                )


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def check_references(run: Interpreter, module: Module) -> None:
    """Record problems for unsupported framework names, also in code that never runs, and for names of other modules."""
    names = modules.imported_names(module.tree)
    reported = {span[:2] for path, span in run.problems if path == module.path}
    inside: set[int] = set()
    called: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            called.add(id(node.func))
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
            add_problem(run, module, node, f"`{dotted}` is not supported")
        elif root == "paddle" and id(node) not in called and dotted not in PLAIN:
            message = f"`{dotted}` is used as a value, but only calls of it can be converted; call it directly"
            add_problem(run, module, node, message)
        elif root != "paddle" and root not in modules.STANDARD:
            message = f"`{dotted}` comes from another module, which is not converted; define it in this file"
            add_problem(run, module, node, message)


def _check_constructor(program: Program) -> None:
    assert program.model.cls is not None
    if not NAME.fullmatch(scope_name(program.name)):
        message = f"the class name `{program.name}` cannot be used for variable names; {NAME_RULE}"
        add_problem(program.run, program.module, program.model.cls.node, message)
    own = [
        node for node in program.model.cls.node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]
    if not own:
        add_problem(program.run, program.module, program.model.cls.node, f"{program.name} has no constructor; add one")
    for function in own:
        if not function.args.args or function.args.args[0].arg != "self":
            message = "the first parameter of the model's constructor must be called `self`"
            add_problem(program.run, program.module, function, message)
        if function.body[0].lineno == function.lineno:
            message = "the body of the constructor must not be on the line of `def`; put it on lines of its own"
            add_problem(program.run, program.module, function, message)
        for node in ast.walk(function):
            if isinstance(node, ast.Return):
                add_problem(
                    program.run,
                    program.module,
                    node,
                    "a `return` in the model's constructor would skip code added by the conversion; remove it",
                )


def _check_registered(program: Program) -> None:
    """Record a problem for each layer that is called but not registered, as Paddle does not train it."""
    registered = {id(layer) for _, layer in named_layers(program.model)}
    for layer in program.run.linears:
        if layer.used and id(layer) not in registered:
            node = ast.Constant(0, lineno=layer.span[0], col_offset=0, end_lineno=layer.span[2], end_col_offset=0)
            message = (
                "this layer is used but not registered, so Paddle does not train it; use add_sublayer or LayerList"
            )
            add_problem(program.run, program.module, node, message)
