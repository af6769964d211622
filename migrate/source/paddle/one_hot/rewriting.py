"""Rewrites the model's file and the trainer's loss, as the files of a folder are rewritten."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst.metadata import MetadataWrapper

from migrate.source.paddle.abstract.run import Site
from migrate.source.paddle.abstract.values import Module, Refuse, Span
from migrate.source.paddle.emission.files import facts_of
from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.emission.rewriter import MODULES, Facts, Rewriter
from migrate.source.paddle.layers.linear import LINEAR
from migrate.source.paddle.one_hot import standalone
from migrate.source.paddle.one_hot.names import OwnNames
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.ops import registry
from migrate.source.syntax.node_index import nodes_in


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
    if isinstance(names, OwnNames) and not facts.refused:
        facts.refused.update(_left(module, tree, facts))
    return Rewritten(tree, names, facts.refused, facts.notes, rewriter.after)


def _left(module: Module, tree: cst.Module, facts: Facts) -> dict[Span, str]:
    """Return a refusal for a module of Paddle that is used as a value, such as in `getattr(F, name)`."""
    attributes = {id(node.attr) for node in nodes_in(tree, cst.Attribute)}
    keywords = {id(node.keyword) for node in nodes_in(tree, cst.Arg)}
    for node in nodes_in(tree, cst.Name):
        of_paddle = facts.imports.get(node.value, "").partition(".")[0] == "paddle"
        if of_paddle and node.value not in facts.names.used and id(node) not in attributes | keywords:
            first = next(item for item in ast.walk(module.tree) if isinstance(item, ast.Name) and item.id == node.value)
            return {
                module.span(first): (f"`{node.value}` is used as a value, which cannot be written in plain TensorFlow")
            }
    return {}


class _Rewriter(Rewriter):
    """Rewrites as for a folder, and remembers what became of layers; what a target cannot spell is refused."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.after: dict[Span, str] = {}

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        made = super().leave_Call(original_node, updated_node)
        if self._dotted(original_node.func) == LINEAR.name:
            self.after[self._span(original_node)] = cst.Module([]).code_for_node(made)
        if isinstance(self.names, OwnNames):
            self._check_arguments(original_node, made)
        return made

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        try:
            return super().leave_Attribute(original_node, updated_node)
        except Refuse as reason:  # unless an item of it is all that is read
            self.facts.refused[self._span(original_node)] = str(reason)
            return cst.Call(cst.Name("sizes"), [cst.Arg(updated_node.value)])

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        made = super().leave_Subscript(original_node, updated_node)
        site = self.facts.sites.get(self._span(original_node))
        if site is not None and site.kind == "size" and made is not updated_node:
            self.facts.refused.pop(self._span(original_node.value), None)
        return made

    def _check_arguments(self, original: cst.Call, made: cst.BaseExpression) -> None:
        """Refuse a call of a definition in the file with arguments that it does not take."""
        if not (isinstance(made, cst.Call) and isinstance(made.func, cst.Name) and made.func.value in self.names.used):
            return
        name, keywords = made.func.value, [arg.keyword.value for arg in made.args if arg.keyword is not None]
        if name in standalone.NAMES | set(standalone.HELPERS.values()):
            positional = sum(arg.keyword is None and not arg.star for arg in made.args)
            lacking = standalone.lacks(name, positional, keywords)
            if lacking:
                told = f"`{lacking}` of `{name}` cannot be written in plain TensorFlow, which this target needs"
                self.facts.refused[self._span(original)] = told

    def _written(self, span: Span, site: Site, call: cst.Call | None, args: Sequence[cst.Arg]) -> cst.BaseExpression:
        try:
            return super()._written(span, site, call, args)
        except Refuse as reason:
            self.facts.refused[span] = str(reason)
            return call if call is not None else args[0].value

    def _reference(self, original: cst.Name | cst.Attribute, updated: cst.BaseExpression) -> cst.BaseExpression:
        dotted = self._dotted(original) or ""
        op = registry.find(dotted)
        if isinstance(self.names, OwnNames) and dotted in MODULES:  # the name after it is rewritten with it
            return updated
        if isinstance(self.names, OwnNames) and op is not None:  # a function that is called is written at its call
            function = standalone.FUNCTIONS.get(op.functional)
            return cst.parse_expression(self.names.spelled(function)) if function else updated
        try:
            return super()._reference(original, updated)
        except Refuse as reason:
            self.facts.refused[self._span(original)] = str(reason)
            return updated
