"""Converts Paddle dygraph models: an `nn.Layer` becomes a TensorFlow v1 module with the same classes, loops and names.

The source is interpreted symbolically, never imported or run. `x·W + b` of every `nn.Linear` that reads the raw input
is split exactly: dense columns remain a matrix product, each one-hot group becomes a lookup of one row, and the kernels
of all these layers are side by side in one embedding table.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst

from migrate.errors import MigrateError
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle import folder
from migrate.source.paddle.checks import refusals
from migrate.source.paddle.edits import loss, module
from migrate.source.paddle.edits.annotations import annotated
from migrate.source.paddle.edits.rewrite import Facts, rewrite
from migrate.source.paddle.emission import table_rules
from migrate.source.paddle.facts import modules
from migrate.source.paddle.facts.input_columns import input_expressions
from migrate.source.paddle.facts.program import Program, follow, model_arguments
from migrate.source.paddle.interpreter.interpreter import Interpreter
from migrate.source.paddle.interpreter.run import Problem
from migrate.source.paddle.mapping.values import Refuse
from migrate.source.paddle.report import findings
from migrate.source.paddle.report.findings import for_runtime_alone
from migrate.source.settings.options import Options

__all__ = ["annotated", "convert", "follow", "for_runtime_alone", "is_folder", "model_arguments"]


def convert(path: str, text: str, options: Options, siblings: Mapping[str, str]) -> SourceResult:
    """Convert one model file; nothing is written.

    Args:
        path: the file's path, as reports show it.
        text: its contents.
        options: `options.schema` describes the model's input; without a schema the file is left unchanged.
        siblings: the files in its folder (`dygraph_model.py`, `config.yaml`), name -> contents.

    Returns:
        The converted module and its findings. If any construct is not supported, the text is unchanged and each such
        construct has an `unsupported` finding.

    Raises:
        MigrateError: the schema contradicts the source, a folder has no such target or switch, or the converted text is
            not valid Python.
    """
    try:
        ast.parse(text)
        cst.parse_module(text)
    except SyntaxError as error:
        return findings.not_python(path, text, error.lineno or 1, error.msg)
    except (RecursionError, cst.ParserSyntaxError):
        return findings.not_python(path, text, 1, "expressions nested too deeply to follow")
    try:
        return _convert(path, text, options, siblings)
    except RecursionError:
        return findings.not_python(path, text, 1, "expressions nested too deeply to follow")
    except (SyntaxError, cst.ParserSyntaxError) as error:
        raise MigrateError(f"{path}: the converted text is not valid Python ({error}); report this as a bug") from error


def is_folder(path: str, options: Options, siblings: Mapping[str, str]) -> bool:
    """Return whether a file is converted with the trainer of its folder, not by a schema of its columns."""
    return (options.schema is None or bool(options.schema.inputs)) and folder.concerns(path, siblings)


def _convert(path: str, text: str, options: Options, siblings: Mapping[str, str]) -> SourceResult:
    if is_folder(path, options, siblings):
        table_rules.check(options.target, options.switches)
        inputs = options.schema.inputs if options.schema else ()
        return folder.convert(path, text, siblings, inputs, options.switches)
    if not refusals.defines_model(text):
        base = refusals.foreign_base(text) if options.schema else None
        return findings.foreign_base(path, text, base) if base else findings.no_model(path, text)
    if options.schema is None:
        return findings.no_schema(path, text)
    run, program = follow(path, text, options.schema, siblings)
    refusals.check_references(run, run.modules["net"])
    if program is not None:
        loss.check_tasks(program)
        converted, facts = _emit(program, options.target)
        if not run.problems:
            return findings.converted(program, converted, facts)
    return findings.refused(path, text, run)


def _emit(program: Program, target: str) -> tuple[str, Facts]:
    """Return the converted text and the facts of its rewriting; problems are added to the run."""
    run = program.run
    facts = _facts(program)
    refusals.check_names(program)
    expressions = _expressions(program)
    rewritten = rewrite(program.module.text, facts)
    _report(run, program.module.path, program.module.text, facts)
    text = ""
    if program.loss is not None and program.trainer is not None:
        loss_facts = loss.facts_of_loss(program)
        text = loss.loss_text(program, loss_facts)
        facts.used |= loss_facts.used - {"Layer"}
        _report_loss(program, loss_facts)
    else:
        text = loss.loss_text(program, facts)
    if run.problems:
        return program.module.text, facts
    converted = module.assemble(program, rewritten, facts.used, expressions, text, target)
    compile(converted, program.module.path, "exec")
    return converted, facts


def _facts(program: Program) -> Facts:
    path, run = program.module.path, program.run
    return Facts(
        modules.imported_names(program.module.tree),
        {span: name for (where, span), name in run.methods.items() if where == path},
        frozenset(span for where, span in run.executed if where == path),
    )


def _expressions(program: Program) -> list[str]:
    if not program.schema.input.sparse:
        return []
    try:
        found = input_expressions(program)
    except Refuse as reason:
        node = program.model.cls.node if program.model.cls else program.module.tree
        refusals.add_problem(program.run, program.module, node, str(reason))
        return []
    if not found and not program.run.problems:
        raise MigrateError(
            f"{program.schema.path}: `input.sparse` lists one-hot groups, but no `nn.Linear` of {program.name} reads "
            "the model input; correct `input` or `model.class`"
        )
    return found


def _report(run: Interpreter, path: str, text: str, facts: Facts) -> None:
    lines, tree = text.splitlines(), ast.parse(text)
    known = {(where, span[:2]) for where, span in run.problems}
    for refusal in facts.refused:
        if (path, refusal.span[:2]) not in known:
            line = refusal.span[0]
            scope = next((name for name, first, last in refusals.scopes(tree) if first <= line <= last), "")
            run.problems[path, refusal.span] = Problem(path, refusal.span, scope, str(refusal), lines[line - 1].strip())


def _report_loss(program: Program, facts: Facts) -> None:
    assert program.loss is not None and program.trainer is not None
    first, last = program.loss.node.lineno, program.loss.node.end_lineno or program.loss.node.lineno
    facts.refused[:] = [item for item in facts.refused if first <= item.span[0] <= last]
    _report(program.run, program.trainer.path, program.trainer.text, facts)
