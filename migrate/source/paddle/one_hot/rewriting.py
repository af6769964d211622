"""Rewrites the model's file and the trainer's loss, as the files of a folder are rewritten."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst.metadata import MetadataWrapper

from migrate.source.paddle.abstract.modules import imported_names, imports_of
from migrate.source.paddle.abstract.python_calls import BUILTINS
from migrate.source.paddle.abstract.run import Site
from migrate.source.paddle.abstract.values import Module, Refuse, Span
from migrate.source.paddle.emission import templates
from migrate.source.paddle.emission.files import facts_of
from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.emission.rewriter import Facts, Rewriter
from migrate.source.paddle.layers.basic import LINEAR
from migrate.source.paddle.one_hot import module
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.standalone import OwnNames


@dataclass
class Rewritten:
    """A file after its rewriting."""

    tree: cst.Module
    names: Names
    refused: dict[Span, str]
    notes: dict[Span, str]
    after: dict[Span, str]  #: call of `nn.Linear` -> its new text


def rewritten(program: Program, module: Module, names: Names) -> Rewritten:
    """Rewrite one file of a model."""
    facts = replace(facts_of(program, module), names=names)
    rewriter = _Rewriter(facts)
    tree = MetadataWrapper(cst.parse_module(module.text), unsafe_skip_copy=True).visit(rewriter)
    return Rewritten(tree, names, facts.refused, facts.notes, rewriter.after)


class _Rewriter(Rewriter):
    """Rewrites as for a folder, and remembers what became of layers; what a target cannot spell is refused."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.after: dict[Span, str] = {}

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        call = super().leave_Call(original_node, updated_node)
        if self._dotted(original_node.func) == LINEAR.name:
            self.after[self._span(original_node)] = cst.Module([]).code_for_node(call)
        if isinstance(self.names, OwnNames) and isinstance(call, cst.Call):
            keywords = [arg.keyword.value for arg in call.args if arg.keyword is not None]
            positional = sum(arg.keyword is None and not arg.star for arg in call.args)
            name = templates.text(call.func)
            if lacking := self.names.lacks(name, positional, keywords):
                message = f"`{lacking}` of `{name}` cannot be written in plain TensorFlow, which this target needs"
                self.facts.refused[self._span(original_node)] = message
        return call

    def _written(self, span: Span, site: Site, call: cst.Call | None, args: Sequence[cst.Arg]) -> cst.BaseExpression:
        try:
            return super()._written(span, site, call, args)
        except Refuse as reason:
            self.facts.refused[span] = str(reason)
            return call if call is not None else args[0].value

    def _spelled(self, dotted: str | None, updated: cst.BaseExpression) -> cst.BaseExpression:
        try:
            return super()._spelled(dotted, updated)
        except Refuse:  # a name that stays is refused; a function that is called is written at its call
            return updated


def loss_text(program: Program, names: Names) -> tuple[str, Rewritten]:
    """Return the text of `create_loss`, and the rewritten trainer that it is from."""
    _check_free_names(program, names)
    rewrite = rewritten(program, program.loss.module, names)
    node = program.loss.node
    assert isinstance(node, ast.FunctionDef)
    function = _find(rewrite.tree, program.loss.owner.name if program.loss.owner else "", node.name)
    parameters = function.params.with_changes(params=function.params.params[1:])
    lines = [line for line in function.leading_lines if line.comment is not None]
    plain = function.with_changes(params=parameters, leading_lines=lines)
    first, last = node.lineno, node.end_lineno or node.lineno
    rewrite.refused = {span: told for span, told in rewrite.refused.items() if first <= span[0] <= last}
    return cst.Module([plain], default_indent=rewrite.tree.default_indent).code, rewrite


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
            message = f"the loss uses `{item.id}` of {file.path}; define it in create_loss"
            program.run.problem_in(file, item, message)
        bound = item.arg if isinstance(item, ast.arg) else item.id if isinstance(item, ast.Name) else ""
        if bound in local & (module.reserved(spelled) | names.keys()):
            program.run.problem_in(file, item, f"the name `{bound}` is used by the converted code; rename it")
