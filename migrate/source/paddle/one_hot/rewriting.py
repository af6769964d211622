"""Rewrites the model's file and the trainer's loss, as the files of a folder are rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst.metadata import MetadataWrapper

from migrate.source.paddle.abstract.run import Site
from migrate.source.paddle.abstract.values import Module, Refuse, Span
from migrate.source.paddle.emission import nodes
from migrate.source.paddle.emission.files import facts_of
from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.emission.rewriter import Facts, Rewriter
from migrate.source.paddle.layers.linear import LINEAR
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
        made = super().leave_Call(original_node, updated_node)
        if self._dotted(original_node.func) == LINEAR.name:
            self.after[self._span(original_node)] = cst.Module([]).code_for_node(made)
        if isinstance(self.names, OwnNames) and isinstance(made, cst.Call):
            keywords = [arg.keyword.value for arg in made.args if arg.keyword is not None]
            positional = sum(arg.keyword is None and not arg.star for arg in made.args)
            name = nodes.text(made.func)
            if lacking := self.names.lacks(name, positional, keywords):
                told = f"`{lacking}` of `{name}` cannot be written in plain TensorFlow, which this target needs"
                self.facts.refused[self._span(original_node)] = told
        return made

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
