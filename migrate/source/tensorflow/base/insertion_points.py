"""Edits that insert or remove lines, arguments and imports while keeping comments and layout."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.syntax.blocks import is_docstring
from migrate.source.syntax.tree import Tree


def line_before(tree: Tree, node: cst.CSTNode, lines: Sequence[str]) -> Edit:
    """Insert lines before the statement that contains `node`; on the same line in `if x: ...`."""
    statement = tree.statement(node) or node
    if isinstance(statement, cst.SimpleStatementSuite) and not any(line.startswith("#") for line in lines):
        where = tree.span(statement.body[0])[0]
        return Edit(where, where, "".join(f"{line}; " for line in lines))
    where = tree.line_start(statement)
    indent = tree.indent(statement)
    return Edit(where, where, "".join(indent + line + tree.newline for line in lines))


def line_after(tree: Tree, node: cst.CSTNode, lines: Sequence[str]) -> Edit:
    """Insert lines after the statement that contains `node` and its comment; on the same line in `if x: ...`."""
    statement = tree.statement(node) or node
    if isinstance(statement, cst.SimpleStatementSuite):
        where = tree.span(statement.body[-1])[1]
        return Edit(where, where, "".join(f"; {line}" for line in lines))
    where = _next_line(tree.text, tree.span(statement)[1])
    text = "".join(tree.indent(statement) + line + tree.newline for line in lines)
    if where and tree.text[where - 1] not in "\r\n":
        text = tree.newline + text.removesuffix(tree.newline)
    return Edit(where, where, text)


def end_of_line(tree: Tree, statement: cst.CSTNode) -> int:
    """Return the offset after the last line of a statement, which may be compound."""
    return _next_line(tree.text, tree.span(statement)[1])


def _next_line(text: str, offset: int) -> int:
    """Return the offset of the line after `offset`; a line that ends with `\\` continues on the next one."""
    ends = [found for found in (text.find("\n", offset), text.find("\r", offset)) if found >= 0]
    if not ends:
        return len(text)
    end = min(ends)
    behind = end + 2 if text[end : end + 2] == "\r\n" else end + 1
    goes_on = text[offset:end].endswith("\\") and "#" not in text[offset:end]
    return _next_line(text, behind) if goes_on else behind


def kept_comments(tree: Tree, node: cst.CSTNode) -> list[str]:
    """Return the comments inside a node that is replaced, so that they can be kept above it."""
    start, end = tree.span(node)
    return _comments(tree.text[start:end])


def without_arguments(tree: Tree, call: cst.Call, dropped: Sequence[cst.Arg]) -> Iterator[Edit]:
    """Remove arguments from a call, but keep the comments between them. The first argument must stay."""
    ends = [tree.outer_span(arg.value)[1] for arg in call.args]
    gone = [i for i, arg in enumerate(call.args) if any(arg is one for one in dropped)]
    commented = any("#" in tree.text[ends[i - 1] : tree.span(call.args[i])[0]] for i in gone)
    for position in gone:
        if not commented:
            yield Edit(ends[position - 1], ends[position], "")
            continue
        comma = call.args[position].comma
        start, end = tree.span(call.args[position])[0], ends[position]
        if isinstance(comma, cst.Comma):
            end = tree.span(comma)[1]
            end += len(tree.text[end:]) - len(tree.text[end:].lstrip(" \t"))
        if tree.text[end : end + 1] in {"\r", "\n"} and not tree.lead(call.args[position]).strip():
            start, end = tree.line_start(call.args[position]), _next_line(tree.text, end)
        yield Edit(start, end, "")


def without_line(tree: Tree, statement: cst.CSTNode, gone: set[int]) -> Edit:
    """Remove the lines of a statement, but keep its comments; leave `pass` if all of its block is `gone`."""
    block = tree.parent(statement)
    if not isinstance(block, (cst.IndentedBlock, cst.Module)) or all(id(other) in gone for other in block.body):
        last = statement.body[-1] if isinstance(statement, cst.SimpleStatementLine) else statement
        return Edit(tree.span(statement)[0], tree.span(last)[1], "pass")
    start, end = tree.line_start(statement), _next_line(tree.text, tree.span(statement)[1] - 1)
    comments = [tree.indent(statement) + comment for comment in _comments(tree.text[start:end].strip())]
    return Edit(start, end, "".join(comment + tree.newline for comment in comments))


def without_names(tree: Tree, statement: cst.ImportFrom, gone: Sequence[bool]) -> Iterator[Edit]:
    """Remove some names from an import of several, each with its comma."""
    assert not isinstance(statement.names, cst.ImportStar)
    spans = [tree.span(alias) for alias in statement.names]
    kept = [position for position, is_gone in enumerate(gone) if not is_gone]
    for position, is_gone in enumerate(gone):
        if not is_gone:
            continue
        if position < kept[-1]:
            yield Edit(spans[position][0], spans[position + 1][0], "")
        else:
            yield Edit(_end(tree, statement.names[position - 1]), _end(tree, statement.names[position]), "")


def _end(tree: Tree, alias: cst.ImportAlias) -> int:
    return tree.span(alias.name if alias.asname is None else alias.asname.name)[1]


def _comments(text: str) -> list[str]:
    if "#" not in text:
        return []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def import_offset(tree: Tree, before: int) -> int:
    """Return the offset for a new import: after the last import at the head of the file, or the docstring."""
    where = None
    for position, statement in enumerate(tree.module.body):
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) or tree.span(statement)[0] >= before:
            break
        if _imports(statement) or (position == 0 and is_docstring(statement)):
            where = _next_line(tree.text, tree.span(statement)[1])
    if where is not None:
        return where
    first = tree.module.body[0]
    return tree.line_start(first)


def with_import(tree: Tree, text: str, before: int) -> Edit:
    """Insert lines that import names at the head of the file, ahead of the offset `before`."""
    where = import_offset(tree, before)
    return Edit(where, where, tree.newline + text if where > 0 and tree.text[where - 1] not in "\r\n" else text)


def name_import(tree: Tree, module: str, before: int, *names: tuple[str, str]) -> Edit:
    """Insert the import of the first name of each pair, of a module, as the second, in the same way."""
    parts = (name if name == local else f"{name} as {local}" for name, local in names)
    return with_import(tree, f"from {module} import {', '.join(parts)}{tree.newline}", max(before, 1))


def _imports(statement: cst.CSTNode) -> bool:
    """True for an import, and for a `try` or `if` whose body consists of imports."""
    if isinstance(statement, cst.SimpleStatementLine):
        return any(isinstance(small, (cst.Import, cst.ImportFrom)) for small in statement.body)
    if isinstance(statement, (cst.Try, cst.If)) and isinstance(statement.body, cst.IndentedBlock):
        return all(_imports(inner) for inner in statement.body.body)
    return False


def has_own_line(line: cst.CSTNode | None, *, only_made: bool) -> bool:
    """True for a single statement on a line. With `only_made` (an optimizer is just created), also in `if x: ...`."""
    kinds = cst.SimpleStatementLine | cst.SimpleStatementSuite if only_made else cst.SimpleStatementLine
    return isinstance(line, kinds) and len(line.body) == 1


def may_begin(tree: Tree, node: cst.BaseExpression) -> bool:
    """True if code inserted before the statement runs directly before `node`, with nothing of the statement in between.

    `node` may be in a part that is evaluated once, at the start of the statement, even if only conditionally.
    """
    line = tree.statement(node)
    if isinstance(line, cst.If):
        begins = tree.contains(line.test, node) and not isinstance(tree.parent(line), cst.If)
    elif isinstance(line, cst.With):
        begins = tree.contains(line.items[0], node)
    elif isinstance(line, cst.For):
        begins = tree.contains(line.iter, node)
    else:
        begins = has_own_line(line, only_made=False) or isinstance(line, cst.Match)
    if line is None or not begins:
        return False
    for around in tree.ancestors(node):
        if around is line:
            break
        listed = isinstance(around, cst.BaseSimpleComp) and tree.contains(around.for_in.iter, node)
        if isinstance(around, (cst.Lambda, cst.BaseComp)) and not listed:
            return False
    start = tree.span(node)[0]
    calls = [one for one in tree.calls if tree.span(one)[0] < start and tree.contains(line, one)]
    return all(tree.contains(one, node) for one in calls)


def is_inside_larger(tree: Tree, call: cst.BaseExpression) -> bool:
    """True for a part of an expression that may be evaluated conditionally or repeatedly."""
    kinds = (cst.Lambda, cst.BaseComp, cst.IfExp, cst.BooleanOperation, cst.NamedExpr)
    for around in tree.ancestors(call):
        if isinstance(around, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            return False
        if isinstance(around, cst.BaseSimpleComp) and tree.contains(around.for_in.iter, call):
            continue  # the first iterable is evaluated once
        if isinstance(around, kinds):
            return True
    return True


def as_function(tree: Tree, body: cst.BaseExpression) -> cst.Lambda | None:
    """Return the lambda of which `body` is all, if a function before its statement can take its place.

    Nothing around it may give it names of its own: a lambda, a comprehension, the body of a class. A default is a value
    of the moment at which the lambda is reached, so there may be none.
    """
    function = tree.parent(body)
    if not isinstance(function, cst.Lambda) or function.body is not body:
        return None
    parameters = (*function.params.params, *function.params.kwonly_params, *function.params.posonly_params)
    scopes = (cst.Lambda, cst.BaseComp, cst.FunctionDef, cst.ClassDef)
    scope = next((one for one in tree.ancestors(function) if isinstance(one, scopes)), None)
    free = scope is None or isinstance(scope, cst.FunctionDef)
    alone = has_own_line(tree.statement(function), only_made=False)
    return function if free and alone and all(one.default is None for one in parameters) else None
