"""Writes the loss of the converted model, which is `create_loss` of its trainer."""

from __future__ import annotations

import ast

import libcst as cst

from migrate.source.paddle.abstract.modules import imported_names, imports_of
from migrate.source.paddle.abstract.python_calls import BUILTINS
from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.one_hot import module
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.rewriting import Rewritten, rewritten


def loss_text(program: Program, names: Names) -> tuple[str, Rewritten]:
    """Return the text of `create_loss`, and the rewritten trainer that it is from."""
    _check_free_names(program, names)
    made = rewritten(program, program.loss.module, names)
    node = program.loss.node
    assert isinstance(node, ast.FunctionDef)
    function = _find(made.tree, program.loss.owner.name if program.loss.owner else "", node.name)
    parameters = function.params.with_changes(params=function.params.params[1:])
    lines = [line for line in function.leading_lines if line.comment is not None]
    plain = function.with_changes(params=parameters, leading_lines=lines)
    first, last = node.lineno, node.end_lineno or node.lineno
    made.refused = {span: told for span, told in made.refused.items() if first <= span[0] <= last}
    return cst.Module([plain], default_indent=made.tree.default_indent).code, made


def _find(file: cst.Module, owner: str, name: str) -> cst.FunctionDef:
    for item in file.body:
        if isinstance(item, cst.ClassDef) and item.name.value == owner:
            for method in item.body.body:
                if isinstance(method, cst.FunctionDef) and method.name.value == name:
                    return method
    raise LookupError(f"{owner}.{name}")


def _check_free_names(program: Program, spelled: Names) -> None:
    """Record problems for names in `create_loss` that are neither its own nor Paddle's, as it becomes a function."""
    node, file = program.loss.node, program.loss.module
    names = imported_names(imports_of(file.tree))
    assert isinstance(node, ast.FunctionDef)
    local = {item.arg for item in node.args.args[1:]} | BUILTINS.keys() | {"isinstance", "getattr", "hasattr", "print"}
    local |= {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    allowed = local | {name for name, dotted in names.items() if dotted.partition(".")[0] == "paddle"}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load) and item.id not in allowed:
            told = f"the loss uses `{item.id}` of {file.path}; define it in create_loss"
            program.run.problem_in(file, item, told)
        bound = item.arg if isinstance(item, ast.arg) else item.id if isinstance(item, ast.Name) else ""
        if bound in local & (module.reserved(spelled) | names.keys()):
            program.run.problem_in(file, item, f"the name `{bound}` is used by the converted code; rename it")
