"""Findings of the Paddle front end: one per class, layer, table and loss, or one per unsupported construct."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from migrate.report.model import Applicability, Finding, Location, State, TableRecord
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.abstract.run import Problem
from migrate.source.paddle.abstract.values import Class, Layer, Span
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.rewriting import Rewritten
from migrate.source.paddle.one_hot.watched import scope_at
from migrate.source.paddle.ops import registry
from migrate.source.paddle.report.folder_findings import (
    KIND,
    File,
    applied,
    initializer_text,
    table_record,
    unsupported,
)
from migrate.targets.base import Target
from migrate.targets.switches import Switches


def no_model(path: str, text: str) -> SourceResult:
    """Return the result for a Paddle file without a model, such as a trainer, for which nothing is left to do."""
    message = "no class of this file derives from `nn.Layer` by name, so it is left unchanged"
    reason = f"besides models, only the `{TRAINER}` of a folder, what it imports and its reader are read"
    return File(path, "", text).left("paddle-no-model", State.NOTED, message, reason)


def foreign_base(path: str, text: str, node: ast.ClassDef) -> SourceResult:
    """Return the result for a file with a class whose base is not in the file: it may be a model."""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    message = f"`{node.name}` derives from `{bases}`, which this file neither defines nor imports by name"
    reason = "only models whose file shows that they derive from `nn.Layer` are converted"
    action = "import `paddle.nn` by name at the top of the file, and define the base class in the file"
    texts = message, reason, action
    return File(path, "", text).left("paddle-foreign-base", State.UNSUPPORTED, *texts, node.lineno, node.name)


def not_python(path: str, text: str, line: int, problem: str) -> SourceResult:
    """Return the result for a file that is not valid Python."""
    message = f"line {line} is not valid Python ({problem})"
    return File(path, "", text).left("paddle-syntax", State.FAILED, message, "", "correct the line", line)


def refused(path: str, text: str, problems: Iterable[Problem]) -> SourceResult:
    """Return the result for a model with unsupported constructs, those of its trainer too: the file stays."""
    ordered = sorted(problems, key=lambda item: (item.path == TRAINER, item.path, item.span))
    findings = [unsupported(_beside(path, problem.path), problem) for problem in ordered]
    return SourceResult(path, KIND, text, text, tuple(findings))


def _beside(path: str, name: str) -> str:
    """Return the path of a file for reports; all files are in the folder of the model."""
    folder = path.rpartition("/")[0]
    return f"{folder}/{name}" if folder else name


def converted(program: Program, text: str, rewrite: Rewritten) -> SourceResult:
    """Return the result for a converted model."""
    layer = rewrite.names.kept(registry.LAYER) or ""
    findings = [*_classes(program, layer), *_layers(program, rewrite.after)]
    tables: tuple[TableRecord, ...] = ()
    if program.input_linears:
        record = _table(program)
        tables = (record,)
        findings.append(_table_finding(program, record))
    findings.append(_loss(program))
    findings += _optimizer(program)
    findings += [
        Finding("paddle-not-reached", "use", State.NOTED, _place(program, span), told)
        for span, told in rewrite.notes.items()
    ]
    return SourceResult(program.shown, KIND, program.net.text, text, tuple(findings), tables)


def _place(program: Program, span: Span) -> Location:
    return Location(program.shown, span[0], span[2], scope_at(program.net, span[0]))


def _classes(program: Program, layer: str) -> Iterator[Finding]:
    for cls in program.net.names.values():
        if isinstance(cls, Class) and cls.module is program.net and cls.derives(registry.LAYER):
            span = program.net.span(cls.node)
            base = next((item.name for item in cls.bases if isinstance(item, Class)), layer)
            message = f"class `{cls.name}` becomes a TensorFlow module with the same methods and names"
            reason = "; ".join(program.overridden) if cls is program.model.cls else ""
            where, before = (
                Location(program.shown, span[0], span[2], cls.name),
                program.net.lines[span[0] - 1].strip(),
            )
            after = f"class {cls.name}({base}):"
            yield applied("paddle-layer-class", "layer", where, message, reason, before=before, after=after)


def _layers(program: Program, after: Mapping[Span, str]) -> Iterator[Finding]:
    """Yield one finding for each call that creates Linear layers."""
    sites: dict[Span, list[Layer]] = defaultdict(list)
    for layer in program.linears:
        sites[layer.span].append(layer)
    for span, layers in sites.items():
        message, reason = _layer_message(layers, program.paths), _layer_reason(layers)
        texts = {"before": _source(program.net.lines, span), "after": after.get(span, "")}
        table = "embedding" if any(layer.lookups for layer in layers) else ""
        yield applied("paddle-linear", "layer", _place(program, span), message, reason, **texts, table=table)


def _source(lines: list[str], span: Span) -> str:
    first, start, last, stop = span
    if first == last:
        return lines[first - 1][start:stop]
    return "\n".join([lines[first - 1][start:], *lines[first : last - 1], lines[last - 1][:stop]])


def _layer_message(layers: list[Layer], paths: dict[int, str]) -> str:
    names = [paths.get(id(layer), "?") for layer in layers]
    listed = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` to `{names[-1]}` ({len(names)} layers)"
    raw = sum(bool(layer.lookups) for layer in layers)
    unused = sum(not layer.calls for layer in layers)
    if not raw:
        text = f"`nn.Linear` {listed} becomes a dense layer"
    elif raw == len(layers):
        text = f"`nn.Linear` {listed} is split into a product of dense columns and lookups of one-hot groups"
    else:
        text = f"`nn.Linear` {listed}: {raw} of them read the input and are split"
    return text + (f"; {unused} of them are never used" if unused else "")


def _layer_reason(layers: list[Layer]) -> str:
    if not any(layer.lookups for layer in layers):
        return "kernel, bias and initial values are the same"
    return "x·W + b = dense·W_dense + the sum of the rows of W that the one-hot groups select + b"


def _table(program: Program) -> TableRecord:
    layers = program.input_linears
    first = layers[0].span
    kinds = sorted({initializer_text(layer.arguments.get("weight_attr")) for layer in layers})
    lookups = tuple(_place(program, span) for span in dict.fromkeys(layer.span for layer in layers))
    rows, start = program.schema.input.rows, ", ".join(kinds)
    return table_record("embedding", _place(program, first), rows, program.emb_dim, start, lookups=lookups)


def _table_finding(program: Program, record: TableRecord) -> Finding:
    spec, count = program.schema.input, len(program.input_linears)
    kernels = "kernel" if count == 1 else "kernels"
    message = f"the one-hot rows of {count} {kernels} become one table `embedding` of {record.dim} columns"
    reason = f"{len(spec.sparse)} one-hot groups of {spec.rows} columns become one lookup each; rows are summed"
    before = f"x [batch, {spec.size}] · W [{spec.size}, {record.dim}]"
    after = f"dense [batch, {spec.dense_size}] · W_dense + sum of {len(spec.sparse)} rows"
    return applied(
        "paddle-table", "table", record.location, message, reason, before=before, after=after, table="embedding"
    )


def _loss(program: Program) -> Finding:
    after = "create_loss"
    if program.loss.module is program.module:
        span = program.module.span(program.loss.node)
        owner = f"{program.loss.owner.name}." if program.loss.owner else ""
        where = Location(_beside(program.shown, TRAINER), span[0], span[2], f"{owner}create_loss")
        message = "the loss is converted from the trainer's `create_loss`"
        return applied("paddle-loss", "loss", where, message, before=after, after=after)
    where = _place(program, program.net.span(program.net.tree))
    message = f"the loss is built from the {len(program.schema.tasks)} tasks of the schema"
    return applied("paddle-loss", "loss", where, message, f"there is no {TRAINER} with a create_loss", after=after)


def _optimizer(program: Program) -> Iterator[Finding]:
    """Yield a finding on the trainer's optimizer, because the converted module has none."""
    optimizer = program.trained_by
    if optimizer is None:
        return
    numbers = ", ".join(f"{name}={value!r}" for name, value in optimizer.arguments.items())
    shown = f"`paddle.optimizer.{optimizer.name}({numbers})`" if optimizer.name else "`create_optimizer`"
    beyond = "; ".join(optimizer.beyond)
    state, action = (State.SUGGESTED, "implement these in your training step") if beyond else (State.NOTED, "")
    where = Location(_beside(program.shown, TRAINER), optimizer.span[0], optimizer.span[2], "create_optimizer")
    message = f"the trainer's optimizer {shown} is not converted" + (f": {beyond}" if beyond else "")
    reason = "the converted module has no training step, only a loss"
    yield Finding(
        "paddle-optimizer",
        "optimizer",
        state,
        where,
        message,
        reason,
        action,
        before=_source(program.module.lines, optimizer.span),
    )


def added(result: SourceResult, target: Target, switches: Switches) -> SourceResult:
    """Return a result with what its target does to the tables; as it is where the model has none."""
    if not result.tables:
        return result
    findings = list(_found(result, target, switches))
    changes = any(one.applicability is Applicability.CHANGES_VALUES for one in findings)
    tables = result.tables
    if changes:
        tables = tuple(replace(one, applicability=Applicability.CHANGES_VALUES) for one in tables)
    return replace(result, findings=(*result.findings, *findings), tables=tables)


def _found(result: SourceResult, target: Target, switches: Switches) -> Iterator[Finding]:
    where = result.tables[0].location
    for effect in target.effects(switches):
        yield _finding(where, effect.text, effect.changes_values, effect.by_hand)
    others = [law for law in result.tables[0].initializer.split("), ") if not law.startswith("Constant(")]
    if target.name == "sok" and others:
        message = f"{target.title} draws rows from N(0, 1) or U(0, 1) alone, not from {', '.join(others)}"
        yield _finding(where, message, True, "set the rows of known ids with `sok.assign` before training")
    if target.name == "deeprec" and others:
        message = (
            f"{target.title} gives new ids the rows of a matrix in turn, so that a run draws other rows than the model"
        )
        yield _finding(where, message, True, "")
    if target.unseen:
        yield _finding(where, target.unseen, False, "")
    for hook in target.hooks(switches):
        arguments = hook.arguments or ("modify_graph=True" if hook.modifies else "")
        hand = f"give the session `{hook.function}({arguments})`"
        yield _finding(where, f"lookups need the hook `{hook.function}` of {target.title}", False, hand)


def _finding(where: Location, message: str, changes: bool, by_hand: str) -> Finding:
    state = State.SUGGESTED if by_hand else State.NOTED
    applicability = Applicability.CHANGES_VALUES if changes else None
    return Finding("paddle-sdk", "table", state, where, message, "", by_hand, applicability, table="embedding")
