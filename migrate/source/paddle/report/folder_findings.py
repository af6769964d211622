"""Findings of the files of a model's folder that is converted from its trainer."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from migrate.report.model import Applicability, Finding, Location, State, TableRecord
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Place, Problem
from migrate.source.paddle.abstract.values import Class, Described, Instance, Module, Span, Value
from migrate.source.paddle.emission import table_rules
from migrate.source.paddle.emission.files import Written
from migrate.source.paddle.emission.tables import Embedding, embeddings, given_up
from migrate.source.paddle.model_files import STATIC, TRAINER
from migrate.source.paddle.ops import registry
from migrate.targets.switches import Switches

KIND = "paddle"
#: Where no name and no package is missing.
_ON_FACADE = "run the script that trains it without a conversion: `python -m runtime.compat.paddle SCRIPT`"


@dataclass(frozen=True)
class File:
    """A file of a model's folder."""

    path: str  #: as reports show it
    name: str  #: in the folder
    text: str

    @property
    def whole(self) -> Location:
        """All its lines."""
        return Location(self.path, 1, len(self.text.splitlines()) or 1)

    def left(
        self, rule: str, state: State, message: str, reason: str = "", action: str = "", line: int = 0, scope: str = ""
    ) -> SourceResult:
        """Return the result for the file unchanged, with one finding: about all of it, or about a line."""
        where = Location(self.path, line, line, scope) if line else self.whole
        before = "".join(self.text.splitlines()[line - 1 : line]).strip() if line else ""
        finding = Finding(rule, "file", state, where, message, reason, action, before=before)
        return SourceResult(self.path, KIND, self.text, self.text, (finding,))


def no_batch(file: File, message: str, trainer: str, runs: bool = False) -> SourceResult:
    """Return the result where it is not known what a batch looks like; the trainer's file tells why.

    Args:
        file: the file.
        message: what is wrong, and the remedy.
        trainer: the name of the trainer's file.
        runs: whether the façade has all names that the folder uses.
    """
    own = file.name == trainer
    message, _, action = message.rpartition("; ")
    action += f", or {_ON_FACADE}" * runs
    if not own:
        message = f"a part of the model of {trainer}"
        action = "give its whole folder with the reader, or `--schema FILE` for a model of one file"
    reason = "shapes and dtypes of a batch are read from the reader and its sample data"
    return file.left("paddle-inputs", State.UNSUPPORTED if own else State.NOTED, message, reason, action)


def not_reached(file: File, trainer: str, why: str = "") -> SourceResult:
    """Return the result for a file that the trainer does not use; `why` a static model beside it is not converted."""
    message = f"left unchanged, because {f'of {why}' if why else f'{trainer} does not use this file'}"
    return file.left("paddle-not-reached", State.NOTED, message)


def refused(file: File, problems: Sequence[Problem], runs: bool = False) -> SourceResult:
    """Return the result for a file of a model with unsupported constructs: the whole model is left unchanged.

    Args:
        file: the file.
        problems: those of the whole model.
        runs: whether the façade has all names that the folder uses.
    """
    own = [problem for problem in problems if problem.path == file.name]
    if not own:
        first = min(problems, key=lambda item: (item.path, item.span))
        message = f"a part of the model, which stays because of {first.path}:{first.span[0]}: {first.message}"
        return file.left("paddle-unsupported", State.NOTED, message)
    findings = [unsupported(file.path, problem, runs) for problem in sorted(own, key=lambda item: item.span)]
    return SourceResult(file.path, KIND, file.text, file.text, tuple(findings))


def replaced(file: File, problems: Sequence[Problem]) -> SourceResult:
    """Return the result for a trainer with unsupported constructs, whose model is converted from its static one."""
    first = min(problems, key=lambda item: (item.path, item.span))
    message = f"left unchanged, because of {first.path}:{first.span[0]}: {first.message}"
    reason = f"{STATIC} has no such construct, and is converted"
    action = f"train with {STATIC}, or rewrite the line with supported calls"
    result = file.left("paddle-unsupported", State.SUGGESTED, message, reason, action)
    return replace(result, findings=(replace(result.findings[0], before=first.source),))


def unsupported(path: str, problem: Problem, runs: bool = False) -> Finding:
    """Return the finding of a construct; where the folder `runs` on the façade, that is the remedy."""
    where = Location(path, problem.span[0], problem.span[2], problem.scope)
    reason = "a model is converted only if all that its execution comes to is supported"
    action = f"rewrite the line with supported calls, or {_ON_FACADE if runs else 'convert the model by hand'}"
    texts = (problem.message, reason, action)
    return Finding("paddle-unsupported", "use", State.UNSUPPORTED, where, *texts, before=problem.source)


def converted(
    file: File,
    written: Written,
    program: Program,
    is_reader: bool,
    config: dict[str, Value],
    switches: Switches,
    unbucket: tuple[str, ...] = (),
) -> SourceResult:
    """Return the result for a converted file of a model with this configuration."""
    path, name, text, new = file.path, file.name, file.text, written.text
    if is_reader:
        home = "data" if program.path == TRAINER else "static"
        message = f"the reader's base class is that of `runtime.nn.{home}`; its samples are unchanged"
        findings = [applied("paddle-reader", "file", file.whole, message)]
        return SourceResult(path, KIND, text, new, tuple(findings))
    module = next(item for item in program.run.modules.values() if item.path == name)
    tables = [one for one in embeddings(program) if one.layer.path == name]
    freed = given_up(program, unbucket)
    findings = [*_classes(path, module, program), *(_embedding(path, one, switches, freed) for one in tables)]
    kept = [_kept(path, one) for one in tables if _is_kept(one, unbucket, freed)]
    findings += kept + (_without_effect(path, program, switches) if name == program.path else [])
    findings += _trainer(path, module, program) if name == program.path else []
    findings += [
        _not_evaluated(file, problem, program.path) for problem in program.evaluation[:1] if name == program.path
    ]
    findings += _rows_tables(path, name, program)
    findings += _server(path, program, config) if name == STATIC else []
    findings += _trainer(path, module, program.beside) if name == STATIC and program.beside is not None else []
    findings += [
        Finding("paddle-not-reached", "use", State.NOTED, _at(path, span), told) for span, told in written.notes.items()
    ]
    records = [_record(path, one, program, switches, freed) for one in tables if not one.dense]
    records += _rows_records(path, name, program, _short(program.optimizer))
    return SourceResult(path, KIND, text, new, tuple(findings), tuple(records))


def applied(rule: str, subject: str, where: Location, message: str, reason: str = "", **shown: Any) -> Finding:
    """Return the finding of what is converted with the same values; `shown` is its `before`, `after` or `table`."""
    finding = Finding(rule, subject, State.APPLIED, where, message, reason, applicability=Applicability.EXACT)
    return replace(finding, **shown)


def table_record(name: str, where: Location, rows: object, dim: object, start: str = "", **more: Any) -> TableRecord:
    """Return the record of a table that is converted with the same values, unless `more` says otherwise."""
    record = TableRecord(name, where, State.APPLIED, Applicability.EXACT, str(dim), str(rows), start, "")
    return replace(record, **more)


def _at(path: str, span: Span, scope: str = "") -> Location:
    return Location(path, span[0], span[2], scope)


def _classes(path: str, module: Module, program: Program) -> list[Finding]:
    findings = []
    built = {id(layer.cls) for layer in program.run.layers if isinstance(layer, Instance)}
    for value in module.names.values():
        if isinstance(value, Class) and value.module is module and id(value) in built and value.derives(registry.LAYER):
            where = _at(path, module.span(value.node), value.name)
            findings.append(applied("paddle-layer-class", "layer", where, f"`{value.name}` is a layer of `runtime.nn`"))
    return findings


def _without_effect(path: str, program: Program, switches: Switches) -> list[Finding]:
    tables = any(not one.dense for one in embeddings(program))
    texts = table_rules.without_effect(switches, tables)
    return [Finding("paddle-embedding", "file", State.NOTED, Location(path, 1, 1), text) for text in texts]


def _is_freed(embedding: Embedding, freed: Container[Place]) -> bool:
    return (embedding.layer.path, embedding.layer.span) in freed


def _is_kept(embedding: Embedding, unbucket: tuple[str, ...], freed: Container[Place]) -> bool:
    return not embedding.dense and bool({"all", embedding.path} & {*unbucket}) and not _is_freed(embedding, freed)


def _kept(path: str, embedding: Embedding) -> Finding:
    rows = embedding.layer.arguments["num_embeddings"]
    message = f"`{embedding.path or 'an embedding'}` keeps the buckets of its ids"
    reason = f"not all of its ids are int64 numbers that the model divides by its {rows} rows right in front of it"
    texts = (message, reason, f"divide them there: `x % {rows}`")
    return Finding("paddle-embedding", "table", State.NOTED, _at(path, embedding.layer.span), *texts)


def _embedding(path: str, embedding: Embedding, switches: Switches, freed: Container[Place]) -> Finding:
    rows, dim = embedding.layer.weights["weight"].shape or (None, None)
    name = embedding.path or "an embedding that no layer holds"
    where = _at(path, embedding.layer.span)
    if embedding.dense:
        message = f"`{name}` [{rows}, {dim}] stays a dense variable, because {embedding.dense}"
        return Finding("paddle-embedding", "layer", State.NOTED, where, message)
    message = f"`{name}` [{rows}, {dim}] is a table that grows; ids beyond {rows} get rows instead of an error"
    finding = applied("paddle-embedding", "table", where, message, table=name)
    rules = "; ".join(
        filter(
            None,
            [
                table_rules.words(switches),
                "each id has a row of its own, in place of its bucket's" * _is_freed(embedding, freed),
            ],
        )
    )
    if not rules:
        return finding
    return replace(finding, message=f"{message}; {rules}", applicability=Applicability.CHANGES_VALUES)


def _record(path: str, table: Embedding, program: Program, switches: Switches, freed: Container[Place]) -> TableRecord:
    rows, dim = table.layer.weights["weight"].shape or ("", "")
    is_freed = _is_freed(table, freed)
    is_other = is_freed or bool(table_rules.words(switches))
    start = initializer_text(table.layer.arguments.get("weight_attr"))
    record = table_record(table.path or "embedding", _at(path, table.layer.span), rows, dim, start)
    record = replace(record, optimizer=_short(program.optimizer))
    record = replace(record, growth="free", base_buckets=str(rows)) if is_freed else record
    return replace(record, applicability=Applicability.CHANGES_VALUES) if is_other else record


def initializer_text(value: Value) -> str:
    """Return the initializer that the attribute of a parameter gives, with its arguments."""
    if isinstance(value, Described) and value.name == "paddle.ParamAttr":
        value = value.arguments.get("initializer")
    if not isinstance(value, Described):
        return "XavierUniform()"
    arguments = ", ".join(
        f"{key}={item!r}" for key, item in value.arguments.items() if key != "name" and item is not None
    )
    return f"{_short(value)}({arguments})"


def _short(value: Value) -> str:
    return value.name.rpartition(".")[2] if isinstance(value, Described) else ""


def _trainer(path: str, module: Module, program: Program) -> list[Finding]:
    cls = program.trainer.cls if program.trainer is not None else None
    if cls is None:
        return []
    findings = []
    messages = {
        "create_feeds": "the batch's tensors are those of a `tf.data` pipeline",
        "create_loss": "the loss computes what Paddle's does",
        "create_optimizer": f"the optimizer is `nn.optimizer.{_short(program.optimizer)}`, with Paddle's formula",
    }
    for name, message in messages.items():
        method = cls.find(name)
        if method is not None:
            rule = {"create_loss": "paddle-loss", "create_optimizer": "paddle-optimizer"}.get(name, "paddle-trainer")
            findings.append(applied(rule, "loss", _at(path, module.span(method[0]), f"{cls.name}.{name}"), message))
    return findings


def _not_evaluated(file: File, problem: Problem, trainer: str) -> Finding:
    """Return that training converts alone, with the first reason."""
    method = "infer_forward" if trainer == TRAINER else "infer_net"
    where = _at(file.path, problem.span) if problem.path == file.name else Location(file.path, 1, 1)
    texts = (
        f"`{method}` is not converted: {problem.path}:{problem.span[0]}: {problem.message}",
        "evaluation wants another batch, or has a construct that a graph cannot have; training is converted",
        f"write `{method}` for TensorFlow by hand; until then it raises NotImplementedError",
    )
    return Finding("paddle-unsupported", "use", State.SUGGESTED, where, *texts, before=problem.source)


_SETTINGS = "table_parameters"


def _rows_tables(path: str, name: str, program: Program) -> Iterator[Finding]:
    """Yield what became of each call in a file that looks up rows, and of its rule for new ids.

    Args:
        path: the file, as reports show it.
        name: its name in the model's folder.
        program: the executed static model.
    """
    for lookup in _places(program, name):
        rows, dim = lookup.arguments["size"]
        table = lookup.name or "a table of its own"
        message = f"`{table}` [{rows}, {dim}] is a table that grows; ids beyond {rows} get rows"
        applied = {"applicability": Applicability.EXACT, "table": lookup.name}
        yield Finding("paddle-embedding", "table", State.APPLIED, _at(path, lookup.place[1]), message, **applied)
        entry = lookup.arguments.get("entry")
        if isinstance(entry, Described):
            yield _entry(path, lookup, entry)


def _entry(path: str, lookup: Any, entry: Described) -> Finding:
    if entry.name.endswith("CountFilterEntry"):
        count = entry.arguments["count_filter"]
        message = f"an id gets a row at its {count}. occurrence, as with Paddle's servers; until then it reads zeros"
        return Finding("paddle-entry", "table", State.APPLIED, _at(path, lookup.place[1]), message, table=lookup.name)
    if entry.name.endswith("ProbabilityEntry"):
        chance = entry.arguments["probability"]
        message = f"an id gets a row at each occurrence with probability {chance}; until then it reads zeros"
        reason = (
            "which occurrence it is follows from the table's seed and the id, where Paddle's servers draw a "
            "random number"
        )
        shown = (_at(path, lookup.place[1]), message, reason, "", Applicability.CHANGES_VALUES)
        return Finding("paddle-entry", "table", State.APPLIED, *shown, table=lookup.name)
    texts = (
        "`ShowClickEntry` has no effect: every id gets a row, and its shows and clicks are not kept",
        "Paddle's servers drop rows with few shows and clicks; tables count occurrences only",
        "to admit ids by their count, give `paddle.distributed.CountFilterEntry(n)` instead",
    )
    return Finding("paddle-entry", "table", State.SUGGESTED, _at(path, lookup.place[1]), *texts, table=lookup.name)


def _server(path: str, program: Program, settings: dict[str, Value]) -> Iterator[Finding]:
    """Yield that the configuration of the parameter server is not read, if there is one."""
    if program.lookups and any(name.startswith(f"{_SETTINGS}.") for name in settings):
        message = f"`{_SETTINGS}` of the configuration has no effect; rows train with the optimizer of this file"
        reason = "a parameter server has optimizers of its own for rows, and rules when rows are dropped"
        texts = (message, reason, "give `create_optimizer` the optimizer that rows are to train with")
        yield Finding("paddle-server", "optimizer", State.SUGGESTED, Location(path, 1, 1), *texts)


def _rows_records(path: str, name: str, program: Program, optimizer: str) -> Iterator[TableRecord]:
    """Yield each table that a file makes, once."""
    for lookup in {one.name or one.place: one for one in reversed(list(_places(program, name)))}.values():
        rows, dim = lookup.arguments["size"]
        start = initializer_text(lookup.arguments["param_attr"])
        yield table_record(
            lookup.name or "embedding", _at(path, lookup.place[1]), rows, dim, start, optimizer=optimizer
        )


def _places(program: Program, name: str) -> Iterable[Any]:
    """Return the lookups of a file, one for each place and table."""
    return {(one.place, one.name): one for one in program.lookups if one.place[0] == name}.values()
