"""Writes the files of an executed model for TensorFlow."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.paddle.abstract.modules import dotted_name, imported_names, imports_of
from migrate.source.paddle.abstract.program import Program, trainer_class
from migrate.source.paddle.abstract.values import Module, Span
from migrate.source.paddle.emission.names import Names, framework_names, names_for, rebound, references
from migrate.source.paddle.emission.rewriter import Facts, Start, rewrite
from migrate.source.paddle.emission.tables import dense_places, given_up, table_places

#: What readers may use of the framework: base classes, the number of their process, and tensors, which become arrays.
_OF_READERS = ("paddle.io", "paddle.distributed.get_", "paddle.to_tensor", "paddle.distributed.fleet.MultiSlot")
_REBOUND = "`{0}` is imported from Paddle and then bound to something else in this file; give one another name"
_MODULES = ("paddle.distributed", "paddle.distributed.fleet")


@dataclass
class Written:
    """One rewritten file."""

    text: str
    refused: dict[Span, str] = field(default_factory=dict)
    notes: dict[Span, str] = field(default_factory=dict)


def write(program: Program, path: str, rules: str = "", unbucket: Sequence[str] = ()) -> Written:
    """Return the text of one of the program's files for TensorFlow; it must have been executed.

    Args:
        program: the executed program.
        path: the file's.
        rules: arguments of `nn.TableRules` for the embeddings that become tables; empty: they get none.
        unbucket: the embeddings whose ids give up their buckets, as far as they are divided; see `given_up`.
    """
    module = next(item for item in program.run.modules.values() if item.path == path)
    facts = facts_of(program, module)
    if rules:
        facts.ruled = frozenset(span for where, span in table_places(program) if where == path)
        facts.rules = rules
    freed = given_up(program, unbucket)
    facts.freed = frozenset(span for where, span in freed if where == path)
    facts.divided = frozenset(span for places in freed.values() for where, span in places if where == path)
    facts.ruled |= facts.freed
    rewritten = rewrite(module.text, facts)
    return Written(_with_imports(rewritten, facts.names).code, facts.refused, facts.notes)


def facts_of(program: Program, module: Module) -> Facts:
    """Return what was executed in one file."""
    path, run = module.path, program.run
    imports = framework_names(run, module)
    own = {name: dotted for name, dotted in imports.items() if "." not in name}
    return Facts(
        imports,
        references(module, own),
        {span: site for (where, span), site in run.sites.items() if where == path},
        frozenset(span for where, span in run.loops if where == path),
        frozenset(span for where, span in run.checks if where == path),
        frozenset(span[:2] for where, span in run.executed if where == path),
        frozenset(span for where, span in dense_places(program) if where == path),
        names_for(module.tree, own),
        stopped=_stopped(program, module),
        refused={module.span(module.tree.body[0]): _REBOUND.format(name) for name in rebound(module, own)},
    )


def _stopped(program: Program, module: Module) -> frozenset[Start]:
    """Return where the body of `infer_forward` begins if it could not be executed."""
    cls = trainer_class(program.module)
    method = cls.find("infer_forward") if cls is not None and program.evaluation else None
    if method is None or method[1].module is not module or not isinstance(method[0], ast.FunctionDef):
        return frozenset()
    first = method[0].body[0]
    return frozenset({module.span(first)[:2]})


def _with_imports(file: cst.Module, names: Names) -> cst.Module:
    return _without_blank_head(_with_wanted(file, names))


def _with_wanted(file: cst.Module, names: Names) -> cst.Module:
    """Add the imports after the docstring, the imports from `__future__` and those of other modules."""
    wanted = []
    if "tensorflow" in names.used:
        wanted.append(f"import tensorflow.compat.v1 as {names.tensorflow}")
    if "layers" in names.used:
        wanted.append(f"from runtime import {names.imported}")
    if not wanted:
        return file
    body = list(file.body)
    place = 0
    for index, statement in enumerate(body):
        if not isinstance(statement, cst.SimpleStatementLine):
            break
        first = statement.body[0]
        text = isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
        if isinstance(first, (cst.Import, cst.ImportFrom)) or (index == 0 and text):
            place = index + 1
        else:
            break
    lines = [cst.parse_statement(line) for line in wanted]
    if place:  # else only what heads the file, which is its own, stands above
        lines[0] = lines[0].with_changes(leading_lines=[cst.EmptyLine(indent=False)])
    return file.with_changes(body=[*body[:place], *lines, *body[place:]])


def _without_blank_head(file: cst.Module) -> cst.Module:
    """Remove the blank lines above the first statement, where imports stood that are gone."""
    first = file.body[0] if file.body else None
    if file.header or not isinstance(first, (cst.BaseCompoundStatement, cst.SimpleStatementLine)):
        return file
    above = [*itertools.dropwhile(lambda line: line.comment is None, first.leading_lines)]
    return file.with_changes(body=[first.with_changes(leading_lines=above), *file.body[1:]])


def write_reader(path: str, text: str) -> Written:
    """Return the text of a reader: its base class is of the framework, and it makes arrays, not tensors."""
    tree = ast.parse(text)
    imports = imported_names(imports_of(tree))
    everywhere = frozenset((node.lineno, node.col_offset) for node in ast.walk(tree) if isinstance(node, ast.stmt))
    nowhere: frozenset[Span] = frozenset()
    module = Module(path, text, tree)
    read, names = references(module, imports), names_for(tree, imports)
    facts = Facts(imports, read, {}, nowhere, nowhere, everywhere, nowhere, names, arrays=True)
    rewritten = rewrite(text, facts)
    refused = {}
    for node in ast.walk(tree):
        dotted = dotted_name(node, imports)
        if dotted not in _MODULES and dotted.startswith("paddle.") and not dotted.startswith(_OF_READERS):
            span = module.span(node)
            refused[span] = f"a reader that calls `{dotted}` is not converted; make arrays with NumPy there"
    return Written(_with_imports(rewritten, facts.names).code, refused)
