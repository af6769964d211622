"""Adds type annotations to a converted model, from the values that were seen."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst
from libcst import matchers as m

from migrate.schema import Schema
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot.following import follow
from migrate.source.paddle.one_hot.signatures import ANY, Signature, type_of, union


def annotated(converted: str, path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> str:
    """Return the converted module with annotations added to functions that have none.

    Args:
        converted: the converted module.
        path: the source's path.
        text: the source.
        schema: its schema.
        siblings: the files beside it.
    """
    run, _ = follow(path, text, schema, siblings)
    found: dict[str, Signature] = {}
    for (where, scope), signature in run.signatures.items():
        name = scope.rpartition(".")[2] if where == TRAINER else scope
        found.setdefault(name, signature)
    return cst.parse_module(converted).visit(_Annotator(found)).code


class _Annotator(cst.CSTTransformer):
    """Adds annotations; functions that were not called get `Any`."""

    def __init__(self, signatures: Mapping[str, Signature]) -> None:
        super().__init__()
        self.signatures = signatures
        self.scopes: list[str] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.scopes.append(node.name.value)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self.scopes.pop()
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Simplify calls to `super().__init__()` and `range(n)`."""
        called = updated_node.func
        first = updated_node.args[0] if len(updated_node.args) == 2 else None
        if first is None or not isinstance(called, cst.Name) or len(self.scopes) != 2:
            return updated_node
        own = called.value == "super" and m.matches(first, m.Arg(m.Name(self.scopes[0])))
        if own and m.matches(updated_node.args[1], m.Arg(m.Name("self"))):
            return updated_node.with_changes(args=[])
        if called.value == "range" and m.matches(first, m.Arg(m.Integer("0"), keyword=None)):
            return updated_node.with_changes(args=updated_node.args[1:])
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.scopes.append(node.name.value)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        signature = self.signatures.get(".".join(self.scopes), Signature())
        method = len(self.scopes) > 1
        self.scopes.pop()
        params = updated_node.params
        params = params.with_changes(
            posonly_params=[_parameter(item, signature) for item in params.posonly_params],
            params=[
                item if method and i == 0 and not params.posonly_params else _parameter(item, signature)
                for i, item in enumerate(params.params)
            ],
            kwonly_params=[_parameter(item, signature) for item in params.kwonly_params],
        )
        result = "None" if updated_node.name.value == "__init__" else union(signature.results)
        returns = updated_node.returns or _annotation(result, arrow=True)
        return updated_node.with_changes(params=params, returns=returns)


def _parameter(param: cst.Param, signature: Signature) -> cst.Param:
    if param.annotation is not None:
        return param
    types = set(signature.parameters.get(param.name.value, {ANY}))
    if param.default is not None:
        types |= _of_default(param.default)
    text = union(types)
    spaced = cst.AssignEqual() if param.default is not None else param.equal
    return param.with_changes(annotation=_annotation(ANY if text == "None" else text), equal=spaced)


def _of_default(default: cst.BaseExpression) -> set[str]:
    try:
        return {type_of(ast.literal_eval(cst.Module([]).code_for_node(default)))}
    except (ValueError, SyntaxError):
        return set()


def _annotation(text: str, arrow: bool = False) -> cst.Annotation:
    before = cst.SimpleWhitespace(" " if arrow else "")
    return cst.Annotation(cst.parse_expression(text), whitespace_before_indicator=before)
