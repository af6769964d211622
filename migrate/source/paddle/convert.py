"""Converts Paddle dygraph models: an `nn.Layer` becomes a TensorFlow v1 module with the same classes, loops and names.

The source is executed with abstract tensors, never imported or run. `x·W + b` of every `nn.Linear` that reads the
one-hot input of a schema is split exactly: dense columns remain a matrix product, each one-hot group becomes a lookup
of one row, and the kernels of all these layers are side by side in one embedding table.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst

from migrate.errors import MigrateError
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle import folder
from migrate.source.paddle.abstract.modules import imported_names, imports_of
from migrate.source.paddle.abstract.values import Module, Span
from migrate.source.paddle.eager import program as eager
from migrate.source.paddle.emission import table_rules
from migrate.source.paddle.emission.names import names_for
from migrate.source.paddle.emission.templates import parsed
from migrate.source.paddle.one_hot import checks, module, rewriting
from migrate.source.paddle.one_hot.following import follow
from migrate.source.paddle.one_hot.program import Program, input_expressions
from migrate.source.paddle.one_hot.rewriting import Rewritten, rewritten
from migrate.source.paddle.one_hot.sdk_tables import SdkText, names_bound, sdk_text
from migrate.source.paddle.one_hot.standalone import OwnNames
from migrate.source.paddle.report import findings
from migrate.source.settings.options import Options
from migrate.targets import target_of

__all__ = ["convert", "follow", "is_folder"]


def convert(
    path: str, text: str, options: Options, siblings: Mapping[str, str], makes_tables: bool = True
) -> SourceResult:
    """Convert one model file; nothing is written.

    Args:
        path: the file's path, as reports show it.
        text: its contents.
        options: `options.schema` describes the model's input; a file with neither a
            schema nor a trainer beside it is one of an eager program.
        siblings: the files in its folder (`dygraph_model.py`, `config.yaml`), name -> contents.
        makes_tables: whether a module for another SDK makes its tables itself; else the program does.

    Returns:
        The converted module and its findings. If any construct is not supported, the text is unchanged and each such
        construct has an `unsupported` finding.

    Raises:
        MigrateError: the schema contradicts the source, a folder has no such target or switch, or the converted text is
            not valid Python.
    """
    try:
        ast.parse(text)
        parsed(text)
    except SyntaxError as error:
        return findings.not_python(path, text, error.lineno or 1, error.msg)
    except (RecursionError, cst.ParserSyntaxError):
        return findings.not_python(path, text, 1, "expressions nested too deeply to follow")
    try:
        return _convert(path, text, options, siblings, makes_tables)
    except RecursionError:
        return findings.not_python(path, text, 1, "expressions nested too deeply to follow")
    except (SyntaxError, cst.ParserSyntaxError) as error:
        raise MigrateError(f"{path}: the converted text is not valid Python ({error}); report this as a bug") from error


def is_folder(path: str, options: Options, siblings: Mapping[str, str]) -> bool:
    """Return whether a file is converted with the trainer of its folder, not by a schema of its columns."""
    return (options.schema is None or bool(options.schema.inputs)) and folder.concerns(path, siblings)


def _convert(path: str, text: str, options: Options, siblings: Mapping[str, str], makes_tables: bool) -> SourceResult:
    if is_folder(path, options, siblings):
        if (stays := eager.of_graphs(path, text, siblings)) is not None:
            return stays
        table_rules.check(options.target, options.switches)
        inputs = options.schema.inputs if options.schema else ()
        return folder.convert(path, text, siblings, inputs, options.switches, options.unbucket)
    defines_model = checks.defines_model(text)
    if options.schema is None or not (defines_model or eager.is_eager(text)):
        return eager.convert(path, text, options, siblings)
    if not defines_model:
        base = checks.foreign_base(text)
        return findings.foreign_base(path, text, base) if base else findings.no_model(path, text)
    program = follow(path, text, options.schema, siblings)
    if program.outputs and program.loss_arguments:
        converted, rewrite = _emit(program, options, makes_tables)
        if not program.run.problems:
            result = findings.converted(program, converted, rewrite)
            target = target_of(options.target)
            return findings.added(result, target, options.switches) if makes_tables else result
    return findings.refused(path, text, program.run.problems.values())


def _emit(program: Program, options: Options, makes_tables: bool) -> tuple[str, Rewritten]:
    """Return the converted text, and what became of the file's parts; problems are added to the machine."""
    target = target_of(options.target)
    names = names_for(program.net.tree, imported_names(imports_of(program.net.tree)))
    names = names if options.target == "runtime" else OwnNames(names.tensorflow, names.layers)
    checks.check(program, names, names_bound(target) if makes_tables else frozenset())
    expressions = _expressions(program)
    rewrite = rewritten(program, program.net, names)
    _report(program, program.net, rewrite.refused)
    text, trainer = rewriting.loss_text(program, names)
    _report(program, program.loss.module, trainer.refused)
    if program.run.problems:
        return program.net.text, rewrite
    sdk = sdk_text(program, target, options.switches) if expressions and makes_tables else SdkText()
    converted = module.assemble(program, rewrite.tree, names, expressions, text, sdk)
    compile(converted, program.shown, "exec")
    return converted, rewrite


def _expressions(program: Program) -> list[str]:
    if not program.schema.input.sparse:
        return []
    expressions = input_expressions(program)
    if not expressions and not program.run.problems:
        raise MigrateError(
            f"{program.schema.path}: `input.sparse` lists one-hot groups, but no `nn.Linear` of {program.name} reads "
            "the model input; correct `input` or `model.class`"
        )
    return expressions


def _report(program: Program, file: Module, refused: Mapping[Span, str]) -> None:
    known = {span[:2] for where, span in program.run.problems if where == file.path}
    for span, message in refused.items():
        if span[:2] not in known:
            program.run.problem_at(file, span, message)
